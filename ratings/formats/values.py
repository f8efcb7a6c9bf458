"""Checks of single values: keys, names, grades, numbers. Each raises ValueError with the problem."""

import math
import re
import unicodedata
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from urllib.parse import quote

KEY = r"[^\s\x00-\x1f\x7f]"
# No part of a number goes back (+): the time would grow with the square of its digits.
NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3}+)?"
INTEGER = r"[+-]?0*[0-9]{1,18}"

QUERY_KEY_LENGTH = 500
DOCUMENT_KEY_LENGTH = 500
MADE_KEY_LENGTH = 200  # of a query that came without one
QUERY_TEXT_LENGTH = 20_000  # so that the first bytes of a file show its format
SYSTEM_NAME_LENGTH = 200
BLANK = "%20"  # a blank in an id, and in the name of a system in a run, whose columns blanks part
RATER_NAME_LENGTH = 150

_blank = re.compile(r"[^\S\x00-\x1f\x7f]")  # but no tab and no end of a line
_key = re.compile(rf"{KEY}+")
_number = re.compile(NUMBER)
_float = re.compile(rf"{NUMBER}[0-9]*+")  # a float may have any exponent, a decimal may not
_thousands = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_integer = re.compile(INTEGER)
_no_key = re.compile(r"[\s\x00-\x1f\x7f_%]|^#")
_ESCAPES = {" ": "_", "_": "%5F", "%": "%25"}
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))  # they neither show nor join letters
_control = re.compile(r"[\x00-\x1f\x7f]")

AMBIGUOUS = "has a mark that may be for decimals or for thousands; write it without one, or with a further digit"
CANNOT = "unrateable"  # in place of a grade: nobody could judge
NO_REASON = "other"  # the reason where a file only says that a pair cannot be judged
_BILLIONTH = Decimal("1e-9")


def quoted(value: object, longest: int = 60) -> str:
    """The value for a message: in quotes, on one line, control characters escaped, and cut where it is long."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(str(value)):,} characters)"


def without_blanks(text: str) -> str:
    """The id with %20 for each blank, so that every format can name it."""
    return _blank.sub(BLANK, text)


def _check_length(text: str, what: str, longest: int) -> None:
    if not text:
        raise ValueError(f"the {what} is empty")
    if len(text) > longest:
        raise ValueError(f"the {what} {quoted(text)} is longer than {longest:,} characters")


def checked_key(text: str, what: str, longest: int) -> str:
    _check_length(text, what, longest)
    if not _key.fullmatch(text):
        raise ValueError(f"the {what} {quoted(text)} has a blank or a control character")
    return text


def checked_name(text: str, what: str, longest: int) -> str:
    """The name. Unlike a key it may have blanks, but not at its ends."""
    if not text or text != text.strip() or _control.search(text):
        problem = "is empty, begins or ends with a blank or has a control character"
        raise ValueError(f"the {what} {quoted(text)} {problem}")
    _check_length(text, what, longest)
    return text


@lru_cache(maxsize=4096)
def system_name(text: str, what: str = "system") -> str:
    """The name of a system, with one blank for each run of blanks and for each %20, as runs have it."""
    name = " ".join(text.replace(BLANK, " ").split())
    _check_length(name, what, SYSTEM_NAME_LENGTH)
    return checked_name(name, what, SYSTEM_NAME_LENGTH)


def checked_text(text: str, what: str) -> str:
    """The text or key of a query. It may have blanks and several lines."""
    _check_length(text, what, QUERY_TEXT_LENGTH)
    if "\0" in text:
        raise ValueError(f"the {what} {quoted(text)} has a NUL")
    return text


def key_of_text(text: str) -> str:
    """A key for a query without one: its text with _ for blanks. Different texts have different keys.

    Long keys are cut and end in a digest. A leading # is escaped, as a line of a run would be a comment.
    """
    key = _no_key.sub(lambda match: _ESCAPES.get(match[0]) or quote(match[0], safe=""), text)
    return key if len(key) <= MADE_KEY_LENGTH else f"{key[:150]}~{sha256(text.encode()).hexdigest()[:32]}"


def visible_text(text: str) -> str:
    """The text as people see it: composed (NFC), one blank for each run of blanks, no invisible characters."""
    return " ".join(unicodedata.normalize("NFC", text.translate(_INVISIBLE)).split())


def letters_and_digits(text: str) -> str:
    """The letters and digits alone, in small letters: equal for spellings that differ in case, marks or blanks."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def integer(text: str, what: str) -> int:
    if not _integer.fullmatch(text):
        raise ValueError(f"the {what} {quoted(text)} is not an integer")
    return int(text)


def number(text: str, what: str) -> float:
    """A finite number. Stricter than float(): no nan, inf, underscores or digits of other scripts."""
    value = float(text) if _float.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(f"the {what} {quoted(text)} is not a finite number")
    return value


def with_point(text: str, what: str, *, has_commas: bool) -> str:
    """The number with a decimal point in place of a decimal comma; any other text as it is.

    Raises ValueError for a number such as 1,234 or 1.234 whose mark may also part thousands. It may in each rank,
    as ranks are whole numbers. In any other number a comma may, unless the file has decimal commas (`has_commas`),
    and a point may only in a weight, which may be large and whole. `what`: the kind of number, such as "rank".
    """
    if "," in text:
        is_for_decimals = has_commas and what != "rank"
    else:
        is_for_decimals = what not in ("rank", "weight")
    if _thousands.fullmatch(text) and not is_for_decimals:
        raise ValueError(f"the {what} {quoted(text)} {AMBIGUOUS}")
    pointed = text.replace(",", ".", 1)  # "1,5" is a number with a comma, but "1,2,3" is none
    return pointed if _float.fullmatch(pointed) else text


@lru_cache(maxsize=4096)
def grade(text: str) -> Decimal:
    """The grade, with at most 6 digits before and 9 after the point, as the database has it: to 9 places."""
    if not _number.fullmatch(text):
        raise ValueError(f"the grade {quoted(text)} is not a decimal number")
    value = Decimal(text)
    # `adjusted` is the power of ten of the first digit. For 0e9 it is 9, though the number is 0.
    if value and value.adjusted() >= 6:
        raise ValueError(f"the grade {quoted(text)} has more than 6 digits before the point")
    stored = value.quantize(_BILLIONTH)  # rounded to 9 digits after the point, if there are more
    if stored != value:
        raise ValueError(f"the grade {quoted(text)} has more than 9 digits after the point")
    return stored + 0  # no negative zero


def meant(word: str) -> Decimal | None:
    """What people say that a word means: a grade, or None where it means "cannot judge". Raises ValueError."""
    return None if word == CANNOT else grade(word)


def listed_pair(name: str, value: str) -> str:
    """The pair as lists such as bad=0,good=2 have it: as CSV, in quotation marks where it has a comma."""
    pair = f"{name}={value}"
    doubled = pair.replace('"', '""')
    return f'"{doubled}"' if "," in pair or pair.startswith('"') else pair


def grade_text(grade: Decimal) -> str:
    """A grade without trailing zeros: 2, 0.5, -1."""
    text = f"{grade:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

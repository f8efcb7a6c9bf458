"""The words and orders that rooms share. It imports nothing of the project, so that every room can use it."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

EXAMPLES = 5
_DIGITS = re.compile(r"([0-9]+)")


def as_sentence(message: object) -> str:
    """The message with a full stop, unless it has an end of its own. Errors of libraries come without one."""
    text = str(message)
    return text if text.endswith((".", "?", "!")) else f"{text}."


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun: "1 query", "2 queries"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def first_keys(keys: Iterable[str], *, count: int | None = None) -> str:
    """The first five keys, numbers first and in their order: "2, 10, q1, …"."""
    keys = list(keys)
    count = len(keys) if count is None else count
    first = sorted(keys, key=lambda key: (not key.isdecimal(), len(key) if key.isdecimal() else 0, key))[:EXAMPLES]
    return ", ".join(first) + (", …" if count > len(first) else "")


def nearest(name: object, known: Iterable[str]) -> str:
    """The question "did you mean a or b?", in any case of letters; "" where no known name is near."""
    spellings = {each.lower(): each for each in known}
    near = get_close_matches(str(name).lower(), spellings)
    return f"did you mean {' or '.join(spellings[each] for each in near)}?" if near else ""


def natural(key: str) -> tuple:
    """A sort key that orders numbers within keys by their value: 2 before 10, q2 before q10."""
    parts = _DIGITS.split(key)
    parts[1::2] = map(int, parts[1::2])
    # Apart from the key: behind `shoe`, it would be compared with the number of `shoe2`.
    return tuple(parts), key

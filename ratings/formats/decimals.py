"""Numbers in local notations: 0.5 and 0,5, 1,234.5 and 1.234,5 and 1 234."""

import re

from . import values

_BLANKS = re.compile(r"(?<=\d)[ \u00a0\u202f'’](?=\d{3}(?:\D|$))")  # between thousands
_MARKED = re.compile(r"[+-]?\d*(?:[.,]\d+)+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*")
OTHER = {".": ",", ",": "."}
AMBIGUOUS = "has a mark that may be for decimals or for thousands; write it without one, or with a further digit"


class Decimals:
    """The notation of the numbers in one table. A column has one decimal mark; the other one separates thousands.

    `comma`: a single comma before three digits is a decimal mark, as in files with semicolons between cells.
    """

    def __init__(self, *, comma: bool = False) -> None:
        self.comma = comma
        self.marks: dict[str, str] = {}  # what the numbers are -> their decimal mark

    def with_point(self, text: object, what: str) -> str:
        """The number with a decimal point and no other mark; text that is no number is returned as it is.

        Raises ValueError where its mark is ambiguous.
        """
        text = str(text).strip()
        if text.isdigit():
            return text
        text = _BLANKS.sub("", text)
        if not _MARKED.fullmatch(text):
            return text
        mark = self._mark(text, what)
        if self.marks.setdefault(what, mark) != mark:
            raise ValueError(f"the {what} {values.quoted(text)} has another mark for decimals than one above it")
        return text.replace(OTHER[mark], "").replace(mark, ".")

    def _mark(self, text: str, what: str) -> str:
        """The decimal mark of the number; if ambiguous, that of the numbers above it. Raises ValueError."""
        marks = [sign for sign in text if sign in OTHER]
        before, _, _ = text.rpartition(marks[-1])
        thousands = _THOUSANDS.fullmatch(before if len(set(marks)) == 2 else text)
        if len(set(marks)) == 2 and thousands and marks.count(marks[-1]) == 1:
            return marks[-1]
        if len(marks) > 1:
            if not thousands:
                raise ValueError(f"the {what} {values.quoted(text)} is no number")
            return OTHER[marks[0]]
        if not thousands:
            return marks[0]
        if what in self.marks:
            return self.marks[what]
        # A rank has no decimals, but programs write 3 as 3.000, and people write a thousand as 1.000.
        if what == "rank" or (marks[0] == "," and not self.comma) or (marks[0] == "." and what == "weight"):
            raise ValueError(f"the {what} {values.quoted(text)} {AMBIGUOUS}")
        return marks[0]

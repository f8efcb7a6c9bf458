"""What a reader says of text that it cannot take."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

EXAMPLES = 5
# Our own words, where a problem begins with some; else it begins with a name, which may be one of them.
_OWN = re.compile(
    "(?:the|there|it|none|no|nobody|several|somebody|from|more|one|query|document|rank|byte|character|an?)"
    " (?!is another|has another ranking|rates in)"
)


@dataclass(frozen=True)
class Refusal:
    """One thing wrong in one place of a file, and what to do about it. Line 0 means the file as a whole."""

    file: str
    line: int
    problem: str
    cure: str

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}: {self.problem}. {self.cure}"

    @property
    def sentence(self) -> str:
        """The problem for itself. A name that begins it stays as it is."""
        own = _OWN.match(self.problem)
        return (self.problem[0].upper() + self.problem[1:] if own else self.problem) + "."


def some(keys: Iterable[str], *, count: int | None = None) -> str:
    """Up to five keys, in the order of their numbers where they have some: "2, 10, q1, …"."""
    keys = list(keys)
    count = len(keys) if count is None else count
    first = sorted(keys, key=lambda key: (not key.isdecimal(), len(key) if key.isdecimal() else 0, key))[:EXAMPLES]
    return ", ".join(first) + (", …" if count > len(first) else "")


def counted(number: int, one: str, many: str = "") -> str:
    """1 query, 2 queries."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"

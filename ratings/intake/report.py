"""What an import found and did."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..formats.refusal import Refusal

KEPT = 1_000
EXAMPLES = 5


@dataclass
class Report:
    """`counts` for programs, `facts` and `warnings` for people, one line each."""

    counts: Counter = field(default_factory=Counter)
    facts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)  # the first KEPT of them
    refused: int = 0

    @property
    def changed(self) -> bool:
        """Whether the record is no longer what it was."""
        return any(self.counts[name] for name in ("new", "changed", "documents", "grades"))

    def refuse(self, refusal: Refusal) -> None:
        self.refused += 1
        if len(self.refusals) < KEPT:
            self.refusals.append(refusal)


def some(keys: Iterable[str], *, count: int | None = None) -> str:
    """Up to five keys, in the order of their numbers where they have some: "2, 10, q1, …"."""
    keys = list(keys)
    count = len(keys) if count is None else count
    first = sorted(keys, key=lambda key: (not key.isdecimal(), len(key) if key.isdecimal() else 0, key))[:EXAMPLES]
    return ", ".join(first) + (", …" if count > len(first) else "")


def counted(number: int, one: str, many: str = "") -> str:
    """1 query, 2 queries."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"

"""Standings: the numbers of one system in one measure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A system's mean in one measure, and what stands beside it. None = no value.

    The mean is that over queries. Where they were drawn from a log, it is that over all searches of the log. The
    numbers have the order of every table and document: see SUMMARY.
    """

    system: str
    measure: str
    mean: float | None
    low: float | None  # the 95 % interval, over queries
    high: float | None
    lowest: float | None = None  # the bounds of the mean, where they were asked for
    highest: float | None = None
    plain: float | None = None  # the mean over queries, where `mean` is over all searches of a log
    traffic: float | None = None  # the share of these searches whose queries count in `mean`
    weighted: float | None = None  # by query weight, with its 95 % interval
    weighted_low: float | None = None
    weighted_high: float | None = None
    total: float | None = None  # of a count
    queries: int  # how many count in the mean
    undefined: int  # how many do not
    reasons: Mapping[str, int]  # why they do not: the number of queries by reason
    judged: float | None  # the mean Judged@cutoff of the queries that count, over searches where `mean` is
    expected: Mapping[str, float | str | None] = field(default_factory=dict)  # as `Expected.row`
    pk: int | None = None  # of the system; None where there is no page of it

    @classmethod
    def of(cls, row: Mapping) -> "Standing":
        """The standing of `numbers` with `system` and `measure`, as documents have them."""
        own = {name: row[name] for name in ("system", "measure", *SUMMARY) if name != "why"}
        expected = {name: value for name, value in row.items() if name not in own and name != "why"}
        return cls(**own, reasons=row["why"], expected=expected)

    @property
    def why(self) -> str:
        """The reasons as text: "2 nothing to find, 1 not judged"."""
        return why(self.reasons)

    @property
    def why_no_interval(self) -> str:
        """The reason where there is none: of a log, no interval is known without a value in each stratum."""
        if self.traffic is None:
            return "fewer than two queries"
        return "fewer than two drawn queries, or none of a stratum, have a value"

    @property
    def numbers(self) -> dict:
        """All numbers by name, in the order of SUMMARY; `why` has the reasons."""
        own = {name: self.reasons if name == "why" else getattr(self, name) for name in SUMMARY}
        return own | dict(self.expected)

    def row(self, names: Iterable[str]) -> dict:
        """The numbers with these names; None for expected values that only other measures have."""
        numbers = self.numbers
        return {name: numbers.get(name) for name in names}


# The names of the numbers, in their order. Documents call the reasons `why`.
SUMMARY = tuple(
    "why" if number.name == "reasons" else number.name
    for number in fields(Standing)
    if number.name not in ("system", "measure", "expected", "pk")
)


def why(reasons: Mapping[str, int]) -> str:
    """The reasons as text: "2 nothing to find, 1 not judged"."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items())

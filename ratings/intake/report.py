"""What an import found and did."""

from collections import Counter
from dataclasses import asdict, dataclass, field

from ..formats.refusal import EXAMPLES, Refusal, counted, some
from ..models.job import CHANGES

__all__ = ["EXAMPLES", "Report", "counted", "some", "tell_of_repeats"]

KEPT = 1_000


@dataclass
class Report:
    """`counts` for programs, `facts` and `warnings` for people, one line each."""

    counts: Counter = field(default_factory=Counter)
    facts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)  # the first KEPT of them
    refused: int = 0
    cut_off: bool = False  # reading stopped somewhere: there may be more than was read
    busy: bool = False  # refused for another import that is under way: there is nothing to correct
    clashed: bool = False  # refused by the database: somebody may have written since the import looked
    left_out: int = 0  # refusals, where the rest was taken
    grades: Counter = field(default_factory=Counter)  # of ratings: how many rows have each, as text
    job: int | None = None  # the import in the list of imports, if it wrote something

    @property
    def changed(self) -> bool:
        """Whether the record is no longer what it was."""
        return any(self.counts[name] for name in CHANGES)

    def refuse(self, refusal: Refusal) -> None:
        self.refused += 1
        if len(self.refusals) < KEPT:
            self.refusals.append(refusal)

    def as_json(self) -> dict:
        """For a row of the database."""
        return vars(self) | {"refusals": [asdict(refusal) for refusal in self.refusals]}


def tell_of_repeats(report: Report) -> None:
    if repeated := report.counts["duplicates"]:
        report.facts.append(f"{counted(repeated, 'line')} said again what an earlier line says.")

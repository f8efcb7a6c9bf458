"""The report on an import."""

from collections import Counter
from dataclasses import dataclass, field

from ...formats.refusal import Refusal
from ...models.job import COUNTS_OF_CHANGES
from ...words import counted

REFUSALS_KEPT = 1_000


@dataclass
class Report:
    """The result of an import: `counts` for programs, `facts` and `warnings` for people, one line each."""

    counts: Counter = field(default_factory=Counter)
    facts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)  # the first REFUSALS_KEPT of them
    refused: int = 0
    clashed: bool = False  # refused by the database: somebody may have written after the checks
    grades: Counter = field(default_factory=Counter)  # of ratings: grade as text -> rows
    job: int | None = None  # id of the Job, if the import wrote something

    @property
    def changed(self) -> bool:
        """Whether the import changes the database."""
        return any(self.counts[name] for name in COUNTS_OF_CHANGES)

    @property
    def to_correct(self) -> str:
        """How much was refused, such as "2 things to correct"."""
        return f"{counted(self.refused, 'thing')} to correct"

    def clear(self) -> None:
        """Forget what was counted and told: in the end nothing was written."""
        for told in (self.counts, self.facts, self.warnings):
            told.clear()

    def refuse(self, refusal: Refusal) -> None:
        self.refused += 1
        if len(self.refusals) < REFUSALS_KEPT:
            self.refusals.append(refusal)

    def as_json(self) -> dict:
        """The report as Job.report stores it."""
        return vars(self) | {"refusals": [refusal.as_parts() for refusal in self.refusals]}

    def tell_of_changes(self, what: str) -> None:
        """Tell how many rows are new, changed and unchanged, and how many lines repeat others."""
        changes = (f"{self.counts[name]:,} {name}" for name in ("new", "changed", "unchanged"))
        self.facts.append(f"{what}: {', '.join(changes)}.")
        if repeated := self.counts["duplicates"]:
            self.facts.append(f"{counted(repeated, 'line repeats', 'lines repeat')} an earlier one.")

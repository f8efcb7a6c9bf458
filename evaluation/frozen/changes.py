"""The differences between two frozen evaluations: judgments, rankings, options, scale and guidelines."""

import heapq
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import pandas as pd

from ratings.words import natural

from ..models import FrozenEvaluation
from . import content
from .stored import about, lines_of, runs_of, settings_of

SHOWN_JUDGMENTS = 100  # judgments listed on a page


class Change(NamedTuple):
    """One judgment that differs."""

    query: str
    document: str
    before: float | None  # grade; None: unjudged
    after: float | None

    @property
    def kind(self) -> str:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


class Names(NamedTuple):
    """The names that were added, those that were removed, and those that stayed."""

    added: list[str]
    removed: list[str]
    shared: list[str]

    @classmethod
    def of(cls, before: Collection[str], after: Collection[str]) -> "Names":
        return cls(
            added=[name for name in after if name not in before],
            removed=[name for name in before if name not in after],
            shared=[name for name in after if name in before],
        )


@dataclass(frozen=True, eq=False)
class Changes:
    """The changes from `first` to `second`."""

    first: FrozenEvaluation
    second: FrozenEvaluation

    @property
    def both(self) -> tuple[FrozenEvaluation, FrozenEvaluation]:
        return self.first, self.second

    @cached_property
    def query_rows(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The queries of both by key, with the columns of `content.read_queries`."""
        before, after = (content.read_queries(lines_of(frozen)(content.QUERIES)) for frozen in self.both)
        return before.set_index("key"), after.set_index("key")

    @cached_property
    def queries(self) -> Names:
        """The keys of queries."""
        before, after = self.query_rows
        return Names.of(before.index, after.index)

    @cached_property
    def edited_queries(self) -> list[str]:
        """Queries of both whose text, weight or chance in a log differs."""
        facts = ["text", "weight", "chance"]  # the chance is nan without a log, and nan never equals nan
        before, after = (rows.loc[self.queries.shared, facts].fillna(0) for rows in self.query_rows)
        return before.index[(before != after).any(axis=1)].tolist()

    @cached_property
    def judgments(self) -> dict:
        """A summary of the judgments that differ between the two frozen evaluations.

        `added`, `removed` and `changed`: the number of changes of this `Change.kind`, if there are any. `queries`:
        the number of changes by key of the query. `first`: the first changes, at most SHOWN_JUDGMENTS.
        """
        kinds: Counter[str] = Counter()
        queries: Counter[str] = Counter()
        first_changes: list[Change] = []
        for change in self.each_judgment():
            kinds[change.kind] += 1
            queries[change.query] += 1
            if len(first_changes) < SHOWN_JUDGMENTS:
                first_changes.append(change)
        return {**kinds, "queries": queries, "first": first_changes}

    def each_judgment(self) -> Iterator[Change]:
        """Every judgment that differs, by query and document. Both files are read once, in their common order."""
        rows = heapq.merge(_graded(self.first, "before"), _graded(self.second, "after"))
        for (sort_key, document), rows_of_pair in groupby(rows, key=itemgetter(0, 1)):
            grades = {when: grade for _, _, when, grade in rows_of_pair}
            query = sort_key[-1]  # a key of `natural` ends with the text that it sorts
            change = Change(query, document, grades.get("before"), grades.get("after"))
            if change.before != change.after:
                yield change

    @cached_property
    def systems(self) -> Names:
        return Names.of(*map(runs_of, self.both))

    @property
    def rankings(self) -> dict[str, int]:
        """By system of both, the number of queries whose ranking differs; only systems with such a query."""
        return {name: queries for name, queries in self._changed_rankings.items() if queries}

    @property
    def scores(self) -> list[str]:
        """Systems of both whose scores differ while their rankings are the same."""
        return [name for name, queries in self._changed_rankings.items() if not queries]

    @cached_property
    def _changed_rankings(self) -> dict[str, int]:
        """The number of queries whose ranking differs, by each system of both whose run file differs.

        The number is 0 for a system with the same rankings in both, whose scores alone differ.
        """
        before, after = map(runs_of, self.both)  # the run file of each system, by the name of the system
        counts: dict[str, int] = {}
        for system in self.systems.shared:
            if before[system].sha256 != after[system].sha256:
                old = _ranked(self.first, before[system].name)
                new = _ranked(self.second, after[system].name)
                # A ranking that one of them lacks is None there, and so differs.
                counts[system] = sum(old.get(query) != new.get(query) for query in old.keys() | new.keys())
        return counts

    @property
    def unchanged_systems(self) -> list[str]:
        """The names of systems of both with the same rankings and scores."""
        return [name for name in self.systems.shared if name not in self._changed_rankings]

    @cached_property
    def options(self) -> list[tuple[str, str, str]]:
        """(name, before, after) of the options that differ, including rule and adjudications."""
        before, after = (_options(frozen) for frozen in self.both)
        return [(name, before[name], after[name]) for name in after if before.get(name) != after[name]]

    @cached_property
    def terms(self) -> list[tuple[str, str, str]]:
        """(name, before, after) of the versions of guidelines, presentation and scale that differ."""
        names = ("guidelines", "presentation", "scale")
        versions = [(name, _version(self.first, name), _version(self.second, name)) for name in names]
        return [(name, before, after) for name, before, after in versions if before != after]

    @property
    def measures(self) -> Names:
        before, after = (list(map(str, settings_of(frozen).measures)) for frozen in self.both)
        return Names.of(before, after)


def _version(frozen: FrozenEvaluation, name: str) -> str:
    """The version of its guidelines, presentation or scale, as text."""
    number = getattr(about(frozen), f"{name}_version")
    return f"version {number}" if number else "none"


def _graded(frozen: FrozenEvaluation, when: str) -> Iterator[tuple[tuple, str, str, float]]:
    """(sort key of the query, document, `when`, grade) of each judgment, in their order."""
    name = settings_of(frozen).judgments
    for query, document, grade in content.read_judgments(name, lines_of(frozen)(name)):
        yield natural(query), document, when, grade


def _ranked(frozen: FrozenEvaluation, run: str) -> dict[str, list[str]]:
    """The documents of each query of a run, best first."""
    return {query: documents for query, documents, _ in content.read_run(lines_of(frozen)(run))}


def _options(frozen: FrozenEvaluation) -> dict[str, str]:
    settings = settings_of(frozen)
    return settings.options.as_dict() | {"rule": settings.rule, "adjudications": settings.adjudications}

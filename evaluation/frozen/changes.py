"""The differences between two frozen evaluations: judgments, rankings, options, scale and guidelines."""

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import pandas as pd

from ratings.formats.values import natural

from ..models import FrozenEvaluation
from . import content
from .stored import about, lines_of, runs_of, settings_of

SHOWN = 100  # judgments listed on a page


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


@dataclass(frozen=True, eq=False)
class Changes:
    """The changes from `first` to `second`."""

    first: FrozenEvaluation
    second: FrozenEvaluation

    @cached_property
    def queries(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The queries of both, as `content.read_queries`."""
        return tuple(content.read_queries(lines_of(each)(content.QUERIES)) for each in self.both)

    @property
    def both(self) -> tuple[FrozenEvaluation, FrozenEvaluation]:
        return self.first, self.second

    @cached_property
    def added_queries(self) -> list[str]:
        return self._only_in(1)

    @cached_property
    def removed_queries(self) -> list[str]:
        return self._only_in(0)

    @cached_property
    def edited_queries(self) -> list[str]:
        """Queries of both whose text, weight or chance in a log differs."""
        facts = ["text", "weight", "chance"]
        before, after = (
            dict(zip(each["key"], each[facts].fillna(0).itertuples(index=False), strict=True))
            for each in self.queries
        )
        return [key for key in after if key in before and before[key] != after[key]]

    def _only_in(self, which: int) -> list[str]:
        other = set(self.queries[1 - which]["key"])
        return [key for key in self.queries[which]["key"] if key not in other]

    @cached_property
    def judgments(self) -> dict:
        """How many judgments differ, by kind and by query, and the first SHOWN of them."""
        kinds: Counter[str] = Counter()
        queries: Counter[str] = Counter()
        first: list[Change] = []
        for change in self.each_judgment():
            kinds[change.kind] += 1
            queries[change.query] += 1
            if len(first) < SHOWN:
                first.append(change)
        return {**kinds, "queries": queries, "first": first}

    def each_judgment(self) -> Iterator[Change]:
        """Every judgment that differs, by query and document. Both files are read once, in their common order."""
        rows = heapq.merge(*(_graded(each, place) for place, each in enumerate(self.both)))
        for (query, document), same in groupby(rows, key=itemgetter(0, 1)):
            grades = {place: grade for _, _, place, grade in same}
            if grades.get(0) != grades.get(1):
                yield Change(query[-1], document, grades.get(0), grades.get(1))

    @cached_property
    def systems(self) -> tuple[list[str], list[str], list[str]]:
        """The names of systems that were added, of those that were removed, and of those in both."""
        before, after = ([system.system for system in settings_of(each).systems] for each in self.both)
        return (
            [name for name in after if name not in before],
            [name for name in before if name not in after],
            [name for name in before if name in after],
        )

    @property
    def rankings(self) -> dict[str, int]:
        """By system of both, the number of queries whose ranking differs; only systems with such a query."""
        return {name: queries for name, queries in self._runs.items() if queries}

    @property
    def scores(self) -> list[str]:
        """Systems of both whose scores differ while their rankings are the same."""
        return [name for name, queries in self._runs.items() if not queries]

    @cached_property
    def _runs(self) -> dict[str, int]:
        """The number of queries whose ranking differs, by system of both whose run file differs."""
        before, after = (runs_of(each) for each in self.both)
        counts: dict[str, int] = {}
        for name in self.systems[2]:
            if before[name].sha256 != after[name].sha256:
                old, new = _ranked(self.first, before[name].name), _ranked(self.second, after[name].name)
                counts[name] = sum(old.get(query) != new.get(query) for query in old.keys() | new.keys())
        return counts

    @cached_property
    def options(self) -> list[tuple[str, str, str]]:
        """(name, before, after) of the options that differ, including rule and adjudications."""
        before, after = (_options(each) for each in self.both)
        return [(name, before[name], after[name]) for name in after if before.get(name) != after[name]]

    @cached_property
    def terms(self) -> list[tuple[str, str, str]]:
        """(name, before, after) of the versions of guidelines, presentation and scale that differ."""
        before, after = (about(each) for each in self.both)
        names = [(name, f"{name}_version") for name in ("guidelines", "presentation", "scale")]
        versions = [(name, getattr(before, field), getattr(after, field)) for name, field in names]
        return [(name, _version(old), _version(new)) for name, old, new in versions if old != new]

    @property
    def measures(self) -> list[str]:
        """The measures of both, in the order of the second."""
        known = {str(measure) for measure in settings_of(self.first).measures}
        return [str(measure) for measure in settings_of(self.second).measures if str(measure) in known]


def _version(number: int) -> str:
    return f"version {number}" if number else "none"


def _graded(frozen: FrozenEvaluation, place: int) -> Iterator[tuple[tuple, str, int, float]]:
    """(sort key of the query, document, `place`, grade) of each judgment, in their order."""
    name = settings_of(frozen).judgments
    for query, document, grade in content.read_judgments(name, lines_of(frozen)(name)):
        yield natural(query), document, place, grade


def _ranked(frozen: FrozenEvaluation, run: str) -> dict[str, list[str]]:
    """The documents of each query of a run, best first."""
    return {query: documents for query, documents, _ in content.read_run(run, lines_of(frozen)(run))}


def _options(frozen: FrozenEvaluation) -> dict[str, str]:
    settings = settings_of(frozen)
    return settings.options.as_dict() | {"rule": settings.rule, "adjudications": settings.adjudications}

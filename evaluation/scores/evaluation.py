"""Scores of a collection by measure, system and query, as pandas frames, with their options."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pandas as pd

from ratings.models import Collection

from .. import measures as kernel
from .. import record
from ..expected import estimate, pool_of
from ..measures import (
    COUNTED,
    MEASURES,
    REASONS,
    Bounds,
    Explanation,
    Judgments,
    Measure,
    Options,
    Rankings,
    Scores,
    parse_measure,
    with_gmax,
)
from ..measures.refusal import refuse_unknown
from ..record import Record, cache
from ..record.cache import Columns
from ..significance import bootstrap_interval
from ..significance.draws import EXPECTED, SEED
from .asked import SIGNED, SUMS, Asked, fingerprint, measures_of
from .bounds import bounds_of

WHY = np.array(["" if reason == REASONS[COUNTED] else reason for reason in REASONS], object)  # by code


class ExpectedMeans(Protocol):
    """The expected means of one measure once all of the pool is judged."""

    est: str  # the source of the estimate, the option est
    estimated: str  # est and further options of the estimate, for the fingerprint

    def row(self, system: str) -> dict[str, float | str | None]:
        """Columns for the row of a system in a summary."""

    def between(self, first: str, second: str) -> dict[str, float | str | None]:
        """Columns for the row of two systems in a comparison: `second` minus `first`."""

    def facts(self) -> dict:
        """Facts about the estimate, for JSON."""


@dataclass(frozen=True)
class ModelMeans:
    """Means expected by a model, by system. Without documents drawn at random there is no interval."""

    means: Mapping[str, float]
    est: str = "model"
    estimated: str = f"est=model draws={EXPECTED} seed={SEED}"

    def row(self, system: str) -> dict[str, float]:
        return {"expected": self.means[system]}

    def between(self, first: str, second: str) -> dict[str, float]:
        return {"expected": self.means[second] - self.means[first]}

    def facts(self) -> dict:
        return {}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of the systems of a collection. nan = no value; `reasons` says why, in words of REASONS."""

    collection: str  # slug
    asked: Asked
    measures: tuple[Measure, ...]  # the asked one first
    systems: tuple[str, ...]  # in the order of names
    # Arrays [queries, measures x systems] by name: values; codes, indices in REASONS; seen, the judged share of
    # the documents that the measure reads.
    table: Columns
    bounds: dict[tuple[Measure, str], Bounds]  # by (measure, system), of the measures that they were asked for
    # Expected means by measure, where they were asked for.
    expected: Mapping[Measure, ExpectedMeans] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """The options in short, without the parameters of measures."""
        of_options = fingerprint(self.asked.options, self.asked.rule, self.asked.adjudications)
        return " ".join([of_options, *sorted({outlook.estimated for outlook in self.expected.values()})])

    def fingerprint_of(self, measure: Measure | str) -> str:
        """The fingerprint of the options in force for this measure, with est where there are expected values."""
        measure = parse_measure(measure) if isinstance(measure, str) else measure
        of_options = self.asked.fingerprint_of(measure)
        return f"{of_options} {self.expected[measure].estimated}" if measure in self.expected else of_options

    @property
    def est(self) -> str:
        """The sources of the expected values; "" where none were asked for."""
        return " ".join(sorted({outlook.est for outlook in self.expected.values()}))

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """Values by query key; columns (measure, system), both text."""
        return self._frame(self.table.of["values"], self.columns)

    @cached_property
    def reasons(self) -> pd.DataFrame:
        """The reason of each value, in the shape of per_query: "counted", or why the query counts in no mean."""
        return self._frame(np.array(REASONS, object)[self.table.of["codes"]], self.columns)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row for each (system, measure), both text.

        mean; low and high, its 95 % interval over queries; lowest and highest, its bounds where asked for;
        weighted, the mean by query weight; total, of a count; queries, how many count; undefined, how many do not;
        why, {reason: number of queries}; judged, the mean Judged@cutoff of the queries that count; and, where
        expected values were asked for, the columns of `ExpectedMeans.row`.
        """
        rows = self.summarised.values()
        index = pd.MultiIndex.from_product([self.systems, map(str, self.measures)], names=["system", "measure"])
        return pd.DataFrame(rows, index, list(dict.fromkeys([*SUMMARY, *(name for row in rows for name in row)])))

    @cached_property
    def summarised(self) -> dict[tuple[str, str], dict]:
        """The rows of `summary` by (system, measure), both text. Ten times as fast as the frame."""
        intervals = self.table.remember("intervals", lambda: _intervals(self.columns, self.table))
        return {
            (system, str(measure)): self._row((measure, system), *intervals[measure, system])
            for system in self.systems
            for measure in self.measures
        }

    @property
    def is_weighted(self) -> bool:
        """Whether queries have different weights."""
        return bool(self.table.record.queries["weight"].nunique() > 1)

    @cached_property
    def columns(self) -> list[tuple[Measure, str]]:
        return [(measure, system) for measure in self.measures for system in self.systems]

    @cached_property
    def _places(self) -> dict[tuple[Measure, str], int]:
        return {column: place for place, column in enumerate(self.columns)}

    def values(self, measure: Measure, systems: Iterable[str]) -> np.ndarray:
        """The values of these systems, float64[queries, systems], without the frame."""
        return self.table.of["values"][:, [self._places[measure, system] for system in systems]]

    def counted(self, measure: Measure, systems: Iterable[str]) -> np.ndarray:
        """Whether each value counts in the mean, bool[queries, systems]."""
        return self._codes(measure, systems) == COUNTED

    def counting(self, measure: Measure, systems: Sequence[str]) -> np.ndarray:
        """The values that count in the mean, float64[queries, systems]; nan for others, even for known ones."""
        return np.where(self.counted(measure, systems), self.values(measure, systems), np.nan)

    def why(self, measure: Measure, systems: Iterable[str]) -> np.ndarray:
        """Why each value counts in no mean, as text, object[queries, systems]; "" where it counts."""
        return WHY[self._codes(measure, systems)]

    def _codes(self, measure: Measure, systems: Iterable[str]) -> np.ndarray:
        return self.table.of["codes"][:, [self._places[measure, system] for system in systems]]

    @cached_property
    def lowest(self) -> pd.DataFrame:
        """The lower bound of each value, in the shape of per_query; only columns whose bounds were asked for."""
        return self._of_bounds("low")

    @cached_property
    def highest(self) -> pd.DataFrame:
        """The upper bound of each value, as `lowest`."""
        return self._of_bounds("high")

    def _of_bounds(self, end: str) -> pd.DataFrame:
        values = [getattr(bounds, end) for bounds in self.bounds.values()]
        return self._frame(
            np.column_stack(values) if values else np.empty((len(self.table.record.queries), 0)), self.bounds
        )

    def _frame(self, values: np.ndarray, columns: Iterable[tuple[Measure, str]]) -> pd.DataFrame:
        index = pd.Index(self.table.record.queries["key"], name="query")
        names = [[str(measure) for measure, _ in columns], [system for _, system in columns]]
        return pd.DataFrame(values, index, pd.MultiIndex.from_arrays(names, names=["measure", "system"]))

    def _row(self, column: tuple[Measure, str], low: float, high: float) -> dict:
        place = self._places[column]
        values, codes, seen = (self.table.of[name][:, place] for name in ("values", "codes", "seen"))
        counted = codes == COUNTED
        tally = dict(zip(REASONS, np.bincount(codes, minlength=len(REASONS)).tolist(), strict=True))
        queries = tally.pop(REASONS[COUNTED])
        lowest, highest = self.bounds[column].of_mean() if column in self.bounds else (np.nan, np.nan)
        weights = self.table.record.queries["weight"].to_numpy(np.float64)
        return {
            "mean": kernel.mean(values, counted),
            "low": low,
            "high": high,
            "lowest": lowest,
            "highest": highest,
            "weighted": kernel.weighted_mean(values, counted, weights),
            "total": float(values[counted].sum()) if MEASURES[column[0].name].counts and queries else np.nan,
            "queries": queries,
            "undefined": sum(tally.values()),
            "why": {reason: count for reason, count in tally.items() if count},
            "judged": kernel.mean(seen, counted & ~np.isnan(seen)),
            **(self.expected[column[0]].row(column[1]) if column[0] in self.expected else {}),
        }


SUMMARY = (
    "mean",
    "low",
    "high",
    "lowest",
    "highest",
    "weighted",
    "total",
    "queries",
    "undefined",
    "why",
    "judged",
)


def evaluate(
    collection: Collection,
    asked: Asked,
    beside: Iterable[Measure | str] = (),
    bounds: Iterable[Measure | str] = (),
) -> Evaluation:
    """The scores in the asked measure and those `beside` it, from the cache as far as possible.

    `bounds`: the measures whose bounds are computed, too; only nDCG has bounds. ValueError, with a message for the
    user, for an unknown measure or system, and for options that do not fit the collection.
    """
    measures = tuple(dict.fromkeys([asked.measure, *measures_of(collection, beside)]))
    bounds = tuple(dict.fromkeys(measures_of(collection, bounds)))

    def compute(data: Record, judgments: Judgments) -> dict[str, np.ndarray]:
        return _scored(data, judgments, measures, asked.options)

    # The same version for scores and bounds: a rating saved in between could move a value out of its bounds.
    version = record.version(collection)
    table = cache.columns(collection, version, asked.source, ("scores", measures, asked.options), compute)
    ends = bounds_of(collection, version, asked, bounds, table.record.systems)
    return Evaluation(collection.slug, asked, measures, table.record.systems, table, ends)


def of_arrays(
    name: str,
    queries: Sequence[str],
    judgments: Judgments,
    rankings: dict[str, Rankings],
    asked: Asked,
    beside: Iterable[Measure | str] = (),
    expected_among: Mapping[str, Rankings] | None = None,
) -> Evaluation:
    """The scores of rankings without a collection, such as those of files; `name` takes the place of its slug.

    All queries have weight 1, and the highest grade of the judgments counts as that of the scale.
    `expected_among`: the rankings of all systems that a model of expected means learns from; None: no expected
    means. ValueError for a measure that cannot be expected.
    """
    highest = float(judgments.grade.max(initial=0))
    parsed = [asked.measure, *measures_of(None, beside)]
    measures = tuple(dict.fromkeys(with_gmax(measure, highest) for measure in parsed))
    frame = pd.DataFrame({"key": list(queries), "weight": 1.0})
    # There are no ratings behind these judgments.
    data = Record(name, frame, tuple(rankings), ratings=None, values=None, rankings=rankings)
    table = Columns(data, _scored(data, judgments, measures, asked.options))
    expected = _expected(judgments, expected_among, measures, asked.options) if expected_among else {}
    asked = replace(asked, measure=measures[0])
    return Evaluation(name, asked, measures, data.systems, table, {}, expected)


def _expected(
    judgments: Judgments, rankings: Mapping[str, Rankings], measures: Iterable[Measure], options: Options
) -> dict[Measure, ExpectedMeans]:
    """Expected means by measure, from a model. A document must have the same number in all rankings."""
    expected = {}
    for measure in measures:
        pool, level = pool_of(judgments, [*rankings.values()], measure, options)
        if pool.gains[0] > 0:
            raise ValueError(
                "expected values need judgments without gain, and every one here gains something: if only "
                "relevant documents are listed, all others are worthless, and the plain mean is right; if not, "
                "give the least grade the gain 0, for example gain=map:1=0,2=1,3=2."
            )
        means = estimate(pool, level).mean.tolist()
        expected[measure] = ModelMeans(dict(zip(rankings, means, strict=True)))
    return expected


def explain(
    collection: Collection, asked: Asked, query: str, systems: Iterable[str] | None = None
) -> dict[str, Explanation]:
    """The computation of nDCG at the asked measure's cutoff for the query with this key, by system.

    Documents are pks. systems: None for all. ValueError for an unknown query or system.
    """
    measure, (data, judgments) = asked.measure, read(collection, asked)
    places = np.flatnonzero(data.queries["key"] == query)
    if not places.size:
        raise ValueError(f"unknown query {query!r} in {collection.slug}.")
    names = data.systems if systems is None else tuple(systems)
    for name in names:
        refuse_unknown("system", name, data.systems)
    place = int(places[0])
    options = kernel.effective(measure, asked.options)
    return {name: kernel.explain(measure.cutoff, judgments, data.rankings[name], options, place) for name in names}


def read(collection: Collection, asked: Asked) -> tuple[Record, Judgments]:
    """The record and judgments that `evaluate` uses, from the same cache. Do not change the arrays."""
    return cache.read(collection, asked.source)


def why(reasons: dict[str, int]) -> str:
    """The reasons as text: "2 nothing to find, 1 not judged"."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items())


def _scored(
    data: Record, judgments: Judgments, measures: tuple[Measure, ...], options: Options
) -> dict[str, np.ndarray]:
    """The arrays of `Evaluation.table`: values, codes and seen, [queries, measures x systems] each."""
    scores = {system: _score(measures, judgments, data.rankings[system], options) for system in data.systems}
    columns = [(measure, *scores[system]) for measure in measures for system in data.systems]
    shape = (len(data.queries), len(columns))
    values, codes, seen = np.empty(shape), np.empty(shape, np.int8), np.empty(shape)
    for place, (measure, scored, coverage) in enumerate(columns):
        values[:, place], codes[:, place] = scored.values[measure], scored.reasons[measure]
        seen[:, place] = coverage[measure]
    return {"values": values, "codes": codes, "seen": seen}


def _score(measures, judgments, rankings, options: Options) -> tuple[Scores, dict[Measure, np.ndarray]]:
    """One system's scores, and for each measure the judged share of the documents that it reads."""
    beside = {measure: Measure("Judged", measure.cutoff) for measure in measures}
    scores = kernel.evaluate([*measures, *beside.values()], judgments, rankings, options)
    seen = scores
    if options.unjudged == "condensed":
        # A condensed ranking is all judged. What matters is the share of the ranking as it was.
        seen = kernel.evaluate(beside.values(), judgments, rankings, replace(options, unjudged="zero"))
    return scores, {measure: seen.values[judged] for measure, judged in beside.items()}


def _intervals(
    columns: list[tuple[Measure, str]], table: Columns
) -> dict[tuple[Measure, str], tuple[float, float]]:
    """(low, high) by (measure, system). Columns with equally many queries are resampled together."""
    values, counted = table.of["values"], table.of["codes"] == COUNTED
    sizes = counted.sum(axis=0)
    intervals = {}
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        chosen = np.column_stack([values[counted[:, column], column] for column in same])
        for column, low, high in zip(same, *bootstrap_interval(chosen), strict=True):
            measure = columns[column][0]
            if size > 1:
                # Widened, an interval near an end of the scale can pass it.
                if measure.name not in SIGNED:
                    low = max(low, min(0.0, values[counted[:, column], column].min()))
                if measure.name not in SUMS:
                    high = min(high, max(1.0, values[counted[:, column], column].max()))
            intervals[columns[column]] = (float(low), float(high))
    return intervals

"""Measures x systems x queries of a collection, as pandas frames, with the options that made them."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from threading import Lock

import numpy as np
import pandas as pd

from ratings.models import Collection

from . import measures as kernel
from . import record
from .judgments import combine
from .measures import PROFILES, REASONS, Explanation, Judgments, Measure, Options, Scores, parse_measure
from .record import Record
from .significance import bootstrap_interval

# Sums have no upper end; what else exceeds 1 or falls below 0 does so under options that a reader chose.
SUMS = {"CG", "DCG", "IDCG"}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What the systems of a collection scored. nan = no value; `reasons` says why, in words of REASONS."""

    collection: str  # slug
    options: Options
    rule: str  # how several ratings became one judgment
    measures: tuple[Measure, ...]
    systems: tuple[str, ...]  # in the order of names
    per_query: pd.DataFrame  # by query key; columns (measure, system), both text
    reasons: pd.DataFrame  # the same shape: "counted", or why the query counts in no mean
    # By (system, measure): mean, low and high (95 % interval over queries), queries (how many count),
    # undefined (how many do not), why ({reason: how many}), judged (mean Judged@cutoff of those that count).
    summary: pd.DataFrame

    @property
    def fingerprint(self) -> str:
        """What stands beside every number."""
        return self.options.fingerprint() + ("" if self.rule == "mean" else f" rule={self.rule}")


def options_for(collection: Collection, profile: str = "default", **changes: str) -> Options:
    """A profile's options, the least relevant grade of the collection among them, with `changes` given as text."""
    if profile not in PROFILES:
        near = get_close_matches(profile, PROFILES)
        known = f"did you mean {' or '.join(near)}?" if near else "known are " + ", ".join(PROFILES)
        raise ValueError(f"unknown profile {profile!r}; {known}")
    return replace(PROFILES[profile], relevant_from=float(collection.relevant_from)).revised(**changes)


def evaluate(
    collection: Collection,
    measures: Iterable[Measure | str],
    options: Options,
    systems: Iterable[str] | None = None,
    rule: str = "mean",
) -> Evaluation:
    """Score the named systems (None: all). Reads the collection once for each version of it.

    ValueError, in words for the person who asked, for an unknown measure, system or rule and for options that
    do not fit the collection.
    """
    measures = tuple(dict.fromkeys(parse_measure(m) if isinstance(m, str) else m for m in measures))
    systems = _chosen(systems)
    version = record.version(collection)
    made = _evaluations.get(
        (version, measures, options, systems, rule),
        lambda: _evaluated(*_read(collection, version, systems, options, rule), measures, options, rule),
    )
    # Shallow copies: who adds a column adds it to their own frame, not to the one that is kept.
    frames = ("per_query", "reasons", "summary")
    return replace(made, **{name: getattr(made, name).copy(deep=False) for name in frames})


def explain(
    collection: Collection,
    systems: Iterable[str] | None,
    query: str,
    measure: Measure | str,
    options: Options,
    rule: str = "mean",
) -> dict[str, Explanation]:
    """How nDCG at the measure's cutoff came about for the query with this key, by system; documents are pks."""
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    found, judgments = read(collection, options, rule=rule)
    places = np.flatnonzero(found.queries["key"] == query)
    if not places.size:
        raise ValueError(f"unknown query {query!r} in {collection.slug}")
    names = found.systems if systems is None else tuple(systems)
    for name in names:
        if name not in found.rankings:
            raise ValueError(record.unknown_system(name, found.systems))
    place = int(places[0])
    return {
        name: kernel.explain(measure.cutoff, judgments, found.rankings[name], options, place) for name in names
    }


def read(
    collection: Collection, options: Options, systems: Iterable[str] | None = None, rule: str = "mean"
) -> tuple[Record, Judgments]:
    """The arrays that `evaluate` works on with these options, kept with its own. Do not change them."""
    return _read(collection, record.version(collection), _chosen(systems), options, rule)


def why(reasons: dict[str, int]) -> str:
    """Reasons in words: "2 nothing to find, 1 not judged"."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items())


def _evaluated(
    found: Record, judgments: Judgments, measures: tuple[Measure, ...], options: Options, rule: str
) -> Evaluation:
    scores, coverage = {}, {}
    for system in found.systems:
        scores[system], coverage[system] = _score(measures, judgments, found.rankings[system], options)
    columns = [(measure, system) for measure in measures for system in found.systems]
    values = _columns(
        [scores[system].values[measure] for measure, system in columns], len(found.queries), np.float64
    )
    reasons = _columns(
        [scores[system].reasons[measure] for measure, system in columns], len(found.queries), np.int8
    )
    index = pd.Index(found.queries["key"], name="query")
    header = pd.MultiIndex.from_tuples([(str(m), s) for m, s in columns], names=["measure", "system"])
    return Evaluation(
        collection=found.collection,
        options=options,
        rule=rule,
        measures=measures,
        systems=found.systems,
        per_query=pd.DataFrame(values, index, header),
        reasons=pd.DataFrame(np.array(REASONS, object)[reasons], index, header),
        summary=_summary(measures, found.systems, scores, coverage, _intervals(columns, values, reasons == 0)),
    )


def _score(measures, judgments, rankings, options: Options) -> tuple[Scores, dict[Measure, np.ndarray]]:
    """One system's scores, and beside each measure the judged share of what it looked at."""
    beside = {measure: Measure("Judged", measure.cutoff) for measure in measures}
    scores = kernel.evaluate([*measures, *beside.values()], judgments, rankings, options)
    seen = scores
    if options.unjudged == "condensed":
        # What condensing leaves is all judged; how much it left out is the thing to know.
        seen = kernel.evaluate(beside.values(), judgments, rankings, replace(options, unjudged="zero"))
    return scores, {measure: seen.values[judged] for measure, judged in beside.items()}


def _columns(columns: list[np.ndarray], rows: int, dtype: type) -> np.ndarray:
    return np.column_stack(columns) if columns else np.empty((rows, 0), dtype)


def _summary(measures, systems, scores: dict[str, Scores], coverage, intervals) -> pd.DataFrame:
    rows = []
    for system in systems:
        for measure in measures:
            tally = scores[system].tally(measure)
            counted, seen = scores[system].counted(measure), coverage[system][measure]
            low, high = intervals[measure, system]
            rows.append(
                {
                    "mean": scores[system].mean(measure),
                    "low": low,
                    "high": high,
                    "queries": tally.pop("counted"),
                    "undefined": sum(tally.values()),
                    "why": tally,
                    "judged": kernel.mean(seen, counted & ~np.isnan(seen)),
                }
            )
    index = pd.MultiIndex.from_product([systems, map(str, measures)], names=["system", "measure"])
    return pd.DataFrame(rows, index, ["mean", "low", "high", "queries", "undefined", "why", "judged"])


def _intervals(columns: list[tuple[Measure, str]], values: np.ndarray, counted: np.ndarray) -> dict:
    """(low, high) by (measure, system). Columns with equally many queries are resampled together."""
    sizes = counted.sum(axis=0)
    intervals = {}
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        chosen = np.column_stack([values[counted[:, column], column] for column in same])
        for column, low, high in zip(same, *bootstrap_interval(chosen), strict=True):
            measure = columns[column][0]
            if measure.name not in SUMS and size > 1:
                # Widened, an interval near an end of the scale can pass it.
                low = max(low, min(0.0, values[counted[:, column], column].min()))
                high = min(high, max(1.0, values[counted[:, column], column].max()))
            intervals[columns[column]] = (float(low), float(high))
    return intervals


# What was read and what came of it, kept until it is old


class _Recent:
    """The last `limit` things made, by key. Two threads may make one thing twice; both get the same."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable):
        with self._lock:
            if key in self._kept:
                self._kept[key] = self._kept.pop(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._limit:
                del self._kept[next(iter(self._kept))]
        return made


_records = _Recent(4)
_judgments = _Recent(8)
_evaluations = _Recent(64)


def _chosen(systems: Iterable[str] | None) -> frozenset[str] | None:
    return None if systems is None else frozenset(systems)


def _read(
    collection: Collection, version: tuple, systems: frozenset[str] | None, options: Options, rule: str
) -> tuple[Record, Judgments]:
    key = (version, systems, options.ties)
    found = _records.get(key, lambda: record.load(collection, systems, options.ties))
    return found, _judgments.get((key, rule), lambda: combine(found.ratings, rule))

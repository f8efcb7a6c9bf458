"""Compute the scores of a collection or of arrays by measure, system and query, and what they can still become."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pandas as pd

from ratings.models import Collection

from .. import measures as kernel
from .. import record
from ..expected import pool_of, query_values
from ..judgments.rules import Ratings
from ..measures import Bounds, Explanation, Judgments, Measure, Options, Rankings, with_gmax
from ..measures.arrays import distinct, pair_key, pair_of
from ..measures.refusal import refuse_unknown
from ..record import Record, Version, cache
from ..record.cache import Columns
from .asked import Asked, measures_of
from .evaluation import Evaluation

BOUND_NAMES = tuple(field.name for field in fields(Bounds))


def evaluate(
    collection: Collection,
    asked: Asked,
    beside: Iterable[Measure | str] = (),
    bounds: Iterable[Measure | str] = (),
    judgments: bool = False,
) -> Evaluation:
    """The scores in the asked measure and those `beside` it, from the cache as far as possible.

    bounds: the measures whose bounds are computed, too; only nDCG has bounds. judgments: whether the evaluation
    has the judgments, for what needs them, such as the score of an empty list. ValueError, with a message for the
    user, for an unknown measure or system, and for options that do not fit the collection.
    """
    # Each once, the asked one first.
    measures = tuple(dict.fromkeys([asked.measure, *measures_of(collection, beside)]))
    compute = partial(_scored, measures=measures, options=asked.options)
    # The same version for all: a rating saved in between could move a value out of its bounds.
    version = record.version(collection)
    table = cache.columns(collection, version, asked.source, ("scores", measures, asked.options), compute)
    bounded = dict.fromkeys(measures_of(collection, bounds))  # each once
    bounds_by_column = _bounds(collection, version, asked, bounded, table.record.systems)
    evaluation = Evaluation(asked, measures, table, bounds_by_column)
    if not judgments:
        return evaluation
    # What is not cached for this version is read as it is now. After an import since the version was read, `data`
    # can have queries that the table lacks. In the new version both have them.
    data, known_judgments = cache.read(collection, asked.source, version)
    if not data.queries["key"].equals(table.record.queries["key"]):
        return evaluate(collection, asked, beside, bounds, judgments)
    return replace(evaluation, known_judgments=known_judgments)


def of_ratings(data: Record, ratings: Ratings, asked: Asked) -> Evaluation:
    """The scores in the asked measure, as if these were the ratings of the record. Nothing of it is cached."""
    data, measures = replace(data, ratings=ratings), (asked.measure,)
    judgments = asked.source.judgments(data)
    table = Columns(data, _scored(data, judgments, measures, asked.options))
    return Evaluation(asked, measures, table, known_judgments=judgments)


def of_arrays(
    name: str,
    queries: Sequence[str],
    judgments: Judgments,
    rankings: dict[str, Rankings],
    asked: Asked,
    beside: Iterable[Measure | str] = (),
) -> Evaluation:
    """The scores of rankings without a collection, such as those of files.

    name: in place of the slug; queries: their keys, in the order of the arrays; rankings: by system; beside:
    further measures. All queries have weight 1, and the highest judgment counts as the highest grade of the scale.
    """
    highest_grade = float(judgments.grade.max(initial=0))
    all_measures = [asked.measure, *measures_of(None, beside)]
    # ERR and others need the highest grade as their parameter gmax. Each measure once.
    measures = tuple(dict.fromkeys(with_gmax(measure, highest_grade) for measure in all_measures))
    frame = pd.DataFrame({"key": list(queries), "weight": 1.0})
    # Judgments of files are not made from ratings.
    data = Record(name, frame, tuple(rankings), ratings=None, values=None, rankings=rankings)
    table = Columns(data, _scored(data, judgments, measures, asked.options))
    return Evaluation(replace(asked, measure=measures[0]), measures, table, known_judgments=judgments)


def of_rankings(
    collection: Collection, asked: Asked, extra_rankings: Mapping[str, Rankings], *, bounds: bool = True
) -> Evaluation:
    """The scores of the asked systems and of these further rankings in the asked measure. Nothing is cached.

    The evaluation has the judgments and, unless `bounds` is False, what the values can still become, which the
    missing judgments decide: any grade of the scale. extra_rankings: by name, of all queries of the collection in
    their order.
    """
    data, judgments = read(collection, asked)
    systems = (*data.systems, *extra_rankings)
    data = replace(data, systems=systems, rankings={**data.rankings, **extra_rankings})
    table = Columns(data, _scored(data, judgments, (asked.measure,), asked.options))
    scale = record.scale(collection) if bounds and has_bounds(asked.measure) else []
    bounds_by_column = {}
    if scale:
        columns = _bound_columns(data, judgments, collection, asked, scale)
        bounds_by_column = {(asked.measure, system): _bounds_in(columns, system) for system in systems}
    return Evaluation(asked, (asked.measure,), table, bounds_by_column, known_judgments=judgments)


def expected_by_query(
    collection: Collection, asked: Asked, most: int | None, extra_rankings: Mapping[str, Rankings]
) -> dict[str, np.ndarray]:
    """The expected value of each query by system, float64[queries]; nan where nothing can be found.

    An unjudged document counts with the gain that a model expects of it. The model learns from all systems of the
    collection, whichever were asked, and from the extra rankings, which are by name and of no system.
    most: pairs of a query and a document in the pool; None: any number. ValueError for more, and where expected
    values are not defined.
    """
    data, judgments = read(collection, replace(asked, systems=None))  # of all systems
    rankings, scale = {**data.rankings, **extra_rankings}, record.scale(collection)
    pool, level = pool_of(judgments, [*rankings.values()], asked.measure, asked.options, scale)
    if most is not None and pool.pairs > most:
        raise ValueError(f"{pool.pairs:,} documents by query are too many; the command gate takes any number.")
    values = np.full((len(data.queries), len(rankings)), np.nan)
    # The pool has only queries where something can be found; `pool.number` has their rows. `level` is the level of
    # gain of each pair in it, -1 for an unjudged one, whose gain the model predicts.
    values[pool.number] = query_values(pool, level)
    return dict(zip(rankings, values.T, strict=True))


def explain(
    collection: Collection, asked: Asked, query: str, systems: Iterable[str] | None = None
) -> dict[str, Explanation]:
    """The computation of nDCG at the asked measure's cutoff on one query, by system.

    Documents are pks. query: its key; systems: names, None for all. ValueError for an unknown query or system.
    """
    data, judgments = read(collection, asked)
    rows = np.flatnonzero(data.queries["key"] == query)  # one or none: keys are unique
    if not rows.size:
        raise ValueError(f"unknown query {query!r} in {collection.slug}.")
    names = data.systems if systems is None else tuple(systems)
    for name in names:
        refuse_unknown("system", name, data.systems)
    row, cutoff = int(rows[0]), asked.measure.cutoff
    options = kernel.effective(asked.measure, asked.options)
    return {name: kernel.explain(cutoff, judgments, data.rankings[name], options, row) for name in names}


def read(collection: Collection, asked: Asked) -> tuple[Record, Judgments]:
    """The record and judgments that `evaluate` uses, from the same cache. Do not change the arrays."""
    return cache.read(collection, asked.source)


def _scored(
    data: Record, judgments: Judgments, measures: tuple[Measure, ...], options: Options
) -> dict[str, np.ndarray]:
    """The arrays of `Evaluation.table`: values, codes and seen, [queries, measures x systems] each.

    codes: indices in REASONS; seen: judged shares. The columns of the first measure, one for each system, come
    first.
    """
    shape = (len(data.queries), len(measures) * len(data.systems))
    values, codes, judged_shares = np.empty(shape), np.empty(shape, np.int8), np.empty(shape)
    judged_at = {measure: Measure("Judged", measure.cutoff) for measure in measures}
    for number, system in enumerate(data.systems):
        rankings = data.rankings[system]
        scores = kernel.evaluate([*measures, *judged_at.values()], judgments, rankings, options)
        scores_with_shares = scores
        if options.unjudged == "condensed":
            # A condensed ranking is all judged. What matters is the share of the ranking as the system gave it.
            as_given = replace(options, unjudged="zero")
            scores_with_shares = kernel.evaluate(judged_at.values(), judgments, rankings, as_given)
        for number_of_measure, measure in enumerate(measures):
            column = number_of_measure * len(data.systems) + number
            values[:, column] = scores.values[measure]
            codes[:, column] = scores.reasons[measure]
            judged_shares[:, column] = scores_with_shares.values[judged_at[measure]]
    return {"values": values, "codes": codes, "seen": judged_shares}


def has_bounds(measure: Measure) -> bool:
    """Whether exact bounds are known for the measure."""
    return measure.name == "nDCG"


def _bounds(
    collection: Collection, version: Version, asked: Asked, measures: Iterable[Measure], systems: Iterable[str]
) -> dict[tuple[Measure, str], Bounds]:
    """The bounds by (measure, system), for those of the measures that have bounds; empty without a scale.

    They come from the cache as far as possible. systems: whose bounds are returned. They are computed for all
    systems all the same, because what may still be judged depends on the pool of all.
    """
    measures_with_bounds = list(filter(has_bounds, measures))
    scale = record.scale(collection) if measures_with_bounds else []
    if not scale:
        return {}
    source_of_all = replace(asked.source, systems=None)
    bounds: dict[tuple[Measure, str], Bounds] = {}
    for measure in measures_with_bounds:
        # kernel.effective: the options in force, after the measure's own parameter dcg.
        cache_key = ("bounds", measure, kernel.effective(measure, asked.options), tuple(scale))
        # Its systems do not matter: `cache.columns` reads those of `source_of_all`.
        asked_measure = replace(asked, measure=measure)
        compute = partial(_bound_columns, collection=collection, asked=asked_measure, scale=scale)
        table = cache.columns(collection, version, source_of_all, cache_key, compute)
        shown = [system for system in table.record.systems if system in systems]
        bounds |= {(measure, system): _bounds_in(table.of, system) for system in shown}
    return bounds


def _bounds_in(columns: Mapping[tuple[str, str], np.ndarray], system: str) -> Bounds:
    """The bounds of one system in the arrays of `_bound_columns`."""
    return Bounds(**{name: columns[name, system] for name in BOUND_NAMES})


def _bound_columns(
    data: Record, judgments: Judgments, collection: Collection, asked: Asked, scale: Sequence[float]
) -> dict[tuple[str, str], np.ndarray]:
    """The bounds of each system of this record in the asked measure, as arrays [queries].

    Their keys are (name of the field of `Bounds`, system). scale: the grades, the lowest first.
    """
    cutoff, options = asked.measure.cutoff, kernel.effective(asked.measure, asked.options)
    # The pairs that can still get a judgment, of the pool and of each ranking: (query, document), int64[n] each.
    of_pool = record.pool(collection, data.queries, asked.adjudications)
    of_rankings = [kernel.unjudged(cutoff, judgments, rankings, options) for rankings in data.rankings.values()]
    query, document = np.hstack([of_pool, *of_rankings])
    # Each pair once, sorted. `kernel.bounds` sorts them again for each system, which is quick if they are sorted.
    pool = pair_of(distinct(pair_key(query, document)))
    columns: dict[tuple[str, str], np.ndarray] = {}
    for system, rankings in data.rankings.items():
        bounds = kernel.bounds(cutoff, judgments, rankings, options, (scale[0], scale[-1]), pool)
        columns |= {(name, system): getattr(bounds, name) for name in BOUND_NAMES}
    return columns

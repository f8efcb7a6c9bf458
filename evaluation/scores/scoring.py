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

    `bounds`: the measures whose bounds are computed, too; only nDCG has bounds. `judgments`: with the judgments,
    on which holes and neutral points rest. ValueError, with a message for the user, for an unknown measure or
    system, and for options that do not fit the collection.
    """
    measures = tuple(dict.fromkeys([asked.measure, *measures_of(collection, beside)]))
    compute = partial(_scored, measures=measures, options=asked.options)
    # The same version for all: a rating saved in between could move a value out of its bounds.
    version = record.version(collection)
    table = cache.columns(collection, version, asked.source, ("scores", measures, asked.options), compute)
    bounded = dict.fromkeys(measures_of(collection, bounds))
    evaluation = Evaluation(
        asked, measures, table, _bounds(collection, version, asked, bounded, table.record.systems)
    )
    if not judgments:
        return evaluation
    data, judged_by = cache.read(collection, asked.source, version)
    if not data.queries["key"].equals(table.record.queries["key"]):
        # Queries were imported in between: all arrays must have the same rows.
        return evaluate(collection, asked, beside, bounds, judgments)
    return replace(evaluation, judged_by=judged_by)


def of_ratings(data: Record, ratings: Ratings, asked: Asked) -> Evaluation:
    """The scores in the asked measure, as if these were the ratings of the record. Nothing of it is cached."""
    data, measures = replace(data, ratings=ratings), (asked.measure,)
    judgments = asked.source.judgments(data)
    table = Columns(data, _scored(data, judgments, measures, asked.options))
    return Evaluation(asked, measures, table, judged_by=judgments)


def of_arrays(
    name: str,
    queries: Sequence[str],
    judgments: Judgments,
    rankings: dict[str, Rankings],
    asked: Asked,
    beside: Iterable[Measure | str] = (),
) -> Evaluation:
    """The scores of rankings without a collection, such as those of files; `name` takes the place of its slug.

    All queries have weight 1, and the highest grade of the judgments counts as that of the scale.
    """
    highest = float(judgments.grade.max(initial=0))
    parsed = [asked.measure, *measures_of(None, beside)]
    measures = tuple(dict.fromkeys(with_gmax(measure, highest) for measure in parsed))
    frame = pd.DataFrame({"key": list(queries), "weight": 1.0})
    # There are no ratings behind these judgments.
    data = Record(name, frame, tuple(rankings), ratings=None, values=None, rankings=rankings)
    table = Columns(data, _scored(data, judgments, measures, asked.options))
    return Evaluation(replace(asked, measure=measures[0]), measures, table, judged_by=judgments)


def of_rankings(
    collection: Collection, asked: Asked, more: Mapping[str, Rankings], *, bounds: bool = True
) -> Evaluation:
    """The scores of the asked systems and of the rankings `more`, with judgments and, where there are any, bounds.

    more: rankings that no system has, by name, of the queries of the collection in their order. Nothing is cached.
    """
    data, judgments = read(collection, asked)
    data = replace(data, systems=(*data.systems, *more), rankings={**data.rankings, **more})
    table = Columns(data, _scored(data, judgments, (asked.measure,), asked.options))
    scale = record.scale(collection) if bounds and has_bounds(asked.measure) else []
    of_systems = {}
    if scale:
        columns = _bound_columns(data, judgments, collection, asked, scale)
        of_systems = {(asked.measure, system): _bounds_in(columns, system) for system in data.systems}
    return Evaluation(asked, (asked.measure,), table, of_systems, judged_by=judgments)


def expected_by_query(
    collection: Collection, asked: Asked, most: int | None = None, more: Mapping[str, Rankings] | None = None
) -> dict[str, np.ndarray]:
    """The values by system with unjudged documents at their expected gain, by the model alone: float64[queries].

    The model learns from all systems of the collection, whichever were asked, and from the rankings `more`, which
    no system has. nan where nothing can be found. ValueError where expected values are not defined, and for more
    than `most` documents by query.
    """
    data, judgments = read(collection, replace(asked, systems=None))
    rankings, scale = {**data.rankings, **(more or {})}, record.scale(collection)
    pool, level = pool_of(judgments, [*rankings.values()], asked.measure, asked.options, scale)
    if most is not None and pool.pairs > most:
        raise ValueError(f"{pool.pairs:,} documents by query are too many; the command gate takes any number.")
    values = np.full((len(data.queries), len(rankings)), np.nan)
    values[pool.number] = query_values(pool, level)  # the queries of the pool, where something can be found
    return dict(zip(rankings, values.T, strict=True))


def explain(
    collection: Collection, asked: Asked, query: str, systems: Iterable[str] | None = None
) -> dict[str, Explanation]:
    """The computation of nDCG at the asked measure's cutoff for the query with this key, by system.

    Documents are pks. systems: None for all. ValueError for an unknown query or system.
    """
    data, judgments = read(collection, asked)
    places = np.flatnonzero(data.queries["key"] == query)
    if not places.size:
        raise ValueError(f"unknown query {query!r} in {collection.slug}.")
    names = data.systems if systems is None else tuple(systems)
    for name in names:
        refuse_unknown("system", name, data.systems)
    place, cutoff = int(places[0]), asked.measure.cutoff
    options = kernel.effective(asked.measure, asked.options)
    return {name: kernel.explain(cutoff, judgments, data.rankings[name], options, place) for name in names}


def read(collection: Collection, asked: Asked) -> tuple[Record, Judgments]:
    """The record and judgments that `evaluate` uses, from the same cache. Do not change the arrays."""
    return cache.read(collection, asked.source)


def _scored(
    data: Record, judgments: Judgments, measures: tuple[Measure, ...], options: Options
) -> dict[str, np.ndarray]:
    """The arrays of `Evaluation.table`: values, codes and seen, [queries, measures x systems] each."""
    shape = (len(data.queries), len(measures) * len(data.systems))
    values, codes, seen = np.empty(shape), np.empty(shape, np.int8), np.empty(shape)
    judged_at = {measure: Measure("Judged", measure.cutoff) for measure in measures}
    for number, system in enumerate(data.systems):
        rankings = data.rankings[system]
        scores = kernel.evaluate([*measures, *judged_at.values()], judgments, rankings, options)
        of_judged = scores
        if options.unjudged == "condensed":
            # A condensed ranking is all judged. What matters is the share of the ranking as it was.
            of_judged = kernel.evaluate(judged_at.values(), judgments, rankings, replace(options, unjudged="zero"))
        for column, measure in enumerate(measures):
            place = column * len(data.systems) + number
            values[:, place] = scores.values[measure]
            codes[:, place] = scores.reasons[measure]
            seen[:, place] = of_judged.values[judged_at[measure]]
    return {"values": values, "codes": codes, "seen": seen}


def has_bounds(measure: Measure) -> bool:
    """Whether exact bounds are known for the measure."""
    return measure.name == "nDCG"


def _bounds(
    collection: Collection, version: Version, asked: Asked, measures: Iterable[Measure], systems: Iterable[str]
) -> dict[tuple[Measure, str], Bounds]:
    """The bounds by (measure, system), of the measures and systems that have them; empty without a scale.

    Their pool is that of all systems, whichever are asked. From the cache as far as possible.
    """
    bounded = list(filter(has_bounds, measures))
    scale = record.scale(collection) if bounded else []
    if not scale:
        return {}
    bounds = {}
    for measure in bounded:
        cache_key = ("bounds", measure, kernel.effective(measure, asked.options), tuple(scale))
        in_measure = replace(asked, measure=measure)
        compute = partial(_bound_columns, collection=collection, asked=in_measure, scale=scale)
        table = cache.columns(collection, version, replace(asked.source, systems=None), cache_key, compute)
        for system in table.record.systems:
            if system in systems:
                bounds[measure, system] = _bounds_in(table.of, system)
    return bounds


def _bounds_in(columns: Mapping[tuple[str, str], np.ndarray], system: str) -> Bounds:
    """The bounds of one system in the arrays of `_bound_columns`."""
    return Bounds(**{name: columns[name, system] for name in BOUND_NAMES})


def _bound_columns(
    data: Record, judgments: Judgments, collection: Collection, asked: Asked, scale: Sequence[float]
) -> dict[tuple[str, str], np.ndarray]:
    """The arrays of `Bounds` in the asked measure, of the rankings of this record, by name and system."""
    cutoff, options = asked.measure.cutoff, kernel.effective(asked.measure, asked.options)
    to_judge = [record.pool(collection, data.queries, asked.adjudications)]
    for rankings in data.rankings.values():
        to_judge.append(kernel.unjudged(cutoff, judgments, rankings, options))
    query, document = np.hstack(to_judge)
    # Sorted once for all systems: the bounds of each sort the pool again, which is quick then.
    pool = pair_of(distinct(pair_key(query, document)))
    columns: dict[tuple[str, str], np.ndarray] = {}
    for system, rankings in data.rankings.items():
        bounds = kernel.bounds(cutoff, judgments, rankings, options, (scale[0], scale[-1]), pool)
        columns |= {(name, system): getattr(bounds, name) for name in BOUND_NAMES}
    return columns

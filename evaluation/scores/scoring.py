"""Compute the scores of a collection or of arrays: values by measure, system and query."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ratings.models import Collection

from .. import measures as kernel
from .. import record
from ..expected import estimate, pool_of, query_values
from ..measures import Explanation, Judgments, Measure, Options, Rankings, Scores, with_gmax
from ..measures.refusal import refuse_unknown
from ..record import Record, cache
from ..record.cache import Columns
from .asked import Asked, measures_of
from .bounds import bounds_of
from .evaluation import Evaluation, ModelMeans


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
    bounds = tuple(dict.fromkeys(measures_of(collection, bounds)))

    def compute(data: Record, judgments: Judgments) -> dict[str, np.ndarray]:
        return _scored(data, judgments, measures, asked.options)

    # The same version for all: a rating saved in between could move a value out of its bounds.
    version = record.version(collection)
    table = cache.columns(collection, version, asked.source, ("scores", measures, asked.options), compute)
    ends = bounds_of(collection, version, asked, bounds, table.record.systems)
    evaluation = Evaluation(collection.slug, asked, measures, table.record.systems, table, ends)
    if not judgments:
        return evaluation
    data, judged_by = cache.read(collection, asked.source, version)
    if not data.queries["key"].equals(table.record.queries["key"]):
        # Queries were imported in between: all arrays must have the same rows.
        return evaluate(collection, asked, beside, bounds, judgments)
    return replace(evaluation, judged_by=judged_by)


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
    return Evaluation(name, asked, measures, data.systems, table, {}, expected, judgments)


def _expected(
    judgments: Judgments, rankings: Mapping[str, Rankings], measures: Iterable[Measure], options: Options
) -> dict[Measure, ModelMeans]:
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


def expected_by_query(collection: Collection, asked: Asked, most: int | None = None) -> dict[str, np.ndarray]:
    """The values by system with unjudged documents at their expected gain, by the model alone: float64[queries].

    The model learns from all systems of the collection, whichever were asked. nan where nothing can be found.
    ValueError where expected values are not defined, and for more than `most` documents by query.
    """
    data, judgments = read(collection, replace(asked, systems=None))
    rankings, scale = [*data.rankings.values()], record.scale(collection)
    pool, level = pool_of(judgments, rankings, asked.measure, asked.options, scale)
    if most is not None and pool.pairs > most:
        raise ValueError(f"{pool.pairs:,} documents by query are too many; the command gate takes any number.")
    values = np.full((len(data.queries), len(data.systems)), np.nan)
    values[pool.number] = query_values(pool, level)
    return dict(zip(data.systems, values.T, strict=True))


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

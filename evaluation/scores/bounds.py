"""What values can still become once the pool is judged, for every query, system and measure with known bounds."""

from dataclasses import fields, replace

import numpy as np

from ratings.models import Collection

from .. import measures as kernel
from .. import record
from ..measures import Bounds, Judgments, Measure, Options
from ..measures.arrays import distinct, pair_key, pair_of
from ..record import Record, Version, cache
from ..record.cache import Columns, Source
from .asked import Asked

ENDS = tuple(each.name for each in fields(Bounds))


def has_bounds(measure: Measure) -> bool:
    """Whether exact bounds are known for the measure."""
    return measure.name == "nDCG"


def bounds_of(
    collection: Collection,
    version: Version,
    asked: Asked,
    measures: tuple[Measure, ...],
    systems: tuple[str, ...],
) -> dict[tuple[Measure, str], Bounds]:
    """The bounds of these measures by (measure, system), by the options of `asked`; empty without a scale."""
    scale = record.scale(collection) if measures else []
    if not scale:
        return {}
    tables = {
        measure: _bounds_table(
            collection, version, asked.source, measure, kernel.effective(measure, asked.options), scale
        )
        for measure in filter(has_bounds, measures)
    }
    return {
        (measure, system): Bounds(**{name: table.of[name, system] for name in ENDS})
        for measure, table in tables.items()
        for system in systems
        if system in table.record.systems
    }


def _bounds_table(
    collection: Collection,
    version: Version,
    source: Source,
    measure: Measure,
    options: Options,
    scale: list[float],
) -> Columns:
    """The arrays of `Bounds` by query, for each system. The pool is always that of all systems."""

    def compute(data: Record, judgments: Judgments) -> dict[tuple[str, str], np.ndarray]:
        pool = _pool(collection, source, data, judgments, measure.cutoff, options)
        columns = {}
        for system, rankings in data.rankings.items():
            ends = kernel.bounds(measure.cutoff, judgments, rankings, options, (scale[0], scale[-1]), pool)
            columns |= {(name, system): getattr(ends, name) for name in ENDS}
        return columns

    name = ("bounds", measure, options, tuple(scale))
    return cache.columns(collection, version, replace(source, systems=None), name, compute)


def _pool(
    collection: Collection,
    source: Source,
    data: Record,
    judgments: Judgments,
    cutoff: int | None,
    options: Options,
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs to be judged, (query, document): the pool, and unjudged documents in the top of any system."""
    pools = [record.pool(collection, data.queries, source.adjudications)]
    pools += [kernel.unjudged(cutoff, judgments, rankings, options) for rankings in data.rankings.values()]
    query, document = (np.concatenate(columns) for columns in zip(*pools, strict=True))
    # Sorted once for all systems: the bounds of each sort the pool again, which is quick then.
    return pair_of(distinct(pair_key(query, document)))

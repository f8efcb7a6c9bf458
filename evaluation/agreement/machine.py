"""How far the grades of a machine agree with those of people. NumPy only.

Each pair counts by the inverse of the chance by which it came into the sample (Hájek's estimate), so that the
figures are about the pool that the sample was drawn from. Intervals resample queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..draws import ALPHA, SEED

NAMES = ("same", "higher", "lower", "bias", "kappa", "linear", "quadratic", "alpha")


@dataclass(frozen=True, eq=False)
class Both:
    """A person's and the machine's grade of one pair: a row for each grade of a person."""

    grades: np.ndarray  # float64[levels], the scale, ascending
    query: np.ndarray  # int64[n]
    person: np.ndarray  # int64[n], the place of the grade on the scale
    machine: np.ndarray  # int64[n]
    weight: np.ndarray  # float64[n], positive

    def only(self, rows: np.ndarray) -> "Both":
        """The rows that bool[n] names."""
        columns = {name: getattr(self, name)[rows] for name in ("query", "person", "machine", "weight")}
        return replace(self, **columns)

    @property
    def by_query(self) -> np.ndarray:
        """The weight of each two grades, float64[queries, levels, levels]: the person's, then the machine's."""
        _, place = np.unique(self.query, return_inverse=True)
        levels = self.grades.size
        cell = (place * levels + self.person) * levels + self.machine
        queries = int(place.max(initial=-1)) + 1
        return np.bincount(cell, self.weight, queries * levels**2).reshape(queries, levels, levels)


@dataclass(frozen=True)
class Figure:
    """A figure with its 95 % interval; nan where there is none."""

    value: float
    low: float
    high: float


def confusion(both: Both) -> np.ndarray:
    """Of the pairs that people gave a grade, the share to which the machine gave each: float64[levels, levels].

    nan where people gave the grade to none.
    """
    table = both.by_query.sum(axis=0)
    given = table.sum(axis=1, keepdims=True)
    return np.divide(table, given, out=np.full(table.shape, np.nan), where=given > 0)


def figures(both: Both, draws: int = ALPHA, seed: int = SEED, level: float = 0.95) -> dict[str, Figure]:
    """The figures by NAMES.

    same, higher and lower: the share of pairs where the machine's grade is the person's, above or below it; bias:
    the mean of machine less person, on the scale; kappa, and weighted by the distance of grades (linear) or by its
    square (quadratic); alpha: Krippendorff's, for grades as numbers (interval).
    """
    tables = both.by_query
    if not len(tables):
        return dict.fromkeys(NAMES, Figure(np.nan, np.nan, np.nan))
    value = _figures(tables.sum(axis=0)[np.newaxis], both.grades)[0]
    low, high = _interval(_figures(_resampled(tables, draws, seed), both.grades), level)
    return {name: Figure(*map(float, row)) for name, *row in zip(NAMES, value, low, high, strict=True)}


def bias_apart(both: Both, groups: Sequence[np.ndarray], draws: int = ALPHA, seed: int = SEED) -> list[Figure]:
    """By how much the bias on each group of rows (bool[n]) differs from that on all rows.

    The intervals hold together at 95 %, by Bonferroni.
    """
    place = NAMES.index("bias")
    whole = both.by_query
    numbers = np.unique(both.query)
    found = []
    for rows in groups:
        part, table = both.only(rows), np.zeros_like(whole)
        table[np.searchsorted(numbers, np.unique(part.query))] = part.by_query
        together = np.stack([table, whole], axis=1)  # resampled by the same queries
        drawn = _resampled(together, draws, seed)
        value, resampled = (
            _figures(each[:, 0], both.grades)[:, place] - _figures(each[:, 1], both.grades)[:, place]
            for each in (together.sum(axis=0)[np.newaxis], drawn)
        )
        low, high = _interval(resampled[:, np.newaxis], 1 - 0.05 / len(groups))
        found.append(Figure(float(value[0]), float(low[0]), float(high[0])))
    return found


def _resampled(tables: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The sum over queries drawn with replacement, float64[draws, ...]; empty for fewer than two queries."""
    queries = len(tables)
    if queries < 2:
        return np.empty((0, *tables.shape[1:]))
    times = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), draws)
    return (times.astype(np.float64) @ tables.reshape(queries, -1)).reshape(draws, *tables.shape[1:])


def _interval(drawn: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The percentile interval of each column. nan where some resamples have no value: it would be too short."""
    if not len(drawn):
        nothing = np.full(drawn.shape[1], np.nan)
        return nothing, nothing
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _figures(tables: np.ndarray, grades: np.ndarray) -> np.ndarray:
    """The figures of each table, float64[tables, figures], of float64[tables, levels, levels]."""
    apart = grades - grades[:, np.newaxis]  # the machine's grade less the person's
    total = tables.sum(axis=(1, 2))
    share = np.divide(tables, total[:, np.newaxis, np.newaxis], out=np.full(tables.shape, np.nan),
                      where=total[:, np.newaxis, np.newaxis] > 0)  # fmt: skip
    columns = [(share * weight).sum(axis=(1, 2)) for weight in (apart == 0, apart > 0, apart < 0, apart)]
    chance = share.sum(axis=2)[:, :, np.newaxis] * share.sum(axis=1)[:, np.newaxis]
    for weight in (apart != 0, np.abs(apart), apart**2):
        seen, expected = (share * weight).sum(axis=(1, 2)), (chance * weight).sum(axis=(1, 2))
        ratio = np.divide(seen, expected, out=np.full(len(tables), np.nan), where=expected > 0)
        columns.append(1 - ratio)
    return np.column_stack([*columns, _alpha(tables, apart)])


def _alpha(tables: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Alpha of each table: each grade of a person and that of the machine beside it are a unit of two ratings."""
    given = tables.sum(axis=1) + tables.sum(axis=2)
    observed = 2 * (tables * apart**2).sum(axis=(1, 2))
    expected = np.einsum("ti,ij,tj->t", given, apart**2, given)
    ratio = np.divide(observed, expected, out=np.full(len(tables), np.nan), where=expected > 0)
    return 1 - (given.sum(axis=1) - 1) * ratio

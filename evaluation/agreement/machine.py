"""Agreement of a machine's grades with those of people. NumPy only.

Each pair is weighted by the inverse of its inclusion probability (Hájek's estimator). The figures are therefore
estimates for the pool from which the sample was drawn. Intervals are by bootstrap over queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..measures.arrays import quotient
from ..significance.draws import ALPHA_DRAWS, SEED

NAMES = ("same", "higher", "lower", "bias", "kappa", "linear", "quadratic", "alpha")


@dataclass(frozen=True, eq=False)
class Paired:
    """Grades of people, each paired with the machine's grade of the same pair."""

    grades: np.ndarray  # float64[levels], the scale, ascending
    query: np.ndarray  # int64[n]
    person: np.ndarray  # int64[n], the place of the grade on the scale
    machine: np.ndarray  # int64[n]
    weight: np.ndarray  # float64[n], positive

    def subset(self, rows: np.ndarray) -> "Paired":
        """The rows where `rows`, bool[n], is true."""
        columns = {name: getattr(self, name)[rows] for name in ("query", "person", "machine", "weight")}
        return replace(self, **columns)

    @property
    def by_query(self) -> np.ndarray:
        """The weighted confusion matrix of each query, float64[queries, levels, levels]: person, machine."""
        _, place = np.unique(self.query, return_inverse=True)
        levels = self.grades.size
        cell = (place * levels + self.person) * levels + self.machine
        queries = int(place.max(initial=-1)) + 1
        return np.bincount(cell, self.weight, queries * levels**2).reshape(queries, levels, levels)


@dataclass(frozen=True)
class Figure:
    """A figure with its 95 % interval; nan where it is undefined."""

    value: float
    low: float
    high: float


def confusion(paired: Paired) -> np.ndarray:
    """The confusion matrix with rows that add up to 1, float64[levels, levels]: the person's grade, the machine's.

    A row is nan where people never gave its grade.
    """
    table = paired.by_query.sum(axis=0)
    return quotient(table, table.sum(axis=1, keepdims=True))


def figures(paired: Paired, draws: int = ALPHA_DRAWS, seed: int = SEED) -> dict[str, Figure]:
    """The figures of agreement, by NAMES.

    same, higher, lower: the share of pairs where the machine's grade equals the person's, is above it, is below
    it; bias: the mean of machine minus person, on the scale; kappa: Cohen's, also weighted by the distance of the
    grades (linear) and by its square (quadratic); alpha: Krippendorff's, for an interval scale.
    """
    tables = paired.by_query
    if not len(tables):
        return dict.fromkeys(NAMES, Figure(np.nan, np.nan, np.nan))
    values = _figures(tables.sum(axis=0)[np.newaxis], paired.grades)[0]  # of one table, that of all queries
    lows, highs = _interval(_figures(_resampled(tables, draws, seed), paired.grades), 0.95)
    return {name: Figure(*map(float, row)) for name, *row in zip(NAMES, values, lows, highs, strict=True)}


def bias_differences(
    paired: Paired, groups: Sequence[np.ndarray], draws: int = ALPHA_DRAWS, seed: int = SEED
) -> list[Figure]:
    """The bias on each group of rows (bool[n]) minus the bias on all rows.

    The intervals hold simultaneously at 95 %, by Bonferroni's correction.
    """
    bias_column = NAMES.index("bias")
    all_tables = paired.by_query  # float64[queries, levels, levels], person by machine
    queries = np.unique(paired.query)  # the query of each of these tables

    def difference(tables: np.ndarray) -> np.ndarray:
        """The bias by table 0 minus that by table 1, float64[n]. tables: float64[n, 2, levels, levels]."""
        of_group, of_all = _figures(tables[:, 0], paired.grades), _figures(tables[:, 1], paired.grades)
        return of_group[:, bias_column] - of_all[:, bias_column]

    differences = []
    for rows in groups:
        group = paired.subset(rows)
        group_tables = np.zeros_like(all_tables)  # a query without a row in the group keeps zeros
        group_tables[np.searchsorted(queries, np.unique(group.query))] = group.by_query
        # In one array, float64[queries, 2, levels, levels], so that both are resampled by the same queries.
        both_tables = np.stack([group_tables, all_tables], axis=1)
        value = difference(both_tables.sum(axis=0, keepdims=True))[0]  # of all queries
        drawn = difference(_resampled(both_tables, draws, seed))  # float64[draws]
        low, high = _interval(drawn, 1 - 0.05 / len(groups))
        differences.append(Figure(float(value), float(low), float(high)))
    return differences


def _resampled(tables: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The sums over resampled queries, float64[draws, ...]; empty for fewer than two queries."""
    queries = len(tables)
    if queries < 2:
        return np.empty((0, *tables.shape[1:]))
    times = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), draws)
    return (times.astype(np.float64) @ tables.reshape(queries, -1)).reshape(draws, *tables.shape[1:])


def _interval(drawn: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The percentile interval over the draws: low and high end. nan where a resample has no value.

    drawn: float64[draws], or float64[draws, columns] for an interval of each column.
    """
    if not len(drawn):
        undefined = np.full(drawn.shape[1:], np.nan)
        return undefined, undefined
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _figures(tables: np.ndarray, grades: np.ndarray) -> np.ndarray:
    """The figures of each confusion matrix, float64[tables, figures]. tables: float64[tables, levels, levels]."""
    apart = grades - grades[:, np.newaxis]  # the machine's grade minus the person's, [person, machine]
    # Each cell's part of its table, float64[tables, levels, levels].
    share = quotient(tables, tables.sum(axis=(1, 2), keepdims=True))
    # In the order of NAMES: here same, higher, lower and bias, below the three kappas, and last alpha.
    columns = [(share * weight).sum(axis=(1, 2)) for weight in (apart == 0, apart > 0, apart < 0, apart)]
    # The share of each cell if person and machine were independent.
    chance = share.sum(axis=2)[:, :, np.newaxis] * share.sum(axis=1)[:, np.newaxis]
    # A kappa is 1 - observed / expected disagreement. The weight of a cell says how much it disagrees.
    for weight in (apart != 0, np.abs(apart), apart**2):
        observed = (share * weight).sum(axis=(1, 2))
        expected = (chance * weight).sum(axis=(1, 2))
        columns.append(1 - quotient(observed, expected))
    return np.column_stack([*columns, _alpha(tables, apart)])


def _alpha(tables: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Krippendorff's alpha of each table, float64[tables]: a person's grade and the machine's are one unit."""
    given = tables.sum(axis=1) + tables.sum(axis=2)
    observed = 2 * (tables * apart**2).sum(axis=(1, 2))
    expected = np.einsum("ti,ij,tj->t", given, apart**2, given)
    return 1 - (given.sum(axis=1) - 1) * quotient(observed, expected)

"""What is known of a (query, document) pair before it is judged: where systems rank it, what machines say of it.

NumPy only.
"""

from dataclasses import dataclass

import numpy as np

from ..measures import Options
from ..measures.discounts import discount

DEPTH = 100  # ranks below count as not retrieved
USUAL = Options()  # the features of a rank are the same for all options of the measure
MACHINE = (
    0.5  # prior precision of what a machine's grade tells: less sure to be little than what a system's rank does
)
MOST_GRADES = 8  # of a machine: of more, so many parts with about as many pairs each


@dataclass(frozen=True, eq=False)
class Features:
    """Standardised features of all pairs, and the normal prior of their coefficients in the first step."""

    values: np.ndarray  # float64[pairs, features]; the first is the intercept
    mean: np.ndarray  # float64[features]
    precision: np.ndarray  # float64[features]


def features(rank: np.ndarray, cutoff: int, depth: int, machine: np.ndarray | None = None) -> Features:
    """The features of pairs with these ranks, int64[pairs, systems]; ranks beyond `depth` are "not retrieved".

    An intercept; seven that all systems share (mean discount, its logarithm, share of the systems that retrieve,
    largest discount, share that has it above the cutoff, logarithm of the best rank, whether any has it above the
    cutoff); and for each system its discount over the root of the number of systems that retrieve.
    """
    retrieved, above = rank <= depth, rank <= cutoff
    weight = np.where(retrieved, discount(rank, USUAL), 0.0)
    by, mean, systems = retrieved.sum(axis=1), weight.mean(axis=1), rank.shape[1]
    general = np.column_stack(
        [
            mean,
            np.log(0.02 + mean),
            by / systems,
            weight.max(axis=1),
            above.mean(axis=1),
            np.log(rank.min(axis=1)),
            above.any(axis=1),
        ]
    )
    own = weight / np.sqrt(np.maximum(by, 1))[:, np.newaxis]
    none = np.zeros(systems)
    said = [] if machine is None else [_said(column) for column in machine.T]
    machines = sum(columns.shape[1] for columns in said)
    return Features(
        values=np.hstack([np.ones((len(rank), 1)), _standardised(general), _standardised(own), *said]),
        mean=np.concatenate([[-1.0, 0.4, 0.0, 0.0, 0.2, 0.2, 0.0, 0.0], none, np.zeros(machines)]),
        precision=np.concatenate([[0.25], np.full(general.shape[1], 1.0), none + 2.0, np.full(machines, MACHINE)]),
    )


def _said(grade: np.ndarray) -> np.ndarray:
    """What one machine's grades tell, float64[pairs, any], no column where they tell nothing.

    For each of its grades but the least, whether it gave that or a higher one; and whether it gave none, where
    the others are at their means: so a missing grade says nothing about the rest.
    """
    given = ~np.isnan(grade)
    grades = np.unique(grade[given])
    if len(grades) > MOST_GRADES:
        grades = np.unique(np.quantile(grade[given], np.arange(MOST_GRADES) / MOST_GRADES, method="lower"))
    columns = np.zeros((len(grade), max(len(grades) - 1, 0)))
    if columns.shape[1]:
        columns[given] = _standardised(grade[given, np.newaxis] >= grades[1:])
    if not given.all() and given.any():
        columns = np.column_stack([columns, _standardised(~given[:, np.newaxis])])
    return columns


def _standardised(columns: np.ndarray) -> np.ndarray:
    return (columns - columns.mean(axis=0)) / (columns.std(axis=0) + 1e-9)

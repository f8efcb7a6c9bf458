"""What is known of a (query, document) pair before it is judged: where which systems rank it. NumPy only."""

from dataclasses import dataclass

import numpy as np

from ..measures import Options
from ..measures.discounts import discount

DEPTH = 100  # ranks below count as not retrieved
USUAL = Options()  # the features of a rank are the same for all options of the measure


@dataclass(frozen=True, eq=False)
class Features:
    """Standardised features of all pairs, and the normal prior of their coefficients in the first step."""

    values: np.ndarray  # float64[pairs, features]; the first is the intercept
    mean: np.ndarray  # float64[features]
    precision: np.ndarray  # float64[features]


def features(rank: np.ndarray, cutoff: int, depth: int) -> Features:
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
    return Features(
        values=np.hstack([np.ones((len(rank), 1)), _standardised(general), _standardised(own)]),
        mean=np.concatenate([[-1.0, 0.4, 0.0, 0.0, 0.2, 0.2, 0.0, 0.0], none]),
        precision=np.concatenate([[0.25], np.full(general.shape[1], 1.0), none + 2.0]),
    )


def _standardised(columns: np.ndarray) -> np.ndarray:
    return (columns - columns.mean(axis=0)) / (columns.std(axis=0) + 1e-9)

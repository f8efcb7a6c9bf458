"""The chance of each system to be the best, and of a wrong order, while judgments are missing. NumPy only."""

import numpy as np

from ..significance.draws import ORDER_DRAWS, SEED

LEAST_DIFFERENCE = 0.02  # of two means: in a smaller one the order does not matter
MOST_CHANCE_OF_WRONG = 0.1  # an order is settled where the chance that it is wrong is no larger


def order_chances(
    mean: np.ndarray, covariance: np.ndarray, draws: int = ORDER_DRAWS, seed: int = SEED
) -> tuple[float, np.ndarray]:
    """The chance of a wrong order, and the chance of each system to be the best, float64[systems].

    Means are drawn from a normal distribution with this mean and covariance. A draw has a wrong order if any two
    systems are LEAST_DIFFERENCE or more apart in it and `mean` does not have them in the same order. Two systems
    that are equal in `mean` have no order there, so such a difference is wrong whichever is the better one in the
    draw. mean: float64[systems]; covariance: float64[systems, systems].
    """
    systems = len(mean)
    values, vectors = np.linalg.eigh(covariance)
    # root @ root.T is the covariance. Rounding can make an eigenvalue fall below 0.
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn = mean + np.random.default_rng(seed).standard_normal((draws, systems)) @ root.T  # [draws, systems]
    first, second = np.triu_indices(systems, 1)  # each two systems: the columns of the arrays [draws, pairs] below
    difference = drawn[:, first] - drawn[:, second]
    swapped = np.sign(difference) != np.sign(mean[first] - mean[second])
    wrong = swapped & (np.abs(difference) >= LEAST_DIFFERENCE)
    best = np.bincount(drawn.argmax(axis=1), minlength=systems) / draws
    return float(wrong.any(axis=1).mean()), best

"""The chance of each system to be the best, and of a wrong order, while judgments are missing. NumPy only."""

import numpy as np

from ..significance.draws import ORDERS, SEED

APART = 0.02  # smaller differences do not matter
WRONG = 0.1  # the order is settled at this chance of a wrong order, or less


def settled(
    mean: np.ndarray, covariance: np.ndarray, apart: float = APART, draws: int = ORDERS, seed: int = SEED
) -> tuple[float, np.ndarray]:
    """The chance that two systems at least `apart` are in the wrong order, and the chances to be the best.

    mean: float64[systems]; covariance: float64[systems, systems]. The chances to be the best: float64[systems].
    """
    systems = len(mean)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn = mean + np.random.default_rng(seed).standard_normal((draws, systems)) @ root.T
    first, second = np.triu_indices(systems, 1)
    difference = drawn[:, first] - drawn[:, second]
    wrong = (np.sign(difference) != np.sign(mean[first] - mean[second])) & (np.abs(difference) >= apart)
    return float(wrong.any(axis=1).mean()), np.bincount(drawn.argmax(axis=1), minlength=systems) / draws

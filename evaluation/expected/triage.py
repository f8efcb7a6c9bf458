"""Triage: higher sampling rates for pairs on which people and machine are likely to disagree. NumPy only.

Only the rates of a round change, and rates are stored. Every chance stays known, and the estimate unbiased.
"""

import numpy as np

from ..measures.gains import gain
from .model import fit
from .pool import Pool

LARGEST_FACTOR = 5.0  # factor of the rate of a pair with certain disagreement, against one with certain agreement


def rate_factors(pool: Pool, level: np.ndarray) -> np.ndarray:
    """The factor of each pair's sampling rate, float64[pairs], from 1 to LARGEST_FACTOR.

    The factor is linear in the chance of disagreement: that people give another level than a machine did, as a
    mean over the machines that graded the pair. A level is an index of the pool's gains, to which grades are
    turned. The chance of each level by people comes from the model, fitted to the judged pairs. A pair without a
    machine grade gets the mean chance of the pairs with one. level: int64[pairs], by people, -1 = unjudged.
    """
    has_grade = ~np.isnan(pool.machine)
    # The level nearest to each machine's grade, int64[pairs, machines]; meaningless where there is no grade.
    machine_level = np.abs(gain(pool.machine, pool.options)[..., np.newaxis] - pool.gains).argmin(axis=-1)
    # The chance of each level or a higher one, float64[pairs, levels + 1]: 1 for the lowest, 0 beyond the highest.
    at_least = np.pad(fit(pool, level).chances(), ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
    of_level = -np.diff(at_least)  # the chance of each level, float64[pairs, levels]
    # The chance of each machine's level, float64[pairs, machines].
    agreement = np.take_along_axis(of_level, machine_level, axis=1)
    is_graded = has_grade.any(axis=1)
    disagreement = np.zeros(pool.pairs)
    disagreement[is_graded] = 1 - agreement[is_graded].mean(axis=1, where=has_grade[is_graded])
    disagreement[~is_graded] = disagreement[is_graded].mean() if is_graded.any() else 0.0
    return 1 + (LARGEST_FACTOR - 1) * np.clip(disagreement, 0, 1)

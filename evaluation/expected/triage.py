"""Triage: higher sampling rates for pairs on which people and machine are likely to disagree. NumPy only.

Only the rates of a round change, and rates are stored. Every chance stays known, and the estimate unbiased.
"""

import numpy as np

from ..measures.gains import gain
from .model import fit
from .pool import Pool

MOST = 5.0  # factor of the rate of a pair with certain disagreement, against one with certain agreement


def rate_factors(pool: Pool, level: np.ndarray) -> np.ndarray:
    """The factor of each pair's sampling rate, float64[pairs], from 1 to MOST.

    It is linear in the chance that people's grade differs from the machines' grades. The model learns that chance
    from the pairs with both. level: int64[pairs], -1 = unjudged. A pair without a machine grade has the mean
    chance of the others.
    """
    has_grade = ~np.isnan(pool.machine)
    nearest = np.abs(gain(pool.machine, pool.options)[..., np.newaxis] - pool.gains).argmin(axis=-1)
    reached = np.pad(fit(pool, level).chances(), ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
    of_level = -np.diff(reached)  # the chance of each level, float64[pairs, levels]
    agrees = np.take_along_axis(of_level, nearest, axis=1)
    graded = has_grade.any(axis=1)
    differs = np.zeros(pool.pairs)
    differs[graded] = 1 - agrees[graded].mean(axis=1, where=has_grade[graded])
    differs[~graded] = differs[graded].mean() if graded.any() else 0.0
    return 1 + (MOST - 1) * np.clip(differs, 0, 1)

"""Pairs that people are likely to grade otherwise than a machine come earlier. NumPy only.

Only the rates of a round change, and these are stored: so every chance stays known, and the estimate without bias.
"""

import numpy as np

from ..measures.gains import gain
from .model import fit
from .pool import Pool

MOST = 5.0  # times as readily a pair is drawn on which they surely differ as one on which they surely agree


def readiness(pool: Pool, level: np.ndarray) -> np.ndarray:
    """By what factor each pair is to be drawn more readily, float64[pairs], from 1 to MOST.

    It grows with the chance that people's grade is another one than that of the machines of the pool, which the
    model learns from the pairs that both have graded. level: int64[pairs], -1 = unjudged. A pair that no machine
    graded has the mean of the others.
    """
    given = ~np.isnan(pool.machine)
    nearest = np.abs(gain(pool.machine, pool.options)[..., np.newaxis] - pool.gains).argmin(axis=-1)
    reached = np.pad(fit(pool, level).chances(), ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
    of_level = -np.diff(reached)  # the chance of each level, float64[pairs, levels]
    agrees = np.take_along_axis(of_level, nearest, axis=1)
    graded = given.any(axis=1)
    differs = np.zeros(pool.pairs)
    differs[graded] = 1 - agrees[graded].mean(axis=1, where=given[graded])
    differs[~graded] = differs[graded].mean() if graded.any() else 0.0
    return 1 + (MOST - 1) * np.clip(differs, 0, 1)

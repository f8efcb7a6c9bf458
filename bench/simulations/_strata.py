"""Strata of simulated logs."""

import numpy as np

from ratings.importing.sampling.drawing import Stratum


def stratum_of(counts: np.ndarray) -> Stratum:
    """The stratum of queries with these counts of searches, int[queries] in any order."""
    values, queries = np.unique(counts, return_counts=True)
    return Stratum("", values[::-1], queries[::-1])

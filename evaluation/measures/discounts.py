"""The discount of a rank."""

import numpy as np

from .options import Options

ROWS_FOR_TABLE = 100_000  # rows from which a table by rank is faster than a logarithm for each


def discount(rank: np.ndarray, options: Options) -> np.ndarray:
    """The discount D(i) of each rank i (from 1), float64 of the same shape.

    log_shift: D(i) = log b / log(i + 1); for b > 2 the first ranks weigh more than 1.
    jk2002 (Järvelin & Kekäläinen 2002): D(i) = 1 up to rank b, then log b / log i.
    """
    if rank.size > ROWS_FOR_TABLE and rank.max() < rank.size // 2:
        return discount(np.arange(1, rank.max() + 1), options)[rank - 1]
    shifted = rank + 1 if options.discount == "log_shift" else np.maximum(rank, options.log_base)
    # Base 2 on both sides, because log2 is exact at powers of two: the discount of rank 3 is exactly 0.5.
    return np.log2(options.log_base) / np.log2(shifted)

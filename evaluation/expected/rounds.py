"""Rounds of documents to judge next: some that tell most, and some at random with known chances. NumPy only.

The random part is a bottom-m sample: each document gets an exponential key, and the m least keys are drawn. Given
the next key, the threshold, each document was drawn with a chance that is known, and independently of the others
(Cohen and Kaplan, Summarizing data using bottom-k sketches, PODC 2007). So is every beginning of the sample.
"""

from dataclasses import dataclass

import numpy as np

from .influence import Expectation

GREEDY = 1 / 3  # of a round
BY_SCORE, IN_TOP, ELSEWHERE = 0.6, 0.3, 0.1  # of the rates: by the root of the score, in the top k, in no top k
OPEN = 0.02  # the least weight of a pair of systems, however far apart
LEVELS = 0.25  # the weight of each system's own mean, against that of the differences
FLOOR = 0.004  # least standard deviation of a difference that the weights of pairs are computed from


@dataclass(frozen=True, eq=False)
class Round:
    """Pairs to judge. `greedy` were chosen with certainty, `drawn` at random, in the order of their keys."""

    greedy: np.ndarray  # int64[g]: rows of the pool
    drawn: np.ndarray  # int64[m]
    rate: np.ndarray  # float64[m]: how readily each was drawn
    keys: np.ndarray  # float64[m + 1], ascending; the last is the threshold, inf where all were drawn
    precision: float  # what the round weighs, known before any answer

    def chance(self, answered: int | None = None) -> np.ndarray:
        """The chance that each drawn pair had, float64[m]; of the first `answered`, as a sample of their own."""
        last = len(self.drawn) if answered is None else answered
        return -np.expm1(-self.rate[:last] * self.keys[last])


def outside(row: int) -> Round:
    """The round that a judgment outside all rounds makes: certain, and no evidence about other documents."""
    return Round(np.array([row]), np.zeros(0, np.int64), np.zeros(0), np.zeros(1), 0.0)


def objective(mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """What is wanted of the means, as a factor R: less of E|R'error|². float64[systems, systems].

    mean: float64[systems]; spread: float64[systems, systems], standard deviations of the differences. Two systems
    weigh more the less is known about which of them is better.
    """
    systems = len(mean)
    apart = (mean[:, np.newaxis] - mean) / spread
    weight = np.exp(-0.5 * np.minimum(apart**2, 18)) + OPEN
    np.fill_diagonal(weight, 0)
    if systems > 1:
        weight *= systems * (systems - 1) / weight.sum()
    laplacian = (np.diag(weight.sum(axis=1)) - weight) / systems
    values, vectors = np.linalg.eigh(laplacian + LEVELS * np.eye(systems))
    return vectors * np.sqrt(np.maximum(values, 0))


def scores(
    expectation: Expectation, chances: np.ndarray, unjudged: np.ndarray, calibration: float = 1.0
) -> np.ndarray:
    """How much each unjudged pair is expected to tell, float64[unjudged]; `unjudged` are rows of the pool.

    calibration: how much larger than expected the squared changes have been so far.
    """
    covariance = calibration * expectation.covariance(unjudged, chances)
    variance = np.diag(covariance)
    spread = variance[:, np.newaxis] + variance - 2 * covariance
    factor = objective(expectation.value.mean(axis=0), np.sqrt(np.maximum(spread, 0) + FLOOR**2))
    return np.maximum(expectation.size(unjudged, chances, factor), 0)


def rates(score: np.ndarray, top: np.ndarray) -> np.ndarray:
    """How readily each pair is to be drawn, float64[pairs], positive.

    The root of the score is the best choice for the estimate; the rest goes to all, so that every chance is known
    and none is tiny. top: bool[pairs], whether any system has the pair above the cutoff.
    """
    root = np.sqrt(np.maximum(score, 1e-30))
    to_top, elsewhere = IN_TOP / max(top.sum(), 1), ELSEWHERE / max((~top).sum(), 1)
    return BY_SCORE * root / root.sum() + np.where(top, to_top, elsewhere) + 1e-12


def draw_round(
    rows: np.ndarray, score: np.ndarray, rate: np.ndarray, size: int, generator: np.random.Generator
) -> Round:
    """A round of `size` of these rows of the pool, or of all if there are fewer; scores and rates beside them."""
    size = min(size, len(rows))
    certain = np.argsort(-score)[: round(GREEDY * size) if size < len(rows) else 0]
    rest = np.delete(np.arange(len(rows)), certain)
    size -= len(certain)
    keys = generator.exponential(size=len(rest)) / rate[rest]
    order = np.argsort(keys)[: size + 1]
    keys = keys[order] if len(rest) > size else np.append(keys[order], np.inf)
    drawn = rest[order[:size]]
    chance = -np.expm1(-rate[rest] * size / rate[rest].sum())
    variance = (score[rest] * (1 - chance) / chance).sum()
    return Round(rows[certain], rows[drawn], rate[drawn], keys, 1 / max(variance, 1e-14))

"""The Dawid-Skene model: probabilities of the true grades, with an error model for each rater. NumPy only.

A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
Statistics 28 (1979), 20-28.
"""

from dataclasses import dataclass

import numpy as np

from ..measures.arrays import groups
from ..measures.refusal import WrongOption

TOLERANCE = 1e-4  # the largest change of a probability at convergence
MOST_ROUNDS = 300
MOST_CELLS = 50_000_000  # ratings times classes, for the sake of time and memory


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of `estimate`."""

    probability: np.ndarray  # float64[classes, pairs]; each column sums to 1

    def most_probable(self) -> np.ndarray:
        """The most probable class of each pair, int64[pairs]; the lowest of those equal to nine decimals."""
        return np.argmax(self.probability >= self.probability.max(axis=0) - 1e-9, axis=0)


@dataclass(frozen=True, eq=False)
class _Votes:
    """Ratings sorted by pair. A call is a (rater, label) that occurs."""

    start: np.ndarray  # int64[pairs]: the first rating of each pair
    length: np.ndarray  # int64[pairs]: how many ratings it has
    call: np.ndarray  # int64[n]: the call of each rating
    rater: np.ndarray  # int64[calls], from 0
    label: np.ndarray  # int64[calls]


def estimate(
    pair: np.ndarray, rater: np.ndarray, label: np.ndarray, classes: int, smoothing: float | None = None
) -> Estimate:
    """The probability of each class for each pair, by EM from the shares of votes.

    `pair` (int64[n]) ascends from 0 without gaps, `rater` (int64[n]) is any number, `label`
    (int64[n]) is from 0 to classes - 1; there is at least one row. A rater may rate a pair more than once.

    The error rates of a rater are smoothed towards those of all raters: for each true class, `smoothing` imagined
    ratings (None: as many as there are classes), distributed as those of all raters, are added. Where no pair has
    two ratings, each pair keeps its label. ValueError above MOST_CELLS.
    """
    if len(label) * classes > MOST_CELLS:
        raise WrongOption(
            "rule",
            f"dawid_skene cannot weigh {len(label):,} ratings of {classes:,} different grades; the product can be"
            f" {MOST_CELLS:,} at most. Use another rule, such as median.",
        )
    votes = _votes(pair, rater, label, classes)
    smoothing = classes if smoothing is None else smoothing
    probability = np.array([np.bincount(pair[label == c], minlength=len(votes.start)) for c in range(classes)])
    probability = probability / votes.length
    for _ in range(MOST_ROUNDS):
        before = probability
        probability = _truth(votes, before.mean(axis=1), _errors(votes, before, smoothing))
        if np.abs(probability - before).max() <= TOLERANCE:
            break
    return Estimate(probability)


def _votes(pair: np.ndarray, rater: np.ndarray, label: np.ndarray, classes: int) -> _Votes:
    start, length = groups(pair)
    place = np.unique(rater, return_inverse=True)[1]
    calls, call = np.unique(place * classes + label, return_inverse=True)
    return _Votes(start, length, call, calls // classes, calls % classes)


def _errors(votes: _Votes, probability: np.ndarray, smoothing: float) -> np.ndarray:
    """The probability of each call where each class is true, float64[classes, calls]."""
    classes, calls = len(probability), len(votes.label)
    errors = np.empty((classes, calls))
    for truth, share in enumerate(probability):
        expected_calls = np.bincount(votes.call, np.repeat(share, votes.length), calls)
        by_all = np.bincount(votes.label, expected_calls, classes)
        by_all /= by_all.sum() or 1
        of_rater = np.bincount(votes.rater, expected_calls)[votes.rater] + smoothing
        # For a class that a rater never met, the rates of all raters are used.
        errors[truth] = by_all[votes.label]
        np.divide(expected_calls + smoothing * errors[truth], of_rater, out=errors[truth], where=of_rater > 0)
    return errors


def _truth(votes: _Votes, prevalence: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """The probability of each class, given the ratings of the pair, float64[classes, pairs]."""
    # log(0) = -inf is right: an impossible label excludes the class. Some class is always possible, because the
    # error rates were estimated from these ratings.
    with np.errstate(divide="ignore"):
        errors, weight = np.log(errors), np.log(prevalence)
    likely = weight[:, None] + np.array([np.add.reduceat(row[votes.call], votes.start) for row in errors])
    likely = np.exp(likely - likely.max(axis=0))
    return likely / likely.sum(axis=0)

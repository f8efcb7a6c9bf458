"""What the true grades most probably are, when each rater errs in their own way. NumPy only.

A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
Statistics 28 (1979), 20-28.
"""

from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-4  # by how much a probability may still move in the last round
MOST_ROUNDS = 300
MOST_CELLS = 50_000_000  # ratings times classes: what a round works through, and what fits into memory


@dataclass(frozen=True, eq=False)
class Estimate:
    probability: np.ndarray  # float64[classes, pairs]; each column adds up to 1
    prevalence: np.ndarray  # float64[classes]; adds up to 1
    converged: bool  # False where MOST_ROUNDS were too few

    def most_probable(self) -> np.ndarray:
        """int64[pairs]: the most probable class; of those that are equal to nine decimals the lowest."""
        return np.argmax(self.probability >= self.probability.max(axis=0) - 1e-9, axis=0)


@dataclass(frozen=True, eq=False)
class _Votes:
    """Ratings sorted by pair. A call is one label by one rater, however often it was given."""

    start: np.ndarray  # int64[pairs]: the first rating of each pair
    length: np.ndarray  # int64[pairs]: how many ratings it has
    call: np.ndarray  # int64[n]
    rater: np.ndarray  # int64[calls], from 0
    label: np.ndarray  # int64[calls]


def estimate(
    pair: np.ndarray, rater: np.ndarray, label: np.ndarray, classes: int, smoothing: float | None = None
) -> Estimate:
    """How probable each class is to be the truth of each pair: EM, begun with the share of votes.

    `pair` (int64[n]) counts from 0 and ascends without a gap, `rater` (int64[n]) is any number, `label`
    (int64[n]) is from 0 to classes - 1; there is at least one row. A rater may rate a pair more than once.

    A rater of few ratings is taken to err as the others do: what they said where the truth is a certain class is
    joined by `smoothing` imagined ratings (None: as many as there are classes) that are spread as those of all
    raters together. Where no pair has two ratings nothing can be learnt, and what was rated stays. ValueError
    where there is too much to weigh.
    """
    if len(label) * classes > MOST_CELLS:
        raise ValueError(
            f"dawid_skene cannot weigh {len(label):,} ratings of {classes:,} different grades; the product can be"
            f" {MOST_CELLS:,} at most. Use another rule, such as median"
        )
    votes = _votes(pair, rater, label, classes)
    smoothing = classes if smoothing is None else smoothing
    probability = np.array([np.bincount(pair[label == c], minlength=len(votes.start)) for c in range(classes)])
    probability = probability / votes.length
    for _ in range(MOST_ROUNDS):
        before = probability
        probability = _truth(votes, before.mean(axis=1), _errors(votes, before, smoothing))
        converged = bool(np.abs(probability - before).max() <= TOLERANCE)
        if converged:
            break
    return Estimate(probability, probability.mean(axis=1), converged)


def _votes(pair: np.ndarray, rater: np.ndarray, label: np.ndarray, classes: int) -> _Votes:
    start = np.flatnonzero(np.diff(pair, prepend=-1))
    place = np.unique(rater, return_inverse=True)[1]
    calls, call = np.unique(place * classes + label, return_inverse=True)
    return _Votes(start, np.diff(np.append(start, len(pair))), call, calls // classes, calls % classes)


def _errors(votes: _Votes, probability: np.ndarray, smoothing: float) -> np.ndarray:
    """float64[classes, calls]: how often a rater says this label where the truth is that class."""
    classes, calls = len(probability), len(votes.label)
    errors = np.empty((classes, calls))
    for truth, share in enumerate(probability):
        said = np.bincount(votes.call, np.repeat(share, votes.length), calls)
        by_all = np.bincount(votes.label, said, classes)
        by_all /= by_all.sum() or 1
        of_rater = np.bincount(votes.rater, said)[votes.rater] + smoothing
        # Of a class that a rater never met nothing is known but what the others say.
        errors[truth] = by_all[votes.label]
        np.divide(said + smoothing * errors[truth], of_rater, out=errors[truth], where=of_rater > 0)
    return errors


def _truth(votes: _Votes, prevalence: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """float64[classes, pairs]: how probable each class is, given what was said of the pair."""
    # The logarithm of 0 is the right one here: what never happens outweighs everything. Some class is always
    # possible, because the errors were counted where it was.
    with np.errstate(divide="ignore"):
        errors, weight = np.log(errors), np.log(prevalence)
    likely = weight[:, None] + np.array([np.add.reduceat(row[votes.call], votes.start) for row in errors])
    likely = np.exp(likely - likely.max(axis=0))
    return likely / likely.sum(axis=0)

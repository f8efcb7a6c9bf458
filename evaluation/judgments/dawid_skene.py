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
class _Votes:
    """Ratings sorted by pair. Error rates have a column for each (rater, label) that occurs."""

    start: np.ndarray  # int64[pairs]: the first rating of each pair
    length: np.ndarray  # int64[pairs]: how many ratings it has
    column: np.ndarray  # int64[n]: the column of each rating
    rater_of_column: np.ndarray  # int64[columns], from 0
    label_of_column: np.ndarray  # int64[columns]


def estimate(
    pair: np.ndarray, rater: np.ndarray, label: np.ndarray, classes: int, smoothing: float | None = None
) -> np.ndarray:
    """The probability of each class to be the true one, float64[classes, pairs]; each column sums to 1.

    By EM (expectation maximisation) from the shares of votes: in turn the error rates of raters from the
    probabilities of classes, and these from the error rates. A class is a grade, as a number from 0. The label of
    a rating is the class that the rater chose.

    `pair` (int64[n]) ascends from 0 without gaps, `rater` (int64[n]) is any number, `label` (int64[n]) is from 0
    to classes - 1; there is at least one row. A rater may rate a pair more than once.

    The error rates of a rater are smoothed towards those of all raters: for each true class, `smoothing` imagined
    ratings (None: as many as there are classes), distributed as those of all raters, are added. Where no pair has
    two ratings, the most probable class of each pair is the label of its only rating. ValueError above MOST_CELLS.
    """
    if len(label) * classes > MOST_CELLS:
        raise WrongOption(
            "rule",
            f"dawid_skene cannot weigh {len(label):,} ratings of {classes:,} different grades; the product can be"
            f" {MOST_CELLS:,} at most. Use another rule, such as median.",
        )
    votes = _votes(pair, rater, label, classes)
    smoothing = classes if smoothing is None else smoothing
    # How many ratings of each pair have each label, [classes, pairs]: their shares are the first probabilities.
    counts = [np.bincount(pair[label == each], minlength=len(votes.start)) for each in range(classes)]
    probability = np.array(counts) / votes.length
    for _ in range(MOST_ROUNDS):
        before = probability
        prevalence = before.mean(axis=1)  # the share of pairs of each class
        probability = _truth(votes, prevalence, _errors(votes, before, smoothing))
        if np.abs(probability - before).max() <= TOLERANCE:
            break
    return probability


def most_probable(probability: np.ndarray) -> np.ndarray:
    """The most probable class of each pair, int64[pairs]; the lowest of those equal to nine decimals.

    probability: float64[classes, pairs].
    """
    return np.argmax(probability >= probability.max(axis=0) - 1e-9, axis=0)


def _votes(pair: np.ndarray, rater: np.ndarray, label: np.ndarray, classes: int) -> _Votes:
    """The votes, from arguments as of `estimate`."""
    start, length = groups(pair)
    place = np.unique(rater, return_inverse=True)[1]
    occurring, column = np.unique(place * classes + label, return_inverse=True)
    return _Votes(start, length, column, occurring // classes, occurring % classes)


def _errors(votes: _Votes, probability: np.ndarray, smoothing: float) -> np.ndarray:
    """The probability that a rater gives each label where each class is true, float64[classes, columns].

    A column is a (rater, label). Its probability is (its count + smoothing × rate of the label among all raters) /
    (count of all ratings of the rater + smoothing). probability: float64[classes, pairs].
    """
    classes, columns = len(probability), len(votes.label_of_column)
    errors = np.empty((classes, columns))
    for truth, probability_of_truth in enumerate(probability):
        # The weight of a rating is the probability of its pair, as ratings are sorted by pair. Their sum by column
        # is the expected number of ratings in it where `truth` is the true class of their pair.
        weight_of_rating = np.repeat(probability_of_truth, votes.length)
        count = np.bincount(votes.column, weight_of_rating, columns)
        overall = np.bincount(votes.label_of_column, count, classes)
        overall /= overall.sum() or 1  # the rate of each label among all raters; 0 where no pair is of this class
        rate_of_all = overall[votes.label_of_column]
        count_of_rater = np.bincount(votes.rater_of_column, count)
        total = count_of_rater[votes.rater_of_column] + smoothing
        # The rate of all raters stays where smoothing is 0 and a rater has no rating of this class.
        errors[truth] = rate_of_all
        np.divide(count + smoothing * rate_of_all, total, out=errors[truth], where=total > 0)
    return errors


def _truth(votes: _Votes, prevalence: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """The probability of each class, given the ratings of the pair, float64[classes, pairs].

    prevalence: float64[classes], the share of pairs of each class; errors: float64[classes, columns], the
    probability of each (rater, label) where the class is true. `votes.column` is the column of each rating.
    """
    # log(0) = -inf is right: an impossible label excludes the class. Some class is always possible, because the
    # error rates were estimated from these ratings.
    with np.errstate(divide="ignore"):
        log_errors, log_prior = np.log(errors), np.log(prevalence)
    # The sum of the log errors of all ratings of a pair: reduceat adds up from one start to the next.
    log_likelihood = np.array([np.add.reduceat(row[votes.column], votes.start) for row in log_errors])
    log_joint = log_prior[:, None] + log_likelihood
    joint = np.exp(log_joint - log_joint.max(axis=0))
    return joint / joint.sum(axis=0)

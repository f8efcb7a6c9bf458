"""What other raters would have made of the same documents: an interval of its own, never part of the others."""

from dataclasses import dataclass, replace

import numpy as np
from django.db.models import F

from ratings.models import Check, Collection

from ..draws import NOISE, SEED
from ..expected.estimate import NORMAL
from ..judgments.rules import Ratings, combine
from ..measures.arrays import groups, pair_key
from ..record import Record
from .aims import Aim
from .report import Expected, plain_means
from .state import State
from .stop import remaining

FEWEST = 20  # pairs of grades: fewer tell too little about how raters differ
MOST_RATINGS = 60_000  # more take too long for a page


@dataclass(frozen=True)
class Shift:
    """One system's mean, had others given all ratings: its 90 % interval, and the middle of that less the mean."""

    system: str
    shift: float
    low: float
    high: float


@dataclass(frozen=True)
class Noise:
    """How far rater noise moves the means. `why` says what is missing; then there are no shifts."""

    why: str
    pairs: int  # pairs of grades of one document: of two raters, or of one who graded it again
    same: float | None = None  # the share of them that agree
    shifts: tuple[Shift, ...] = ()  # in the order of the systems
    difference: float | None = None  # the mean over pairs of systems of half the interval of their difference
    missing: float | None = None  # the same for missing judgments
    second: bool | None = None  # whether second ratings of all judged pairs buy more than as many new documents
    draws: int = NOISE
    seed: int = SEED


def noise_of(collection: Collection, aim: Aim, state: State, expected: Expected) -> Noise:
    """How much the means depend on who rated, from second ratings and repeats.

    Each rating is given again by chance, as others graded what one graded like this, and all is computed again.
    Where there are intervals for missing judgments, it also says which buys more, second ratings or new documents.
    Adjudicated grades stay.
    """
    noise = _noise(state.record, aim, _repeats(collection))
    return noise if noise.why or expected.wrong is None else _with_advice(noise, state, expected)


def _noise(found: Record, aim: Aim, repeats: np.ndarray) -> Noise:
    ratings = found.ratings
    pairs = np.concatenate([_pairs_of_grades(ratings), repeats])
    if len(ratings.grade) > MOST_RATINGS:
        return Noise(f"there are more than {MOST_RATINGS:,} ratings", len(pairs))
    if len(pairs) < FEWEST:
        return Noise(f"fewer than {FEWEST} documents have a second rating or a repeat", len(pairs))

    def means(given: Ratings) -> np.ndarray:
        judgments = combine(given, aim.rule, adjudications=aim.adjudications)
        return plain_means(found, judgments, aim.measure, aim.options)

    generator, now = np.random.default_rng(SEED), means(ratings)
    grades, chances = _answers(pairs, ratings.grade)
    level = np.searchsorted(grades, ratings.grade)
    below = np.cumsum(chances, axis=1)[level]
    drawn = []
    for _ in range(NOISE):
        other = (generator.random(len(level))[:, np.newaxis] > below).sum(axis=1)
        drawn.append(means(replace(ratings, grade=grades[np.minimum(other, len(grades) - 1)])))
    again = np.array(drawn)
    reach = NORMAL * again.std(axis=0, ddof=1)
    middle = again.mean(axis=0)
    shifts = (
        Shift(name, float(centre - mean), float(centre - half), float(centre + half))
        for name, mean, centre, half in zip(found.rankings, now, middle, reach, strict=True)
    )
    return Noise(
        why="",
        pairs=len(pairs),
        same=float((pairs[:, 0] == pairs[:, 1]).mean()),
        shifts=tuple(shifts),
        difference=_of_differences(np.cov(again.T).reshape(len(now), len(now))),
    )


def _pairs_of_grades(ratings: Ratings) -> np.ndarray:
    """The grades of each two raters of a pair, float64[n, 2]; of three raters these are three."""
    order = np.argsort(pair_key(ratings.query, ratings.document), kind="stable")
    grade = ratings.grade[order]
    start, length = groups(ratings.query[order], ratings.document[order])
    found = [np.empty((0, 2))]
    for many in np.unique(length[length > 1]):
        rows = grade[start[length == many][:, np.newaxis] + np.arange(many)]
        first, second = np.triu_indices(many, 1)
        found.append(np.column_stack([rows[:, first].ravel(), rows[:, second].ravel()]))
    return np.concatenate(found)


def _repeats(collection: Collection) -> np.ndarray:
    """The grade and the later one of each repeat, float64[n, 2]. One database query."""
    rows = Check.objects.filter(
        rater__collection=collection,
        kind=Check.Kind.REPEAT,
        event__value__isnull=False,
        pair__ratings__rater=F("rater"),
        pair__ratings__grade__isnull=False,
    ).values_list("pair__ratings__grade__value", "event__value")
    return np.array([[float(before), float(after)] for before, after in rows]).reshape(-1, 2)


def _answers(pairs: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The grades, and the chance of each to be given where one was: float64[grades, grades], rows add up to 1.

    A grade that no pair has stays as it is.
    """
    grades = np.unique(np.concatenate([pairs.ravel(), given]))
    first, second = np.searchsorted(grades, pairs.T)
    count = np.zeros((len(grades), len(grades)))
    np.add.at(count, (first, second), 1)
    count += count.T  # which of two was first tells nothing
    none = count.sum(axis=1) == 0
    count[none, none] = 1
    return grades, count / count.sum(axis=1, keepdims=True)


def _of_differences(covariance: np.ndarray) -> float | None:
    """The mean of half the 90 % intervals of all differences; None for a single system."""
    first, second = np.triu_indices(len(covariance), 1)
    if not len(first):
        return None
    variance = np.diag(covariance)
    spread = variance[first] + variance[second] - 2 * covariance[first, second]
    return float((NORMAL * np.sqrt(np.maximum(spread, 0))).mean())


def _with_advice(noise: Noise, state: State, expected: Expected) -> Noise:
    """The noise beside missing judgments, and which of them shrinks more by as many ratings as judged pairs."""
    missing = _of_differences(expected.estimate.covariance)
    if missing is None or noise.difference is None:
        return noise
    times = len(state.record.ratings.grade) / max(expected.judged, 1)
    by_second = noise.difference**2 / (times + 1)
    by_new = missing**2 * (1 - remaining(state, expected.judged))
    return replace(noise, missing=missing, second=bool(by_second > by_new))

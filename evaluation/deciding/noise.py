"""Rater noise: how the means vary if other raters rate the same documents. It has intervals of its own."""

from dataclasses import dataclass, replace

import numpy as np
from django.db.models import F

from ratings.models import Check, Collection

from ..expected.estimate import NORMAL
from ..judgments.rules import Ratings, combine
from ..measures.arrays import groups, pair_key
from ..record import Record
from ..scores import Asked
from ..scores.expected import Expected
from ..significance.draws import NOISE, SEED
from .report import plain_means
from .state import State
from .stop import remaining

FEWEST = 20  # pairs of grades: with fewer, rater noise is not estimated
MOST_RATINGS = 60_000  # more take too long for a page


@dataclass(frozen=True)
class Shift:
    """The mean of one system if other raters had given all ratings."""

    system: str
    shift: float  # the middle of the interval minus the mean
    low: float  # 90 % interval
    high: float


@dataclass(frozen=True)
class Noise:
    """The effect of rater noise on the means, or the reason why it is not known."""

    why: str  # the reason; "" where the effect is known
    pairs: int  # pairs of grades of one document: by two raters, or by one who graded it again
    same: float | None = None  # share of them with the same grade
    shifts: tuple[Shift, ...] = ()  # in the order of the systems
    difference: float | None = None  # mean half-width of the intervals of differences between systems
    missing: float | None = None  # mean half-width of these intervals for missing judgments
    second: bool | None = None  # whether second ratings of all judged pairs help more than as many new documents
    draws: int = NOISE
    seed: int = SEED


def noise_of(collection: Collection, aim: Asked, state: State, expected: Expected) -> Noise:
    """The rater noise of a collection, estimated from second ratings and repeats.

    In each simulation every rating is replaced by a random grade. It is drawn from the grades that raters gave to
    pairs where another rating has the grade of the replaced one. Adjudicated grades stay. Where there are
    intervals for missing judgments, `second` says whether second ratings or new documents help more.
    """
    noise = _noise(state.record, aim, _repeats(collection))
    return noise if noise.why or expected.wrong is None else _with_advice(noise, state, expected)


def _noise(data: Record, aim: Asked, repeats: np.ndarray) -> Noise:
    ratings = data.ratings
    pairs = np.concatenate([_grade_pairs(ratings), repeats])
    if len(ratings.grade) > MOST_RATINGS:
        return Noise(f"there are more than {MOST_RATINGS:,} ratings", len(pairs))
    if len(pairs) < FEWEST:
        return Noise(f"fewer than {FEWEST} documents have a second rating or a repeat", len(pairs))

    def means(ratings: Ratings) -> np.ndarray:
        judgments = combine(ratings, aim.rule, adjudications=aim.adjudications)
        return plain_means(data, judgments, aim.measure, aim.options)[0]

    generator, now = np.random.default_rng(SEED), means(ratings)
    grades, chances = _transitions(pairs, ratings.grade)
    level = np.searchsorted(grades, ratings.grade)
    below = np.cumsum(chances, axis=1)[level]
    drawn = []
    for _ in range(NOISE):
        other = (generator.random(len(level))[:, np.newaxis] > below).sum(axis=1)
        drawn.append(means(replace(ratings, grade=grades[np.minimum(other, len(grades) - 1)])))
    simulated = np.array(drawn)
    margin = NORMAL * simulated.std(axis=0, ddof=1)
    middle = simulated.mean(axis=0)
    shifts = (
        Shift(name, float(centre - mean), float(centre - half), float(centre + half))
        for name, mean, centre, half in zip(data.rankings, now, middle, margin, strict=True)
    )
    return Noise(
        why="",
        pairs=len(pairs),
        same=float((pairs[:, 0] == pairs[:, 1]).mean()),
        shifts=tuple(shifts),
        difference=_mean_half_width(np.cov(simulated.T).reshape(len(now), len(now))),
    )


def _grade_pairs(ratings: Ratings) -> np.ndarray:
    """The grades of each two raters of each pair, float64[n, 2]; three raters give three grade_pairs."""
    order = np.argsort(pair_key(ratings.query, ratings.document), kind="stable")
    grade = ratings.grade[order]
    start, length = groups(ratings.query[order], ratings.document[order])
    grade_pairs = [np.empty((0, 2))]
    for many in np.unique(length[length > 1]):
        rows = grade[start[length == many][:, np.newaxis] + np.arange(many)]
        first, second = np.triu_indices(many, 1)
        grade_pairs.append(np.column_stack([rows[:, first].ravel(), rows[:, second].ravel()]))
    return np.concatenate(grade_pairs)


def _repeats(collection: Collection) -> np.ndarray:
    """The grade of the rating and the grade of the repeat, for each repeat: float64[n, 2]. One database query."""
    rows = Check.objects.filter(
        rater__collection=collection,
        kind=Check.Kind.REPEAT,
        event__value__isnull=False,
        pair__ratings__rater=F("rater"),
        pair__ratings__grade__isnull=False,
    ).values_list("pair__ratings__grade__value", "event__value")
    return np.array([[float(before), float(after)] for before, after in rows]).reshape(-1, 2)


def _transitions(pairs: np.ndarray, rated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The grades, and the chances that the other rater gave each: float64[grades, grades], rows add up to 1.

    pairs: float64[n, 2], pairs of grades; rated: float64[ratings], the grades to simulate. A grade without a
    second grade stays as it is.
    """
    grades = np.unique(np.concatenate([pairs.ravel(), rated]))
    first, second = np.searchsorted(grades, pairs.T)
    count = np.zeros((len(grades), len(grades)))
    np.add.at(count, (first, second), 1)
    count += count.T  # the order within a pair has no meaning
    none = count.sum(axis=1) == 0
    count[none, none] = 1
    return grades, count / count.sum(axis=1, keepdims=True)


def _mean_half_width(covariance: np.ndarray) -> float | None:
    """The mean half-width of the 90 % intervals of all differences between systems; None for a single system."""
    first, second = np.triu_indices(len(covariance), 1)
    if not len(first):
        return None
    variance = np.diag(covariance)
    spread = variance[first] + variance[second] - 2 * covariance[first, second]
    return float((NORMAL * np.sqrt(np.maximum(spread, 0))).mean())


def _with_advice(noise: Noise, state: State, expected: Expected) -> Noise:
    """The noise with `missing`, and with `second`: whether second ratings of all judged pairs reduce the width by
    rater noise more than as many new judgments reduce the width by missing judgments.
    """
    missing = _mean_half_width(expected.estimate.covariance)
    if missing is None or noise.difference is None:
        return noise
    times = len(state.record.ratings.grade) / max(expected.judged, 1)
    by_second = noise.difference**2 / (times + 1)
    by_new = missing**2 * (1 - remaining(state, expected.judged))
    return replace(noise, missing=missing, second=bool(by_second > by_new))

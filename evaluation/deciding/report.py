"""The expected means of systems while judgments are missing, with intervals and the chance of a wrong order."""

from dataclasses import replace

import numpy as np

from ratings.models import Collection

from .. import measures as kernel
from ..expected import Estimate, estimate, settled
from ..measures import Judgments, Measure, Options
from ..measures.gains import gain
from ..record import InUse, Record, cache, machines
from ..record.drawn import rounds_so_far
from ..scores import Asked
from ..scores.asked import PROFILE
from ..scores.expected import Expected, Mean, TooLarge
from .state import State

NO_ROUNDS = "no round was drawn, so that nobody knows by what chance a document was judged"
UNFINISHED = "no document that a round drew at random is judged yet"
NO_DRAW = "the pool is so small that documents are judged from the top of the lists, and none was drawn"
NOT_IN_POOL = "all of the pool is judged, but not all documents above the cutoff are in it"
DESIGN, MODEL = "design", "model"  # the kinds of estimate, as `est` in options: corrected by a sample, or not
MACHINE = "+machine"  # appended where grades of machines are features of the model
TRIAGE = "+triage"  # appended where grades of machines changed sampling rates


def expected_of(
    collection: Collection, aim: Asked, most: int | None = None, used: tuple[InUse, ...] | None = None
) -> Expected:
    """The expected means as `scores.expected.Estimator` has them, from the cache where nothing changed."""
    used = machines(collection) if used is None else used
    # Two profiles with the same options have the same values.
    plain = replace(aim, profile=PROFILE, changes=())
    name = ("expected", plain, most, rounds_so_far(collection), used)

    def make() -> Expected | ValueError:
        try:
            state = State.of(collection, aim, used)
            if most is not None and state.pool.pairs > most:
                raise TooLarge(f"the pool has {state.pool.pairs:,} pairs; of more than {most:,} a command tells.")
            return expected_of_state(state, aim)
        except ValueError as error:
            return error

    result = cache.whole(collection, name, make)
    if isinstance(result, ValueError):
        raise result
    return result


def expected_of_state(state: State, aim: Asked) -> Expected:
    """The expected means in this state. ValueError where expected values are not defined."""
    pool, judged = state.pool, state.judged
    plain, queries = plain_means(state.record, state.judgments, aim.measure, aim.options)
    estimated = estimate_of(state, plain, aim.measure, aim.options)
    machines, triage = state.predicted_with, state.triaged_by
    est = MODEL if estimated.covariance is None else DESIGN
    est += (MACHINE if machines else "") + (TRIAGE if triage else "")
    ends, best, wrong = estimated.interval(), None, None
    if ends is not None and len(state.systems) > 1:
        wrong, best = settled(estimated.mean, estimated.covariance)
    rows = [
        Mean(
            system=name,
            mean=_known(estimated.mean[place]),
            low=None if ends is None else _known(ends[0][place]),
            high=None if ends is None else _known(ends[1][place]),
            best=None if best is None else float(best[place]),
            plain=_known(plain[place]),
            outside=state.outside[name],
            queries=int(queries[place]),
        )
        for place, name in enumerate(state.systems)
    ]
    with_gain = np.unique(pool.query[judged & (pool.gains[np.maximum(state.level, 0)] != 0)])
    return Expected(
        measure=str(aim.measure),
        options=f"{aim.fingerprint} est={est}",
        est=est,
        means=tuple(sorted(rows, key=lambda row: (row.mean is None, -(row.mean or 0), row.system))),
        pairs=pool.pairs,
        judged=int(judged.sum()),
        drawn=sum(len(each.greedy) + len(each.drawn) for each in state.rounds),
        skipped=int(state.skipped.sum()),
        queries=pool.queries,
        nothing_found=pool.queries - len(with_gain),
        rounds=len(state.rounds),
        wrong=wrong,
        estimate=estimated,
        systems=state.systems,
        machines=machines,
        triage=triage,
    )


def estimate_of(state: State, plain: np.ndarray, measure: Measure, options: Options) -> Estimate:
    """The estimate, corrected for the rounding of judgments to the levels of the model.

    plain: float64[systems], the plain means, which are the estimate where all of the pool is judged. They have no
    interval then if documents above the cutoff are not in the pool: nobody knows what these would gain.
    """
    design = state.design() if state.rounds else None
    result = estimate(state.pool, state.level, design)
    if state.judged.all():
        exact = replace(result, mean=plain)
        return replace(exact, covariance=None, without=NOT_IN_POOL) if any(state.outside.values()) else exact
    if result.covariance is None:
        result = replace(result, without=why_no_interval(state))
    rounded = _rounded(state, options)
    if rounded is None:
        return result
    return replace(result, mean=result.mean + plain - plain_means(state.record, rounded, measure, options)[0])


def why_no_interval(state: State) -> str:
    """The reason why an estimate in this state has no interval."""
    if not state.rounds:
        return NO_ROUNDS
    return UNFINISHED if state.at_random else NO_DRAW


def _rounded(state: State, options: Options) -> Judgments | None:
    """The judgments rounded to the levels of the model; None where all of them are levels."""
    exact, levels = state.judgments, state.pool.gains
    apart = np.abs(gain(exact.grade, options)[:, np.newaxis] - levels)
    if apart.min(axis=1).max(initial=0) < 1e-12:
        return None
    # The levels are then gains of the scale: see `expected.scope.levels_of`.
    grade_of = state.scale[np.abs(gain(state.scale, options)[:, np.newaxis] - levels).argmin(axis=0)]
    return Judgments(exact.queries, exact.query, exact.document, grade_of[apart.argmin(axis=1)])


def plain_means(
    data: Record, judgments: Judgments, measure: Measure, options: Options
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each system with unjudged documents as gain 0, float64[systems], and how many queries count.

    nan where no query counts.
    """
    results = [kernel.evaluate([measure], judgments, each, options) for each in data.rankings.values()]
    counted = np.array([each.counted(measure).sum() for each in results], np.int64)
    return np.array([each.mean(measure) for each in results], np.float64), counted


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

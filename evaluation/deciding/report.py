"""The expected means of systems while judgments are missing, with intervals and the chance of a wrong order."""

from dataclasses import replace

import numpy as np

from ratings.models import Collection

from .. import measures as kernel
from ..expected import Estimate, estimate, order_chances
from ..measures import Judgments, Measure, Options
from ..measures.gains import gain
from ..page.documents import none_for_nan
from ..record import InUse, Record, cache, machines
from ..record.drawn import rounds_so_far
from ..scores import Asked, mean_of, sampled_of
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
    """The expected means of the collection, from the cache where nothing changed.

    aim: measure, options and systems; used: the machines whose grades help, None: those in use; most: how many
    pairs the pool may have, None: any number. Raises ValueError where expected values are not defined, and
    TooLarge, a ValueError, for a larger pool.
    """
    used = machines(collection) if used is None else used
    # `aim.options` already has the options of the profile with the changes. Without the names of these in the key,
    # two profiles with the same options share the cached values.
    without_profile = replace(aim, profile=PROFILE, changes=())
    # A new round does not raise the version of the collection, by which the cache notices changes.
    cache_key = ("expected", without_profile, most, rounds_so_far(collection), used)

    def expected_or_error() -> Expected | ValueError:
        """An error is cached, too, since it takes as long to find."""
        try:
            state = State.of(collection, aim, used)
            # Pages pass `most`; commands do not, and compute pools of any size.
            if most is not None and state.pool.pairs > most:
                raise TooLarge(f"the pool has {state.pool.pairs:,} pairs; of more than {most:,} a command tells.")
            return expected_of_state(state, aim)
        except ValueError as error:
            return error

    result = cache.whole(collection, cache_key, expected_or_error)
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
    of_log = " est=log" if sampled_of(state.record.queries, state.record.left_out_queries) else ""
    undefined = np.full(len(state.systems), np.nan)
    low, high = estimated.interval() or (undefined, undefined)
    wrong, best = None, undefined
    if estimated.covariance is not None and len(state.systems) > 1:
        wrong, best = order_chances(estimated.mean, estimated.covariance)
    rows = [
        Mean(
            system=name,
            mean=none_for_nan(estimated.mean[place]),
            low=none_for_nan(low[place]),
            high=none_for_nan(high[place]),
            best=none_for_nan(best[place]),
            plain=none_for_nan(plain[place]),
            outside=state.not_in_pool[name],
            queries=int(queries[place]),
        )
        for place, name in enumerate(state.systems)
    ]
    with_gain = np.unique(pool.query[judged & (pool.gains[np.maximum(state.level, 0)] != 0)])
    return Expected(
        measure=str(aim.measure),
        options=f"{aim.fingerprint}{of_log} est={est}",
        est=est,
        means=tuple(sorted(rows, key=lambda row: (row.mean is None, -(row.mean or 0), row.system))),
        pairs=pool.pairs,
        judged=int(judged.sum()),
        drawn=sum(len(of_round.rows) for of_round in state.rounds),
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
    """The estimate of the means once all pairs are judged, corrected for the levels of the model.

    The model rounds judgments to few levels of gain. The correction adds what the plain means lose by the
    rounding: their difference from the plain means of the rounded judgments. plain: float64[systems], the plain
    means, with unjudged documents as gain 0. They are the estimate where all of the pool is judged. The estimate
    then has no interval if documents above the cutoff are not in the pool: nobody knows what these would gain.
    """
    # Without rounds there is no design: no pair was drawn by a known chance.
    result = estimate(state.pool, state.level, state.design() if state.rounds else None)
    if state.judged.all():  # the covariance of `result` is 0 then
        if any(state.not_in_pool.values()):
            return replace(result, mean=plain, covariance=None, without=NOT_IN_POOL)
        return replace(result, mean=plain)
    if result.covariance is None:
        result = replace(result, without=_why_no_interval(state))
    rounded = _rounded(state, options)
    if rounded is None:  # the gains of all judgments are levels: nothing was rounded
        return result
    plain_of_rounded, _ = plain_means(state.record, rounded, measure, options)
    return replace(result, mean=result.mean + plain - plain_of_rounded)


def _why_no_interval(state: State) -> str:
    """Why means have no interval while judgments are missing: it needs some that were drawn at random."""
    if not state.rounds:
        return NO_ROUNDS
    return UNFINISHED if state.has_random_draws else NO_DRAW  # NO_DRAW: all rounds came from the top of the lists


def _rounded(state: State, options: Options) -> Judgments | None:
    """The judgments rounded to the levels of the model; None where all of them are levels."""
    judgments, levels = state.judgments, state.pool.gains
    distance = np.abs(gain(judgments.grade, options)[:, np.newaxis] - levels)
    if distance.min(axis=1).max(initial=0) < 1e-12:
        return None
    # The levels are then gains of the scale: see `expected.scope.levels_of`.
    of_scale = np.abs(gain(state.scale, options)[:, np.newaxis] - levels)
    grade_of_level = state.scale[of_scale.argmin(axis=0)]
    grade = grade_of_level[distance.argmin(axis=1)]
    return Judgments(judgments.queries, judgments.query, judgments.document, grade)


def plain_means(
    data: Record, judgments: Judgments, measure: Measure, options: Options
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each system with unjudged documents as gain 0, float64[systems], and how many queries count.

    Where queries were drawn from a log, the mean is over all searches of the log. It is nan where no query counts.
    The numbers of queries are int64[systems].
    """
    means, counts = [], []
    sampled = sampled_of(data.queries, data.left_out_queries)  # None without a log
    for rankings in data.rankings.values():
        # float64[queries], nan where a query does not count.
        values = kernel.evaluate([measure], judgments, rankings, options).counting(measure)
        means.append(mean_of(values, sampled))
        counts.append(np.count_nonzero(~np.isnan(values)))
    return np.array(means, np.float64), np.array(counts, np.int64)

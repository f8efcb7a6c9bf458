"""The expected means of systems while judgments are missing, with intervals and the chance of a wrong order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ratings.models import Collection

from .. import measures as kernel
from ..expected import Estimate, estimate, settled
from ..expected.order import WRONG
from ..measures import Judgments, Measure, Options
from ..measures.gains import gain
from ..record import InUse, Machine, Record, cache, machines
from ..record.drawn import rounds_so_far
from ..scores import Asked, Evaluation
from ..scores.asked import PROFILE
from ..significance.draws import EXPECTED, SEED
from .aims import systems_of
from .state import State

LEADER = 0.95  # chance to be the best from which a system is the leader
MOST_PAIRS = 150_000  # of a pool: with more, the estimate takes too long for a page
NO_ROUNDS = "no round was drawn, so that nobody knows by what chance a document was judged"
UNFINISHED = "no document that a round drew at random is judged yet"
NO_DRAW = "the pool is so small that documents are judged from the top of the lists, and none was drawn"
NOT_IN_POOL = "all of the pool is judged, but not all documents above the cutoff are in it"
DESIGN, MODEL = "design", "model"  # the kinds of estimate, as `est` in options: corrected by a sample, or not
MACHINE = "+machine"  # appended where grades of machines are features of the model
TRIAGE = "+triage"  # appended where grades of machines changed sampling rates


@dataclass(frozen=True)
class Mean:
    """The expected mean of one system; None: no value, or no interval."""

    system: str
    mean: float | None
    low: float | None  # 90 % interval for missing judgments only
    high: float | None
    best: float | None  # chance to be the best
    plain: float | None  # mean with unjudged documents as gain 0
    outside: int  # documents above the cutoff outside the pool, which have gain 0
    queries: int = 0  # how many count in the plain mean


def not_expected(system: str) -> Mean:
    """The row of a system that is not among those of the estimate."""
    return Mean(system, None, None, None, None, None, 0)


def highest_expected(measure: str, means: Sequence[Mean], leader: str | None, final: bool) -> dict:
    """The highest of the means, and the likeliest to be best: the facts of _highest_expected.html.

    means: highest first; final: whether all documents above the cutoff are judged.
    """
    known = [row for row in means if row.mean is not None]
    rivals = [row for row in known if row.best is not None] if len(known) > 1 else []
    return {
        "measure": measure,
        "final": final,
        "first": known[0] if known else None,
        "leader": next((row for row in rivals if row.system == leader), None),
        "likeliest": sorted(rivals, key=lambda row: -row.best)[:2],
    }


@dataclass(frozen=True)
class Difference:
    """The expected mean of `second` minus that of `first`, with its 90 % interval for missing judgments."""

    first: str
    second: str
    difference: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Expected:
    """The expected means of all systems, with what they rest on."""

    measure: str
    options: str  # fingerprint, with est
    est: str  # DESIGN, or MODEL without an interval; then MACHINE and TRIAGE where they apply
    without: str  # the reason why there is no interval; "" where there is one
    means: tuple[Mean, ...]  # highest first
    pairs: int  # of the pool
    judged: int
    drawn: int  # pairs of all rounds
    skipped: int  # drawn pairs that nobody will judge
    queries: int
    nothing_found: int  # queries without a gain so far
    rounds: int
    wrong: float | None  # chance that two systems .02 apart or more are in the wrong order
    calibration: float  # observed over expected squared changes of the means by judgments
    draws: int = EXPECTED
    seed: int = SEED
    estimate: Estimate | None = field(default=None, repr=False)
    systems: tuple[str, ...] = ()  # in the order of the estimate
    machines: tuple[Machine, ...] = ()  # with grades as features of the model
    triage: tuple[str, ...] = ()  # machines whose grades changed sampling rates

    @property
    def estimated(self) -> str:
        return f"est={self.est}"

    def row(self, system: str) -> dict[str, float | str | None]:
        """The columns of the system for a summary; None in each for a system outside the estimate."""
        mean = self.of(system) if system in self.systems else not_expected(system)
        return {
            "expected": mean.mean,
            "expected_low": mean.low,
            "expected_high": mean.high,
            "best": mean.best,
            "est": self.est,
        }

    def between(self, first: str, second: str) -> dict[str, float | str | None]:
        """The columns of `second` minus `first` for a comparison; `best` is the chance of `second`."""
        of_first, of_second = self.row(first), self.row(second)
        known = None not in (of_first["expected"], of_second["expected"])
        difference = self.difference(first, second) if known else None
        without_interval = of_second["expected"] - of_first["expected"] if known else None
        return of_second | {
            "expected": difference.difference if difference else without_interval,
            "expected_low": difference.low if difference else None,
            "expected_high": difference.high if difference else None,
        }

    def facts(self) -> dict:
        """The numbers and machines that the estimate rests on, as JSON."""
        names = ("est", "without", "pairs", "judged", "drawn", "skipped", "queries", "nothing_found", "rounds")
        names += ("wrong", "settled", "leader", "calibration", "draws", "seed")
        return {name: getattr(self, name) for name in names} | {
            "outside": {row.system: row.outside for row in self.means},
            "machines": [machine.as_json() for machine in self.machines],
            "triage": list(self.triage),
        }

    @property
    def predicted(self) -> bool:
        """Whether a model predicts missing judgments. Otherwise the means are the plain ones."""
        return self.judged < self.pairs

    @property
    def final(self) -> bool:
        """Whether all documents above the cutoff are judged."""
        return not self.predicted and not self.outside_in_all

    @property
    def outside_in_all(self) -> int:
        """The number of documents above the cutoff outside the pool, of all systems."""
        return sum(row.outside for row in self.means)

    @property
    def settled(self) -> bool:
        """Whether the order of all systems is settled at 90 %."""
        return self.wrong is not None and self.wrong <= WRONG

    @property
    def highest(self) -> dict:
        return highest_expected(self.measure, self.means, self.leader, self.final)

    @property
    def leader(self) -> str | None:
        """The system whose chance to be the best is at least LEADER; None without one."""
        return next((row.system for row in self.means if (row.best or 0) >= LEADER), None)

    def of(self, system: str) -> Mean:
        return next(row for row in self.means if row.system == system)

    def difference(self, first: str, second: str) -> Difference | None:
        """The expected difference of two systems; None where there is no interval."""
        places = [self.systems.index(name) for name in (first, second)]
        difference = self.estimate.difference(*places) if self.estimate else None
        return None if difference is None else Difference(first, second, *difference)


class TooLarge(ValueError):
    """The pool is too large for a page; a command computes its expected values."""


def expected_of(
    collection: Collection, aim: Asked, most: int | None = None, used: tuple[InUse, ...] | None = None
) -> Expected:
    """The expected means, from the cache where nothing changed.

    ValueError with the reason where expected values are not defined; TooLarge for a pool of more than `most`
    pairs. used: the machines in use, if the caller has read them.
    """
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


def with_expected(
    collection: Collection,
    evaluation: Evaluation,
    measures: Iterable[Measure] | None = None,
    most: int | None = None,
) -> Evaluation:
    """The evaluation with the expected values of `measures` (None: all of the evaluation).

    The estimate is always of all systems of the decisive order, whichever the evaluation has. ValueError as from
    `expected_of`.
    """
    of_all = replace(evaluation.asked, systems=systems_of(collection))
    aims = {each: replace(of_all, measure=each) for each in measures or evaluation.measures}
    used = machines(collection)
    expected = {measure: expected_of(collection, aim, most, used) for measure, aim in aims.items()}
    return replace(evaluation, expected=expected)


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
        without=estimated.without,
        means=tuple(sorted(rows, key=lambda row: (row.mean is None, -(row.mean or 0), row.system))),
        pairs=pool.pairs,
        judged=int(judged.sum()),
        drawn=sum(len(each.greedy) + len(each.drawn) for each in state.rounds),
        skipped=int(state.skipped.sum()),
        queries=pool.queries,
        nothing_found=pool.queries - len(with_gain),
        rounds=len(state.rounds),
        wrong=wrong,
        calibration=estimated.calibration,
        draws=estimated.draws,
        seed=estimated.seed,
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

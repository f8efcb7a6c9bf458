"""What is expected of each system's mean while judgments are missing, and how sure that is."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ratings.models import Collection

from .. import cache
from .. import measures as kernel
from ..draws import EXPECTED, SEED
from ..expected import Estimate, estimate, settled
from ..expected.order import WRONG
from ..measures import Judgments, Measure, Options
from ..measures.gains import gain
from ..record import InUse, Machine, Record, machines
from ..record.drawn import rounds_so_far
from ..scores import Evaluation
from .aims import Aim, systems_of
from .state import State

LEADER = 0.95  # the least chance to be the best that makes a leader
MOST_PAIRS = 150_000  # of a pool: the estimate of more takes too long for a page
NO_ROUNDS = "no round was drawn, so that nobody knows by what chance a document was judged"
UNFINISHED = "no document that a round drew at random is judged yet"
NO_DRAW = "the pool is so small that documents are judged from the top of the lists, and none was drawn"
DESIGN, MODEL = "design", "model"  # where the estimate comes from, as `est` in options
MACHINE = "+machine"  # behind it, where grades of machines helped the model to predict
TRIAGE = "+triage"  # and where pairs were drawn more readily because of them


@dataclass(frozen=True)
class Mean:
    """The expected mean of one system; None = no value, or no interval."""

    system: str
    mean: float | None
    low: float | None  # the 90 % interval, for missing judgments only
    high: float | None
    best: float | None  # the chance to be the best
    plain: float | None  # unjudged as gain 0
    outside: int  # documents above the cutoff that are not in the pool: they gain nothing


def not_expected(system: str) -> Mean:
    """The mean of a system that the estimate is not about."""
    return Mean(system, None, None, None, None, None, 0)


@dataclass(frozen=True)
class Difference:
    """The expected mean of `second` less that of `first`, with its 90 % interval for missing judgments."""

    first: str
    second: str
    difference: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Expected:
    """How the systems stand. `means` has the highest expected mean first."""

    measure: str
    options: str  # the fingerprint, with est
    est: str  # DESIGN, or MODEL: without an interval; then MACHINE and TRIAGE, where machines had a part
    without: str  # why there is no interval; "" where there is one
    means: tuple[Mean, ...]
    pairs: int  # of the pool
    judged: int
    drawn: int  # pairs of all rounds
    skipped: int  # of them, those that nobody will judge
    queries: int
    nothing_found: int  # queries without a gain so far
    rounds: int
    wrong: float | None  # the chance that two systems .02 apart or more are shown in the wrong order
    calibration: float  # squared changes of means by judgments over those expected
    draws: int = EXPECTED
    seed: int = SEED
    estimate: Estimate | None = field(default=None, repr=False)
    systems: tuple[str, ...] = ()  # in the order of the estimate
    machines: tuple[Machine, ...] = ()  # whose grades helped the model to predict
    triage: tuple[str, ...] = ()  # machines by whose grades pairs came earlier

    @property
    def estimated(self) -> str:
        return f"est={self.est}"

    def row(self, system: str) -> dict[str, float | str | None]:
        """The columns that it adds to a summary; empty for a system that the order is not about."""
        found = self.of(system) if system in self.systems else not_expected(system)
        return {
            "expected": found.mean,
            "expected_low": found.low,
            "expected_high": found.high,
            "best": found.best,
            "est": self.est,
        }

    def between(self, first: str, second: str) -> dict[str, float | str | None]:
        """The columns that it adds to a comparison: `second` less `first`; `best` is the chance of `second`."""
        of_first, of_second = self.row(first), self.row(second)
        known = None not in (of_first["expected"], of_second["expected"])
        told = self.difference(first, second) if known else None
        apart = of_second["expected"] - of_first["expected"] if known else None
        return of_second | {
            "expected": told.difference if told else apart,
            "expected_low": told.low if told else None,
            "expected_high": told.high if told else None,
        }

    def facts(self) -> dict:
        """What the estimate rests on, for JSON."""
        names = ("est", "without", "pairs", "judged", "drawn", "skipped", "queries", "nothing_found", "rounds")
        names += ("wrong", "settled", "leader", "calibration", "draws", "seed")
        return {name: getattr(self, name) for name in names} | {
            "outside": {row.system: row.outside for row in self.means},
            "machines": [machine.as_json() for machine in self.machines],
            "triage": list(self.triage),
        }

    @property
    def final(self) -> bool:
        """Whether nothing of the pool is unjudged."""
        return self.judged == self.pairs

    @property
    def settled(self) -> bool:
        """Whether the order of all systems is settled at 90 %."""
        return self.wrong is not None and self.wrong <= WRONG

    @property
    def leader(self) -> str | None:
        """The system that is the best with a chance of at least LEADER."""
        return next((row.system for row in self.means if (row.best or 0) >= LEADER), None)

    def of(self, system: str) -> Mean:
        return next(row for row in self.means if row.system == system)

    def difference(self, first: str, second: str) -> Difference | None:
        """The expected difference of two systems; None where there is no interval."""
        places = [self.systems.index(name) for name in (first, second)]
        found = self.estimate.difference(*places) if self.estimate else None
        return None if found is None else Difference(first, second, *found)


class TooLarge(ValueError):
    """The pool is too large for a page; a command computes it."""


def expected_of(
    collection: Collection, aim: Aim, most: int | None = None, used: tuple[InUse, ...] | None = None
) -> Expected:
    """The expected means, from the cache where nothing changed.

    Raises ValueError with the reason where there is nothing to expect, and TooLarge where the pool has more than
    `most` pairs. `used`: the machines in use, if they are known already.
    """
    used = machines(collection) if used is None else used
    name = ("expected", aim, most, rounds_so_far(collection), used)

    def make() -> Expected | ValueError:
        try:
            state = State.of(collection, aim, used)
            if most is not None and state.pool.pairs > most:
                raise TooLarge(f"the pool has {state.pool.pairs:,} pairs; of more than {most:,} a command tells.")
            return reported(state, aim)
        except ValueError as error:
            return error

    found = cache.whole(collection, name, make)
    if isinstance(found, ValueError):
        raise found
    return found


def with_expected(
    collection: Collection,
    evaluation: Evaluation,
    measures: Iterable[Measure] | None = None,
    most: int | None = None,
) -> Evaluation:
    """The evaluation with what is expected of the means of `measures` (None: all of its own).

    The estimate knows all systems that the order is about, whichever the evaluation has. Raises ValueError as
    `expected_of`.
    """
    how = {"rule": evaluation.rule, "adjudications": evaluation.adjudications, "systems": systems_of(collection)}
    chosen = evaluation.measures if measures is None else measures
    aims = {measure: Aim(measure, evaluation.options, **how) for measure in chosen}
    used = machines(collection)
    told = {name: expected_of(collection, aim, most, used) for name, aim in aims.items()}
    return replace(evaluation, expected=told)


def reported(state: State, aim: Aim) -> Expected:
    pool, judged = state.pool, state.judged
    exact = plain_means(state.record, state.judgments, aim.measure, aim.options)
    found = estimated(state, exact, aim.measure, aim.options)
    touched, sorting = state.touched_by, state.triaged_by
    est = MODEL if found.covariance is None else DESIGN
    est += (MACHINE if touched else "") + (TRIAGE if sorting else "")
    ends, best, wrong = found.interval(), None, None
    if ends is not None and len(state.systems) > 1:
        wrong, best = settled(found.mean, found.covariance)
    outside = state.outside()
    rows = [
        Mean(
            system=name,
            mean=_known(found.mean[place]),
            low=None if ends is None else _known(ends[0][place]),
            high=None if ends is None else _known(ends[1][place]),
            best=None if best is None else float(best[place]),
            plain=_known(exact[place]),
            outside=outside[name],
        )
        for place, name in enumerate(state.systems)
    ]
    with_gain = np.unique(pool.query[judged & (pool.gains[np.maximum(state.level, 0)] != 0)])
    return Expected(
        measure=str(aim.measure),
        options=f"{aim.fingerprint} est={est}",
        est=est,
        without=found.without,
        means=tuple(sorted(rows, key=lambda row: (row.mean is None, -(row.mean or 0), row.system))),
        pairs=pool.pairs,
        judged=int(judged.sum()),
        drawn=sum(len(each.greedy) + len(each.drawn) for each in state.rounds),
        skipped=int(state.skipped.sum()),
        queries=pool.queries,
        nothing_found=pool.queries - len(with_gain),
        rounds=len(state.rounds),
        wrong=wrong,
        calibration=found.calibration,
        draws=found.draws,
        seed=found.seed,
        estimate=found,
        systems=state.systems,
        machines=touched,
        triage=sorting,
    )


def estimated(state: State, exact: np.ndarray, measure: Measure, options: Options) -> Estimate:
    """The estimate, with what the levels of the model round away of judgments put back.

    `exact`: the plain means. Where nothing is unjudged they are the estimate.
    """
    design = state.design() if state.rounds else None
    found = estimate(state.pool, state.level, design)
    if state.judged.all():
        return replace(found, mean=exact)
    if found.covariance is None:
        found = replace(found, without=why_none(state))
    rounded = _rounded(state, options)
    if rounded is None:
        return found
    return replace(found, mean=found.mean + exact - plain_means(state.record, rounded, measure, options))


def why_none(state: State) -> str:
    """Why there is no interval, where there is none."""
    if not state.rounds:
        return NO_ROUNDS
    return UNFINISHED if state.at_random else NO_DRAW


def _rounded(state: State, options: Options) -> Judgments | None:
    """The judgments as the model has them, None where it has them all exactly."""
    given, levels = state.judgments, state.pool.gains
    apart = np.abs(gain(given.grade, options)[:, np.newaxis] - levels)
    if apart.min(axis=1).max(initial=0) < 1e-12:
        return None
    # Then the levels are gains of the scale.
    grade_of = state.scale[np.abs(gain(state.scale, options)[:, np.newaxis] - levels).argmin(axis=0)]
    return Judgments(given.queries, given.query, given.document, grade_of[apart.argmin(axis=1)])


def plain_means(found: Record, judgments: Judgments, measure: Measure, options: Options) -> np.ndarray:
    """The mean of each system with unjudged documents as gain 0, float64[systems]; nan = no query counts."""
    every = (kernel.evaluate([measure], judgments, each, options) for each in found.rankings.values())
    return np.array([each.mean(measure) for each in every])


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

"""The means that systems are expected to have once all of the pool is judged.

The app `deciding` estimates them from the rounds of a collection. It can be taken out: see `estimator`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from ratings.models import Collection

from ..apps import estimators
from ..expected import Estimate, scope
from ..expected.order import MOST_CHANCE_OF_WRONG
from ..measures import Measure
from ..record import InUse, Machine, machines
from ..record.drawn import rounds_so_far
from .asked import Asked

LEADER_CHANCE = 0.95  # to be the best, from which a system is the leader
MOST_PAIRS = 150_000  # of a pool: with more, the estimate takes too long for a page


@dataclass(frozen=True)
class Mean:
    """The expected mean of one system; None: no value, or no interval."""

    system: str
    mean: float | None = None
    low: float | None = None  # 90 % interval for missing judgments only
    high: float | None = None
    best: float | None = None  # chance to be the best
    plain: float | None = None  # mean with unjudged documents as gain 0
    outside: int = 0  # documents above the cutoff outside the pool, which have gain 0
    queries: int = 0  # how many count in the plain mean


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
    est: str  # how they are estimated, the option est
    means: tuple[Mean, ...]  # highest first
    pairs: int  # of the pool
    judged: int
    drawn: int  # pairs of all rounds
    skipped: int  # drawn pairs that nobody will judge
    queries: int
    nothing_found: int  # queries without a gain so far
    rounds: int
    wrong: float | None  # chance that two systems .02 apart or more are in the wrong order
    estimate: Estimate
    systems: tuple[str, ...] = ()  # in the order of the estimate
    machines: tuple[Machine, ...] = ()  # with grades as features of the model
    triage: tuple[str, ...] = ()  # machines whose grades changed sampling rates

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> "Expected":
        """The expected means from the members of `as_json`, which has arrays and named tuples as lists."""
        estimate = dict(members["estimate"])
        for name in ("mean", "covariance"):
            estimate[name] = None if estimate[name] is None else np.array(estimate[name])
        objects = {
            "estimate": Estimate(**estimate),
            "means": tuple(Mean(**row) for row in members["means"]),
            "machines": tuple(Machine(*row) for row in members["machines"]),
        }
        return cls(**{**members, **objects})

    def as_json(self) -> dict[str, Any]:
        """All fields, with arrays as lists."""
        members = asdict(self)
        arrays = {name: value for name, value in members["estimate"].items() if isinstance(value, np.ndarray)}
        members["estimate"] |= {name: value.tolist() for name, value in arrays.items()}
        return members

    @property
    def without(self) -> str:
        """The reason why there is no interval; "" where there is one."""
        return self.estimate.without

    def row(self, system: str) -> dict[str, Any]:
        """The columns of the system for a summary; None in each for a system outside the estimate."""
        mean = self.of(system)
        return {
            "expected": mean.mean,
            "expected_low": mean.low,
            "expected_high": mean.high,
            "best": mean.best,
            "est": self.est,
        }

    def between(self, first: str, second: str) -> dict[str, Any]:
        """The columns of `second` minus `first` for a comparison; `best` is the chance of `second`."""
        mean_of_first, of_second = self.of(first).mean, self.row(second)
        columns = of_second | {"expected": None, "expected_low": None, "expected_high": None}
        if mean_of_first is not None and of_second["expected"] is not None:
            columns["expected"] = of_second["expected"] - mean_of_first
            if interval := self.difference(first, second):
                columns["expected"] = interval.difference
                columns |= {"expected_low": interval.low, "expected_high": interval.high}
        return columns

    def facts(self) -> dict:
        """The numbers and machines that the estimate rests on, as JSON."""
        names = ("est", "without", "pairs", "judged", "drawn", "skipped", "queries", "nothing_found", "rounds")
        return {name: getattr(self, name) for name in (*names, "wrong", "settled", "leader")} | {
            **{name: getattr(self.estimate, name) for name in ("calibration", "draws", "seed")},
            "outside": {row.system: row.outside for row in self.means},
            "machines": [machine._asdict() for machine in self.machines],
            "triage": list(self.triage),
        }

    @property
    def machines_in_words(self) -> str:
        """The sentences that name the machines in the model and in triage; "" where there are none."""
        sentences = []
        if self.machines:
            sentences.append(
                "The grades of a machine help to predict the missing judgments: "
                f"{'; '.join(map(str, self.machines))}. None of them counts as a judgment, and the judgments that "
                "were drawn correct them."
            )
        if self.triage:
            sentences.append(
                "Rounds drew pairs more readily where people are likely to grade otherwise than "
                f"{'; '.join(self.triage)}. The chance of each pair is known, so that this favours no system."
            )
        return " ".join(sentences)

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
        return self.wrong is not None and self.wrong <= MOST_CHANCE_OF_WRONG

    @property
    def highest(self) -> dict:
        """The facts of _highest_expected.html: the systems with the highest mean and likeliest to be the best.

        first: the `Mean` of the system with the highest mean, None where no system has one; final: whether all
        documents above the cutoff are judged. leader: the `Mean` of the system that is almost certainly the best,
        None without one; likeliest: those of the two systems with the highest chances. For a single system there
        is neither.
        """
        with_mean = [row for row in self.means if row.mean is not None]  # the highest mean first
        rivals = [row for row in with_mean if row.best is not None] if len(with_mean) > 1 else []
        return {
            "measure": self.measure,
            "final": self.final,
            "first": with_mean[0] if with_mean else None,
            "leader": next((row for row in rivals if row.system == self.leader), None),
            # Each of `rivals` has a chance: `or 0` is only for the checker of types.
            "likeliest": sorted(rivals, key=lambda row: row.best or 0, reverse=True)[:2],
        }

    @property
    def leader(self) -> str | None:
        """The system whose chance to be the best is at least LEADER_CHANCE; None without one."""
        return next((row.system for row in self.means if (row.best or 0) >= LEADER_CHANCE), None)

    def of(self, system: str) -> Mean:
        """The mean of the system, with None for each number where it is not among those of the estimate."""
        by_system = {row.system: row for row in self.means}
        return by_system.get(system) or Mean(system)

    def difference(self, first: str, second: str) -> Difference | None:
        """The expected difference of two systems; None where there is no interval."""
        difference = self.estimate.difference(*(self.systems.index(name) for name in (first, second)))
        return None if difference is None else Difference(first, second, *difference)


# The app that computes them


class TooLarge(ValueError):
    """The pool is too large for a page; a command computes its expected values."""


class Estimator(Protocol):
    """What the app that computes expected means has for the others, as functions of a module."""

    def expected_of(
        self, collection: Collection, aim: Asked, most: int | None = None, used: Sequence[InUse] | None = None
    ) -> Expected:
        """The expected means. ValueError with the reason where they are not defined.

        TooLarge for a pool of more than `most` pairs. used: the machines in use, if the caller has read them.
        """

    def files(
        self, collection: Collection, settings: Any, used: Sequence[InUse]
    ) -> Iterable[tuple[str, Iterable]]:
        """The name and the lines of each canonical file of a frozen evaluation that only expected means have.

        settings: the `Settings` of the frozen evaluation.
        """

    def expected_in(self, settings: Any, lines: Any) -> dict[Measure, Expected]:
        """The expected means by measure, computed from the canonical files of a frozen evaluation."""


def estimator() -> Estimator:
    """The module that computes expected means. ValueError where its app was taken out."""
    if not estimators:
        raise ValueError("this Idealist is without the orders with rounds, which expected means rest on.")
    return import_module(estimators[0])


def systems_of(collection: Collection) -> tuple[str, ...] | None:
    """The systems of the decisive order; None: all."""
    named = (collection.aim or {}).get("systems") if collection.order == Collection.Order.DECISIVE else None
    return None if named is None else tuple(named)


def expected_means(
    collection: Collection, asked: Asked, measures: Iterable[Measure], most: int | None = None
) -> dict[Measure, Expected]:
    """The expected means in these measures, by what else is asked. ValueError as from `Estimator.expected_of`.

    The estimate is always of all systems of the decisive order, whichever are asked.
    """
    of_all = replace(asked, systems=systems_of(collection))
    used, expected_of = machines(collection), estimator().expected_of
    return {measure: expected_of(collection, replace(of_all, measure=measure), most, used) for measure in measures}


# On a page, which must not fail where there are none

TOO_LARGE = "The pool is too large for expected values on a page. The command evaluate --expected computes them."


@dataclass(frozen=True, eq=False)
class Expecting:
    """The expected values of a page in the asked measure, or the reason why there are none."""

    rounds: int = 0  # number of rounds drawn
    decisive: bool = False  # whether the order of rating is the decisive one
    expected: Expected | None = None
    why: str = ""  # the reason why there are none

    @property
    def too_large(self) -> bool:
        return self.why == TOO_LARGE

    @property
    def with_intervals(self) -> Expected | None:
        """The expected values if they have intervals."""
        return self.expected if self.expected and not self.expected.without else None

    @property
    def headline(self) -> Expected | None:
        """The expected values if a page shows them first, since the decisive order biases the plain ones."""
        expected = self.with_intervals
        return expected if self.decisive and self.rounds and expected and not expected.final else None

    def misleads(self, asked: Asked, judged: Iterable[float | None]) -> bool:
        """Whether plain means are biased by the decisive order. judged: the judged shares of the systems.

        They are not once all of the pool is judged, even if systems return documents outside of it.
        """
        if not asked.reads_judgments or (self.expected and not self.expected.predicted):
            return False
        open_ = any(share is not None and share < 1 for share in judged)
        return self.decisive and bool(self.rounds) and open_ and asked.options.unjudged == "zero"

    @property
    def model(self) -> Expected | None:
        """The expected values if a model alone predicts missing judgments, so that they have no intervals."""
        return self.expected if self.expected and self.expected.without and self.expected.predicted else None


def basis_of(collection: Collection, wanted: bool = False) -> tuple:
    """What decides the expected values of a page besides the version of the collection, for a key of the cache."""
    rounds = rounds_so_far(collection)
    used = machines(collection) if rounds or wanted else ()
    return rounds, used, collection.order, systems_of(collection)


def expecting(collection: Collection, asked: Asked, wanted: bool = False) -> Expecting:
    """The expected values of a page in the asked measure, or the reason why there are none. Raises nothing.

    Expected values rest on rounds, in which the collection drew pairs to be judged. Without rounds there are none,
    unless the address asks for them (`wanted`): a model alone predicts them then. The decisive order of rating has
    rounds, and biases plain means: see `Expecting`.
    """
    decisive = collection.order == Collection.Order.DECISIVE
    if not estimators:  # the app that computes expected values was taken out
        return Expecting(decisive=decisive)
    rounds = rounds_so_far(collection)
    if not rounds and not wanted:
        return Expecting(decisive=decisive)
    try:
        means = expected_means(collection, asked, [asked.measure], MOST_PAIRS)
        return Expecting(rounds, decisive, means[asked.measure])
    except TooLarge:
        return Expecting(rounds, decisive, why=TOO_LARGE)
    except ValueError as error:
        return Expecting(rounds, decisive, why=f"No expected values: {error}")


def is_defined(asked: Asked) -> bool:
    """Whether expected values are defined for the asked measure and options, and computed here."""
    return bool(estimators) and scope.is_defined(asked.measure, asked.options)


def refuse_undefined(asked: Asked) -> None:
    """Raises ValueError with the reason where expected values are not defined for measure and options."""
    scope.refuse(asked.measure, asked.options)

"""What a night tells against a baseline: worse, not worse, or neither.

An alarm is told by the test of all nights (`significance.nightly`), whose budget of false alarms the two baselines
share. It holds after the engine was asked again, and in two readings of the documents that nobody judged: as the
options say, and at their expected gain. Where there are no expected gains, the second reading has the judgments
that are best for the night. That the search is not worse is told by the interval of the night alone, in both
readings.

`significance.nightly` defines path, flip, crossed and spent. A path ends when the baseline, the margin, or the
measure and its options change, or when somebody answers its alarm. The next night then begins a path with other
flips.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ratings.models import Baseline, System

from ..models import Night, Verdict, Watch
from ..significance import FEWEST, common_queries, nightly, paired
from ..significance.gate import NOT_WORSE, WORSE, Limits, agreed, limits
from ..significance.sampled import OUTSIDE, Sampled, pseudo_values
from . import holes
from .scoring import TONIGHT, Scored, by_query_of_night

LEVEL = 0.05  # of the one-sided interval that shows that a search is not worse
ROUNDING = 1e-9  # of two means: closer ones are the same
FEWEST_OF_LOG = 20  # queries that were drawn from a log, below which nothing is told
KINDS = tuple(Baseline.Kind.values)

Kind = Verdict.Kind


@dataclass(frozen=True)
class Numbers:
    """What a verdict rests on. None = no number."""

    difference: float | None  # of the means, tonight minus the baseline
    low: float | None  # one-sided limits at LEVEL each
    high: float | None
    queries: int
    margin: float
    label: str
    without: str  # why the second reading has no expected gains, but the judgments that are best for the night
    p: float | None  # of the test of all nights so far; None where nothing was tested
    allowed: float | None  # the chance of a false alarm that may be spent down to this night
    threshold: float | None  # of the statistic of the test; None where no flip may cross yet
    is_minority: bool  # whether fewer than half of the queries that the watch asked for count
    skewness: float | None
    skewed: bool  # whether so few queries with so skewed differences give more false alarms
    needed: int | None  # about how many queries would decide
    unjudged: int  # documents that nobody judged and that decide: `holes.deciding`
    again: float | None  # the difference of the mean by the second answers of the engine
    is_loss: bool  # whether the night alone shows a loss in both readings, without the test of all nights
    unchanged: bool  # since the night before, so that nothing was tested
    why: str  # why there is no verdict; "" where there is one
    expected: float | None = None  # `difference` with unjudged documents at their expected gain
    expected_low: float | None = None
    expected_high: float | None = None
    at_best: float | None = None  # `difference` with the judgments that are best for the night: `holes.at_best`
    at_best_low: float | None = None
    at_best_high: float | None = None


@dataclass(frozen=True, eq=False)
class Compared:
    """A night against one baseline, on the queries that count for both."""

    plain: np.ndarray  # float64[queries], nan where one has no value
    second: np.ndarray  # with unjudged documents at their expected gain, or as good for the night as they can be
    why_not_expected: str  # why it is the latter; "" where it is the former
    counted: np.ndarray  # bool[queries]
    unjudged: int  # how many unjudged documents decide
    sampled: Sampled | None  # what the counted queries stand for
    keys: np.ndarray  # int64[queries]: pks

    @classmethod
    def of(cls, night: Scored, kind: str) -> "Compared":
        """The night compared with the system that is the baseline of this kind, query by query.

        Documents that nobody judged are read in two ways: `plain`, as the options say; `second`, at their expected
        gain or, where there are no expected gains, with the judgments that are best for the night.
        """
        evaluation, sampled = night.evaluation, night.samples[kind]
        names = [TONIGHT, night.baselines[kind]]
        tonight, baseline = (evaluation.table.record.rankings[name] for name in names)
        values = evaluation.counting(names)
        # A query that came to the collection after the baseline has no ranking of it, which is no empty list.
        counted = common_queries(values) & baseline.present
        if sampled is not None:  # only queries of the sample of the log
            counted &= sampled.stratum != OUTSIDE
        judgments = evaluation.judgments
        # The unjudged documents that the two rank at different places, a row for each.
        unjudged = holes.ranked_differently(judgments, tonight, baseline, night.depth)
        unjudged = unjudged[counted[unjudged["query"]]]  # only those of counted queries
        why_not_expected = night.why_not_expected
        if not why_not_expected and not night.expected.keys() >= set(names):
            why_not_expected = "a system came or went while the night was scored"
        if why_not_expected:
            second = holes.at_best(evaluation.asked, judgments, (tonight, baseline), unjudged, night.scale)
        else:
            second = np.column_stack([night.expected[name] for name in names])
        # Both readings need the same queries. A query has no second value where it has nothing to find in any draw
        # of its missing judgments. The second reading then has its plain values.
        has_no_second = np.isnan(second).any(axis=1)[:, np.newaxis]  # both arrays of values: [queries, names]
        return cls(
            plain=paired.difference_on(counted, values),
            second=paired.difference_on(counted, np.where(has_no_second, values, second)),
            why_not_expected=why_not_expected,
            counted=counted,
            # Those that only one list returns. Where there are none, only places differ, and all of them decide.
            unjudged=len(holes.deciding(unjudged)),
            sampled=sampled and sampled.answered(counted),  # the counted queries stand for all of their stratum
            keys=evaluation.table.record.queries["pk"].to_numpy(),
        )

    @property
    def readings(self) -> list[np.ndarray]:
        """The differences of the counted queries in both readings, float64[counted] each."""
        return [self.plain[self.counted], self.second[self.counted]]

    @property
    def tested(self) -> tuple[list[np.ndarray], list[int]]:
        """The differences that are flipped, in each reading, and the keys of their queries.

        Queries that were taken for certain from a log are no sample, and are not flipped.
        """
        readings, keys = self.readings, self.keys[self.counted]
        if self.sampled is not None:
            readings = [pseudo_values(each[:, np.newaxis], self.sampled)[:, 0] for each in readings]
            keys = keys[self.sampled.stratum >= 0]
        return readings, keys.tolist()

    def limits(self, margin: float) -> list[Limits]:
        """The verdict of the night alone, in each reading."""
        return [limits(each, margin, LEVEL, self.sampled) for each in self.readings]


def verdict_on(night: Night, kind: str, scored: Scored, before: Verdict | None, again: Scored | None) -> Verdict:
    """The verdict on the night against the baseline of this kind.

    before: the last verdict against the same kind of baseline, None for none; again: the night by the second
    answers of the engine, None where it was asked once.
    """
    watch, name = night.watch, scored.baselines[kind]
    compared = Compared.of(scored, kind)
    path = Path.after(before, watch, kind, name, scored.evaluation.label)
    differences = by_query_of_night(scored.evaluation, night, compared.plain)
    one_night = compared.limits(watch.margin)
    unchanged = before is not None and path.continues and _reads_the_same(before, night, differences, one_night)
    if unchanged or path.has_alarm:
        # Nothing is tested. A verdict that judgments decide the night stays as it was.
        test = Test(is_plain_alarm=before is not None and before.kind == Kind.JUDGMENTS)
    else:
        test = run_test(night, path, compared, Compared.of(again, kind) if again else None)
    verdict_kind = told_by(path, test, [reading.verdict for reading in one_night])
    crossed = test.look.crossed if test.look else path.crossed
    return Verdict(
        night=night,
        baseline=kind,
        system=System.objects.get(collection=watch.collection, name=name),
        name=name,
        kind=verdict_kind,
        numbers=asdict(
            Numbers(
                **numbers_of(compared, test, one_night),
                margin=watch.margin,
                label=scored.evaluation.label,
                without=compared.why_not_expected,
                needed=one_night[0].needed if verdict_kind == Kind.UNDECIDED else None,
                unjudged=compared.unjudged,
                unchanged=unchanged,
                is_minority=2 * int(compared.counted.sum()) < len(night.queries),
            )
        ),
        differences=differences,
        path=path.number,
        spent_before=path.spent_before,
        spent=path.spent_before + float(crossed.mean()),  # the share of flips that crossed on this path
        crossed=np.packbits(crossed),
    )


@dataclass(frozen=True, eq=False)
class Test:
    """The test of all nights so far. Without a `look` nothing was tested."""

    look: nightly.Look | None = None
    is_plain_alarm: bool = False  # whether it is an alarm with unjudged documents as the options say
    accrued_budget: float | None = None  # the chance of a false alarm that may be spent down to this night
    difference_again: float | None = None  # the mean difference by the engine's second answers
    why: str = ""  # why there is no verdict


def run_test(night: Night, path: "Path", compared: Compared, again: Compared | None) -> Test:
    """The test of the nights of the path down to this one, or why the queries of the night cannot be tested.

    A path is a run of nights against the same baseline. Each night has a look at it, a test that may use up a part
    of the budget of false alarms. It compares the differences with flips: the same differences with random signs.
    path.crossed: which flips were above the threshold of an earlier night. again: the comparison by the engine's
    second answers, None where it was asked once. An alarm that they do not confirm is taken back. In any case the
    test has the mean difference by them, in the plain reading: unjudged documents as the options say.
    """
    if why := _why_not(compared):
        return Test(why=why)
    watch = night.watch
    differences, keys = compared.tested
    readings = [reading + watch.margin for reading in differences]  # only a loss above the margin counts
    # With one day for the first night. No less than that, should the clock have been set back.
    days = max((night.due_at - watch.created_at).total_seconds() / 86_400, 0.0) + 1
    # The baselines share the budget of a year equally. This much of one share may be spent by this night.
    accrued_budget = nightly.budget(watch.budget / len(KINDS), days)
    signs = nightly.Signs(path.seed, keys)
    may_spend = accrued_budget - path.spent_before  # without what former paths used up
    look = nightly.look(readings, signs, path.crossed, may_spend)
    # An alarm has to hold in both readings of unjudged documents. A plain alarm holds in the first, the plain
    # reading. If it is no alarm in both, the verdict is that judgments decide the night.
    is_plain_alarm = look.is_alarm or nightly.look(readings[:1], signs, path.crossed, may_spend).is_alarm
    if again is None:
        return Test(look, is_plain_alarm, accrued_budget)
    plain_again, _ = again.limits(margin=0.0)  # the margin does not matter for the difference
    why = ""
    if look.is_alarm and not _holds(again, look, watch.margin):
        second_answer = "other results" if again.counted.any() else "no answer"
        why = f"the engine gave {second_answer} when it was asked again"
        look, is_plain_alarm = look.without_alarm(), False  # no judgments decide a loss that was not confirmed
    return Test(look, is_plain_alarm, accrued_budget, plain_again.difference, why)


def told_by(path: "Path", test: Test, one_night: list[str]) -> str:
    """The kind of verdict on a night. one_night: the verdicts of the night alone, in each reading."""
    if path.has_alarm or (test.look and test.look.is_alarm):
        return Kind.WORSE
    if test.is_plain_alarm:
        return Kind.JUDGMENTS
    return Kind.NOT_WORSE if agreed(one_night) == NOT_WORSE else Kind.UNDECIDED


def numbers_of(compared: Compared, test: Test, one_night: list[Limits]) -> dict[str, Any]:
    """The fields of `Numbers` that come from the comparison, the test and the limits of the night, by name.

    one_night: the limits of the night alone with unjudged documents as the options say, then in the second
    reading: at their expected gain or with the best judgments for the night, as `compared` has it. The test
    compares a statistic with that of flips, sets of random signs. Its threshold is inf where no flip may be above
    it yet, and -inf where every flip may.
    """
    plain, second = one_night
    second_name = "at_best" if compared.why_not_expected else "expected"
    look = test.look  # of the test of all nights; None where nothing was tested
    shows_loss = agreed([reading.verdict for reading in one_night]) == WORSE
    plain_differences = np.empty(0)  # stays empty where no query counts
    if compared.counted.any():
        differences_by_reading, _ = compared.tested
        plain_differences = differences_by_reading[0]
    return {
        "difference": plain.difference,
        "low": plain.low,
        "high": plain.high,
        "queries": plain.queries,
        second_name: second.difference,
        f"{second_name}_low": second.low,
        f"{second_name}_high": second.high,
        "p": look.p if look else None,
        "allowed": test.accrued_budget,
        # JSON has no infinity.
        "threshold": look.threshold if look and np.isfinite(look.threshold) else None,
        "skewness": nightly.skewness(plain_differences) if len(plain_differences) else None,
        "skewed": nightly.is_skewed(plain_differences),
        "again": test.difference_again,  # by the second answers, which have to confirm a new alarm
        "is_loss": look is not None and shows_loss,
        "why": test.why,
    }


@dataclass(frozen=True, eq=False)
class Path:
    """The nights that are compared with the same baseline in the same way, until somebody answers an alarm."""

    number: int  # from 1, among the paths of the watch against this kind of baseline
    crossed: np.ndarray  # bool[flips]: whether each flip crossed in an earlier night of this path
    spent_before: float  # of the budget, on former paths
    seed: tuple[int, ...]  # of the flips
    continues: bool  # whether the night before is on this path, too

    @classmethod
    def after(cls, last: Verdict | None, watch: Watch, kind: str, name: str, label: str) -> "Path":
        """The path of the verdict that follows `last`: the path of `last`, or a new one with other flips.

        A path is a run of nights that are tested together, and a flip is one set of random signs for the
        differences of queries. A flip has crossed once its statistic was above the threshold of a night, and stays
        crossed for the rest of the path. The share of flips that have crossed is the chance of a false alarm so
        far: it is spent of the budget, which is that of the watch. So what former paths spent cannot be spent
        again. kind, name: of the baseline and of its system; label: of the measure with its options.
        """
        # The number of the path is added below. Another system or label begins another path, with another number.
        seed = (watch.seed, KINDS.index(kind))
        if last is not None and _goes_on(last, watch, name, label):
            crossed = np.unpackbits(last.crossed, count=nightly.FLIPS).astype(bool)
            return cls(last.path, crossed, last.spent_before, (*seed, last.path), continues=True)
        number = last.path + 1 if last else 1
        spent_before = last.spent if last else 0.0  # on all paths down to that verdict
        none_crossed = np.zeros(nightly.FLIPS, bool)
        return cls(number, none_crossed, spent_before, (*seed, number), continues=False)

    @property
    def has_alarm(self) -> bool:
        """Whether an alarm stands that nobody answered."""
        return bool(self.crossed[0])  # flip 0 is what was observed


def _goes_on(last: Verdict, watch: Watch, name: str, label: str) -> bool:
    """Whether the path of `last` goes on: same question, same baseline, and nobody answered an alarm of it."""
    same_question = (last.numbers["margin"], last.numbers["label"]) == (watch.margin, label)
    # A system that was deleted has no id any more. Another one may have its name since.
    same_baseline = last.system_id is not None and last.name == name
    return same_question and same_baseline and not last.is_answered


def _why_not(compared: Compared) -> str:
    """Why these queries cannot be tested; "" if they can."""
    readings, keys = compared.tested if compared.counted.any() else ([], [])  # without a query there is no sample
    if compared.sampled is not None and compared.sampled.left_out:
        return "no query of the head, or of another stratum of the log, counts for both"
    if compared.sampled is not None and len(keys) < FEWEST_OF_LOG:
        return f"fewer than {FEWEST_OF_LOG} queries that were drawn from the log count for both"
    if len(keys) < FEWEST:
        return f"fewer than {FEWEST} queries count for both"
    return "" if readings[0].any() else "no query differs"


def _reads_the_same(before: Verdict, night: Night, differences: np.ndarray, one_night: list[Limits]) -> bool:
    """Whether a test of this night would read the same numbers as in the night before, so that none is needed.

    before: the verdict of the night before; differences: of this night, by query; one_night: the limits of this
    night alone, in both readings of the documents that nobody judged: as the options say; at their expected gain,
    or with the best judgments for the night. False in any case after an alarm that the engine's second answers did
    not confirm: if the same loss is there the next night, it has to be told.
    """
    numbers = before.numbers
    was_tested = numbers["p"] is not None
    if was_tested and numbers["why"]:  # only an alarm that was not confirmed has both
        return False
    plain, second = one_night
    # `without` is the reason why the night before had the best judgments in place of expected gains, if it had.
    second_before = numbers["at_best"] if numbers["without"] else numbers["expected"]
    # New judgments of gain 0 change only the second reading. That matters only after the verdict that judgments
    # decide the night: now the alarm of the plain reading may hold in the second one, too.
    if before.kind == Kind.JUDGMENTS and not _near(second_before, second.difference):
        return False
    return (
        # The means are compared, too: they also change with the weights of queries.
        _near(numbers["difference"], plain.difference)
        and np.array_equal(before.night.queries, night.queries)
        and np.array_equal(before.differences, differences, equal_nan=True)
    )


def _near(one: float | None, other: float | None) -> bool:
    """Whether both numbers are the same mean, up to the rounding of another machine."""
    return one is other if one is None or other is None else abs(one - other) < ROUNDING


def _holds(again: Compared, look: nightly.Look, margin: float) -> bool:
    """Whether the second answers are above the threshold of the alarm, too."""
    if _why_not(again):
        return False
    readings, _ = again.tested
    return nightly.drop_of([each + margin for each in readings]) > look.threshold

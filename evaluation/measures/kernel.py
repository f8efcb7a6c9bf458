"""Scores of one system: the value of each measure and query, and why a query does not count in the mean."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from .arrays import Judgments, Rankings
from .grading import GradedRankings, grade_rankings
from .notation import Measure, parse_measure, with_gmax
from .options import Options
from .parameters import DCG_FORMS
from .reasons import (
    COUNTED,
    NO_RANKING,
    NOT_JUDGED,
    NOTHING_TO_FIND,
    UNJUDGED_ABOVE_CUTOFF,
)
from .refusal import WrongOption
from .registry import MEASURES


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one system: for each measure, a value and a reason (index in REASONS) by query."""

    values: dict[Measure, np.ndarray]  # float64[queries], nan = no value
    reasons: dict[Measure, np.ndarray]  # int8[queries]

    def counted(self, measure: Measure) -> np.ndarray:
        """Which queries count in a mean, bool[queries]."""
        return self.reasons[measure] == COUNTED

    def counting(self, measure: Measure) -> np.ndarray:
        """The values that count in a mean, float64[queries]; nan for others, even for known ones."""
        return np.where(self.counted(measure), self.values[measure], np.nan)

    def mean(self, measure: Measure) -> float:
        """The mean over the queries that count, each weighing the same; nan if none does."""
        return mean(self.values[measure], self.counted(measure))


def evaluate(
    measures: Iterable[Measure | str], judgments: Judgments, rankings: Rankings, options: Options
) -> Scores:
    """The scores of one system's rankings, without a loop over queries.

    Rankings and judgments are joined once for all measures with the same options in force.

    ValueError where measures, options, judgments and rankings do not fit together, e.g. ERR without gmax. Ties
    other than `rank` need rankings with scores.
    """
    parsed = [parse_measure(measure) if isinstance(measure, str) else measure for measure in measures]
    for measure in parsed:
        _refuse_unfit(measure, options)
    scores = Scores({}, {})
    graded_by: dict[Options, GradedRankings] = {}  # most measures share their options in force
    for measure in parsed:
        in_force = effective(measure, options)
        if in_force not in graded_by:
            graded_by[in_force] = grade_rankings(judgments, rankings, in_force)
        scores.values[measure], scores.reasons[measure] = _score(measure, graded_by[in_force])
    return scores


def effective(measure: Measure, options: Options) -> Options:
    """The options in force for `measure`: its parameter dcg, if it has one, replaces gain and discount."""
    form = dict(measure.params).get("dcg")
    if form is None:
        return options
    return replace(options, gain=DCG_FORMS[form], gain_map=None, discount="log_shift", log_base=2.0)


def _refuse_unfit(measure: Measure, options: Options) -> None:
    if options.ties == "average" and not MEASURES[measure.name].sums_ranks:
        raise WrongOption("ties", f"ties=average cannot give {measure}, which is not a sum over ranks.")
    if measure.lacks_gmax:
        example = with_gmax(measure, 3)
        raise ValueError(f"{measure} needs gmax, the highest grade of the scale, for example {example}.")


def _score(measure: Measure, graded: GradedRankings) -> tuple[np.ndarray, np.ndarray]:
    """The value of each query, float64[queries], nan for none, and its reason, int8[queries]: see REASONS.

    Of several reasons, the one that is set last below counts. A query can have a value and not count in the mean.
    """
    definition = MEASURES[measure.name]
    options = graded.options
    # The parameter dcg acts through the options, which graded the rankings: see `effective`.
    params = {name: value for name, value in measure.params if name != "dcg"}
    values = definition.function(graded, measure.cutoff, **params)
    reasons = np.full(graded.queries, COUNTED, np.int8)
    reasons[np.isnan(values)] = definition.why_undefined
    if options.undefined == "zero":
        values[reasons == NOTHING_TO_FIND] = 0.0
        reasons[reasons == NOTHING_TO_FIND] = COUNTED

    if options.unjudged == "require" and definition.reads_judgments:
        # A value that reads an unjudged document is withheld. depth: the last rank that the value reads.
        depth = definition.depth(graded, **params) if definition.depth else measure.cutoff
        is_withheld = ~_judged_down_to(depth, graded)
        values[is_withheld], reasons[is_withheld] = np.nan, UNJUDGED_ABOVE_CUTOFF
    values[~graded.answered], reasons[~graded.answered] = np.nan, NO_RANKING
    has_no_judgment = graded.judgments.count == 0
    reasons[has_no_judgment] = NOT_JUDGED
    if not definition.needs_no_judgment:  # DCG and others have a value even so, which counts in no mean
        values[has_no_judgment] = np.nan
    return values, reasons


def _judged_down_to(depth: np.ndarray | int | None, graded: GradedRankings) -> np.ndarray:
    """Whether every document down to the depth is judged, bool[queries]. An array has a depth for each query."""
    if not isinstance(depth, np.ndarray):
        return graded.judged_to(depth) == graded.listed_to(depth)
    above = graded.rank <= depth[graded.query]
    return graded.total(graded.expected(graded.judged) * above, None) == np.minimum(graded.length, depth)


def mean(values: np.ndarray, counted: np.ndarray) -> float:
    """The arithmetic mean of the values that count; nan if none does."""
    return float(np.mean(values[counted])) if counted.any() else float("nan")

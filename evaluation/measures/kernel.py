"""Measures x queries for one system: the values, which of them count, and why the others do not."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .arrays import Judgments, Rankings
from .grading import GradedRankings, grade_rankings
from .notation import Measure, parse_measure
from .options import Options
from .reasons import COUNTED, NO_RANKING, NOT_JUDGED, NOTHING_TO_FIND, REASONS, UNJUDGED_ABOVE_CUTOFF
from .registry import MEASURES, Definition


@dataclass(frozen=True, eq=False)
class Scores:
    """What one system scored: for each measure a value and a reason (index in REASONS) for every query."""

    options: Options
    values: dict[Measure, np.ndarray]  # float64[queries], nan = no value
    reasons: dict[Measure, np.ndarray]  # int8[queries]

    def counted(self, measure: Measure) -> np.ndarray:
        """Which queries count in a mean, bool[queries]."""
        return self.reasons[measure] == COUNTED

    def mean(self, measure: Measure) -> float:
        """The mean over the queries that count, each weighing the same; nan if none does."""
        return mean(self.values[measure], self.counted(measure))

    def tally(self, measure: Measure) -> dict[str, int]:
        """How many queries count, and how many do not for which reason, e.g. {"counted": 9, "not judged": 1}."""
        counts = np.bincount(self.reasons[measure], minlength=len(REASONS))
        return {reason: int(n) for reason, n in zip(REASONS, counts, strict=True) if n or reason == "counted"}

    def label(self, measure: Measure) -> str:
        """What to print beside a number: "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax"."""
        return f"{measure} {self.options.fingerprint()}"


def evaluate(
    measures: Iterable[Measure | str], judgments: Judgments, rankings: Rankings, options: Options
) -> Scores:
    """Score one system's rankings of a whole collection. No loop over queries; one join serves all measures.

    ValueError where options, judgments and rankings do not fit together, e.g. ties=score without scores.
    """
    measures = [parse_measure(measure) if isinstance(measure, str) else measure for measure in measures]
    for measure in measures:
        if options.ties == "average" and not MEASURES[measure.name].sums_ranks:
            raise ValueError(f"ties=average cannot give {measure}, which is not a sum over ranks")
    graded = grade_rankings(judgments, rankings, options)
    scores = Scores(options, {}, {})
    for measure in measures:
        scores.values[measure], scores.reasons[measure] = _score(measure, graded)
    return scores


def _score(measure: Measure, graded: GradedRankings) -> tuple[np.ndarray, np.ndarray]:
    definition, options = MEASURES[measure.name], graded.options
    values = definition.function(graded, measure.cutoff, **dict(measure.params))
    reasons = np.full(graded.queries, COUNTED, np.int8)
    reasons[np.isnan(values)] = definition.why_undefined
    if options.undefined == "zero":
        values[reasons == NOTHING_TO_FIND] = 0.0
        reasons[reasons == NOTHING_TO_FIND] = COUNTED

    if options.unjudged == "require" and definition.of_judgments:
        complete = graded.judged_to(measure.cutoff) == graded.listed_to(measure.cutoff)
        _withhold(values, reasons, ~complete, UNJUDGED_ABOVE_CUTOFF)
    if options.missing == "skip":
        _withhold(values, reasons, ~graded.present, NO_RANKING)
    return _without_judgments(values, reasons, definition, graded.judgments)


def _withhold(values: np.ndarray, reasons: np.ndarray, where: np.ndarray, reason: int) -> None:
    values[where], reasons[where] = np.nan, reason


def _without_judgments(
    values: np.ndarray, reasons: np.ndarray, definition: Definition, judgments: Judgments
) -> tuple[np.ndarray, np.ndarray]:
    unjudged = judgments.count == 0
    reasons[unjudged] = NOT_JUDGED
    if not definition.without_judgments:
        values[unjudged] = np.nan
    return values, reasons


def mean(values: np.ndarray, counted: np.ndarray) -> float:
    """The arithmetic mean of the values that count; nan if none does."""
    return float(np.mean(values[counted])) if counted.any() else float("nan")


def weighted_mean(values: np.ndarray, counted: np.ndarray, weights: np.ndarray) -> float:
    """The mean of the values that count, each by its query's weight (not negative); nan if nothing weighs."""
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("weights must be finite and not negative")
    weight = weights[counted].sum()
    return float(values[counted] @ weights[counted] / weight) if weight > 0 else float("nan")

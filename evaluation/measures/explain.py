"""The computation of nDCG for one query, rank by rank. The rows sum to the values that `evaluate` returns."""

from dataclasses import dataclass

import numpy as np

from .arrays import Judgments, Rankings
from .cumulative import ROUNDING, min_dcg
from .grading import GradedLists, grade_rankings
from .ideal import best_lists
from .kernel import evaluate
from .notation import Measure
from .options import Options
from .reasons import REASONS


@dataclass(frozen=True)
class Row:
    """One rank of a list. Under ties=average, `gain` is the mean gain of the tied documents."""

    rank: int
    document: int
    grade: float  # nan = unjudged
    gain: float
    discount: float
    contribution: float  # gain x discount
    running: float  # the DCG down to this rank


@dataclass(frozen=True)
class Explanation:
    """The parts of nDCG = (dcg - min_dcg) / span. `reason` is "counted", or why the query does not count."""

    ranking: list[Row]  # sums to dcg
    ideal: list[Row]  # sums to idcg
    cg: float
    dcg: float
    idcg: float
    min_dcg: float
    ndcg: float
    reason: str

    @property
    def span(self) -> float:
        """idcg - min_dcg; 0.0 where the ideal and the worst list are the same, so that nDCG is undefined."""
        span = self.idcg - self.min_dcg
        return span if span > ROUNDING * sum(abs(row.contribution) for row in self.ideal) else 0.0


def explain(
    cutoff: int | None, judgments: Judgments, rankings: Rankings, options: Options, query: int
) -> Explanation:
    """The computation of nDCG at `cutoff` (None: the whole ranking) for query number `query`."""
    judgments, rankings = judgments.only(query), rankings.only(query)
    measures = [Measure(name, cutoff) for name in ("CG", "DCG", "IDCG", "nDCG")]
    scores = evaluate(measures, judgments, rankings, options)
    # [0]: the only query.
    cg, dcg, idcg, ndcg = (float(scores.values[measure][0]) for measure in measures)
    graded = grade_rankings(judgments, rankings, options, every_row=True)
    return Explanation(
        ranking=_rows(graded, cutoff),
        ideal=_rows(best_lists(graded), cutoff),
        cg=cg,
        dcg=dcg,
        idcg=idcg,
        min_dcg=float(min_dcg(graded, cutoff)[0]),
        ndcg=ndcg,
        reason=REASONS[scores.reasons[measures[-1]][0]],  # of nDCG
    )


def _rows(lists: GradedLists, cutoff: int | None) -> list[Row]:
    """The rows of lists of a single query, down to the cutoff."""
    running = np.cumsum(lists.contribution)
    columns = (lists.rank, lists.document, lists.grade, lists.gain, lists.discount, lists.contribution, running)
    top = [column[:cutoff].tolist() for column in columns]
    return [Row(*row) for row in zip(*top, strict=True)]

"""Ranked lists with the grade, gain and discount of every row: the input of all measures."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arrays import Judgments, Rankings, pair_key
from .discounts import discount
from .gains import gain
from .matching import match
from .options import BY_SCORE, Options
from .ties import by_score_only, ranks_by_score


@dataclass(frozen=True, eq=False)
class GradedLists:
    """One list of documents for each query, packed: query after query, rank after rank."""

    queries: int
    query: np.ndarray
    rank: np.ndarray  # from 1
    documents: np.ndarray  # a superset of the documents of the rows
    row: np.ndarray  # the index in `documents` of each row
    grade: np.ndarray  # nan = unjudged
    gain: np.ndarray
    discount: np.ndarray

    @cached_property
    def document(self) -> np.ndarray:
        """The document of each row, computed on demand: most measures do not need it."""
        return self.documents[self.row]

    @cached_property
    def contribution(self) -> np.ndarray:
        """The discounted gain of each row: what it adds to the DCG."""
        return self.gain * self.discount

    def total(self, values: np.ndarray, cutoff: int | None) -> np.ndarray:
        """The sum of `values` down to the cutoff, float64[queries]."""
        if cutoff is not None:
            values = values * (self.rank <= cutoff)
        # For no rows, bincount returns integers.
        return np.bincount(self.query, values, self.queries).astype(np.float64, copy=False)

    def dcg(self, cutoff: int | None) -> np.ndarray:
        """The sum of the contributions down to the cutoff, float64[queries]. Cached, as ideal lists are."""
        if cutoff not in self._dcg:
            self._dcg[cutoff] = self.total(self.contribution, cutoff)
        return self._dcg[cutoff].copy()

    @cached_property
    def _dcg(self) -> dict[int | None, np.ndarray]:
        return {}


@dataclass(frozen=True, eq=False)
class GradedRankings(GradedLists):
    """One system's rankings under the options. Unjudged rows that cannot matter may be left out.

    Under ties=average, a gain is the mean of the tied documents; a grade stays that of the document.
    """

    judgments: Judgments
    options: Options
    judged: np.ndarray  # bool[rows]
    length: np.ndarray  # int64[queries], of the condensed ranking under unjudged=condensed
    answered: np.ndarray  # bool[queries], False for a gap and, under missing=skip, for a missing ranking
    tie: np.ndarray | None  # int64[rows], the tie group; None unless ties=average

    def expected(self, values: np.ndarray) -> np.ndarray:
        """`values` by row; under ties=average their mean over the tie group (McSherry & Najork 2008)."""
        return values.astype(np.float64) if self.tie is None else _mean_of_group(values, self.tie)

    def relevant(self, least: float | None) -> np.ndarray:
        """1.0 where the grade is at least `least` (by default the options' relevant_from), float64[rows]."""
        return self.expected(self.grade >= (self.options.relevant_from if least is None else least))

    def judged_to(self, cutoff: int | None) -> np.ndarray:
        """The number of judged documents down to the cutoff, float64[queries]."""
        return self.total(self.expected(self.judged), cutoff)

    def listed_to(self, cutoff: int | None) -> np.ndarray:
        """The number of documents down to the cutoff, int64[queries]."""
        return self.length if cutoff is None else np.minimum(self.length, cutoff)


def grade_rankings(
    judgments: Judgments, rankings: Rankings, options: Options, every_row: bool = False
) -> GradedRankings:
    """The rankings joined with the judgments, for all measures and cutoffs; `every_row` keeps unjudged rows."""
    tie = None
    if options.ties == "average":
        rankings, tie = by_score_only(rankings)
    row, judgment = match(judgments, rankings)
    grades = judgments.grade
    if options.unjudged != "condensed" and (every_row or tie is not None or options.assumed_grade is not None):
        row, judgment = _with_unjudged(row, judgment, rankings)
        query = rankings.query
        grades = np.append(grades, np.nan if options.assumed_grade is None else options.assumed_grade)
    else:
        query = judgments.query[judgment]
    rank = row - rankings.offsets[query] + 1
    if options.ties in BY_SCORE:
        rank = ranks_by_score(rankings, row, query, options.ties)
        order = np.argsort(pair_key(query, rank))
        row, judgment, query, rank = row[order], judgment[order], query[order], rank[order]
    length = rankings.length
    if options.unjudged == "condensed":
        length = np.bincount(query, minlength=judgments.queries)
        rank = np.arange(len(row)) - (np.cumsum(length) - length)[query] + 1

    grade = grades[judgment]
    tie = None if tie is None else tie[row]
    gains = gain(grade, options)
    return GradedRankings(
        queries=judgments.queries,
        query=query,
        rank=rank,
        documents=rankings.documents,
        row=row,
        grade=grade,
        gain=gains if tie is None else _mean_of_group(gains, tie),
        discount=discount(rank, options),
        judgments=judgments,
        options=options,
        judged=judgment >= 0,
        length=length,
        answered=np.asarray(rankings.present) | (options.missing == "empty" and not rankings.gaps),
        tie=tie,
    )


def _with_unjudged(row: np.ndarray, judgment: np.ndarray, rankings: Rankings) -> tuple[np.ndarray, np.ndarray]:
    """All rows of the rankings, and the judgment of each, -1 for none."""
    of_every_row = np.full(len(rankings.documents), -1)
    of_every_row[row] = judgment
    return np.arange(len(rankings.documents)), of_every_row


def _mean_of_group(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """For each row the mean of `values` over its group, float64[rows]."""
    size = np.maximum(np.bincount(group), 1)
    return (np.bincount(group, values) / size)[group]

"""The rankings in run files: the order of their results, repeated documents and contradictory ranks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from ..words import counted
from .refusal import KEEP_ONE, Cure, Option, Refusal
from .rows import Stretch
from .source import Source

ORDERS = ("rank", "score")
SYSTEM_FROM = ("file", "tag")  # what names a system where several files have one run tag
KEEP_FIRST = Option("keep_first", True, "the better place counts")
RANKS_BEGIN_ANEW = "The ranks of this query start again here, as if another system began"
TWO_RANKINGS_CURE = f"{RANKS_BEGIN_ANEW}. Put each system in its own file."
BY_RANK = Option("order", "rank", "the rank counts")
BY_SCORE = Option("order", "score", "the score counts")


@dataclass
class FoundRanking:
    """One ranking of the files, in the order of their lines."""

    system: str
    query: int
    files: np.ndarray
    lines: np.ndarray
    ranks: np.ndarray  # int64
    scores: np.ndarray  # float64
    documents: list[str]
    copies: int = 0  # results left out because their document stands at a better place

    def __len__(self) -> int:
        """The number of results."""
        return len(self.documents)


class NearTie(NamedTuple):
    """Two scores of one ranking that differ, but not as 32-bit floats, as trec_eval 9 compares them."""

    line: int  # of `score`
    score: float
    earlier: float  # the other score

    def warning(self, file: str) -> str:
        """The warning of a file whose first near tie this is."""
        place = f"{file}, line {self.line}" if self.line else file
        return (
            f"{place}: the scores {self.earlier} and {self.score} of one query differ, but are equal in 32 bits."
            " trec_eval 9 and pytrec_eval compare 32 bits, so they can give other numbers than trec_eval 10;"
            " ties=trec_eval_9 gives theirs."
        )


def system_of_file(name: str) -> str:
    """The system that is named by its file: the name without folders and .gz."""
    return PurePath(name).name.removesuffix(".gz")


def in_32_bits(scores: np.ndarray) -> np.ndarray:
    """Scores as 32-bit floats, as trec_eval 9 compares them; those beyond its range are infinite and tie."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32)


def near_tie(lines: np.ndarray, scores: np.ndarray) -> NearTie | None:
    """The first line of a ranking whose score differs from an earlier one, but not as a 32-bit float; or None.

    `lines` and `scores`: the number of the line and the score of each result, int64 and float64[results].
    """
    scores_32 = in_32_bits(scores)
    # bool[results - 1], of each result but the first: whether its score and the one before it are a near tie.
    ties_nearly = (scores_32[1:] == scores_32[:-1]) & (scores[1:] != scores[:-1])
    is_descending = not (scores_32[1:] > scores_32[:-1]).any()
    if is_descending and not ties_nearly.any():
        return None  # in descending order, only neighbours can be equal; most files are so, and need no sort
    # Sorted into groups of scores that are equal in 32 bits, and by line within a group.
    order = np.lexsort((lines, scores_32))
    lines, scores_32, scores = lines[order], scores_32[order], scores[order]
    is_first_of_group = np.append(True, scores_32[1:] != scores_32[:-1])
    group = np.cumsum(is_first_of_group) - 1  # int64[results]: the number of the group of each score
    # For each score, the one on the first line of its group. The first line that differs from any earlier one of
    # its group differs from this one, too, as all lines between them are equal to it.
    earlier_scores = scores[is_first_of_group][group]
    differing_indices = np.flatnonzero(scores != earlier_scores)
    if not differing_indices.size:
        return None
    first = differing_indices[np.argmin(lines[differing_indices])]  # on the line with the lowest number
    return NearTie(int(lines[first]), float(scores[first]), float(earlier_scores[first]))


def best_first(ranking: FoundRanking | Stretch, order: str | None) -> np.ndarray:
    """The positions of the results, best first: int64[results].

    With the order "score" ties are broken as in trec_eval, by the key of the document, descending. With any other,
    equal ranks stay in the order of their lines.
    """
    if order != "score":
        return np.argsort(ranking.ranks, kind="stable")
    return np.lexsort((-places_by_key(ranking, ranking.scores), -ranking.scores))


def without_copies(ranking: FoundRanking | Stretch, order: str | None) -> np.ndarray:
    """The positions of the results, in their order, without those whose document has a better place."""
    best: dict[str, int] = {}
    for i in best_first(ranking, order).tolist():
        best.setdefault(str(ranking.documents[i]), i)
    return np.sort(np.fromiter(best.values(), np.int64))


def places_by_key(ranking: FoundRanking | Stretch, scores: np.ndarray) -> np.ndarray:
    """The place of each result among those of equal score, by the keys of documents, ascending: int64[results].

    Only the order of the places within one score has a meaning. 0 for a result whose score no other has.
    """
    order = np.argsort(scores)
    equals_next = scores[order][1:] == scores[order][:-1]  # bool[results - 1], in the order of scores
    # The indices of results whose score equals the next or the previous one.
    tied_indices = order[np.append(equals_next, False) | np.append(False, equals_next)]
    tied_by_key = sorted(tied_indices.tolist(), key=lambda i: str(ranking.documents[i]))
    places = np.zeros(len(scores), np.int64)
    # Counted over all tied results together: within one score the places ascend by key, which is enough.
    places[tied_by_key] = np.arange(len(tied_by_key))
    return places


def repeats(ranking: FoundRanking, sources: Sequence[Source]) -> Iterator[Refusal]:
    """A refusal for each result whose document an earlier result has. `sources`: by the numbers in `files`."""
    if len(set(ranking.documents)) == len(ranking.documents):
        return  # most rankings have no repeated document
    cure = [TWO_RANKINGS_CURE] if begins_anew(ranking) else [KEEP_ONE, KEEP_FIRST]
    first_index: dict[str, int] = {}  # of each document
    for i, key in enumerate(ranking.documents):
        if (first := first_index.setdefault(key, i)) != i:
            problem = f"document {key} of this ranking of {ranking.system} already appears"
            yield _refusal(ranking, sources, i, problem, *cure, other=first)


def _refusal(
    ranking: FoundRanking, sources: Sequence[Source], i: int, problem: str, *cure: Cure, other: int
) -> Refusal:
    """The refusal of result `i`, which refers to result `other`."""
    source, earlier = (sources[int(ranking.files[place])] for place in (i, other))
    return source.refusal(int(ranking.lines[i]), problem, *cure, other=earlier.at(int(ranking.lines[other])))


def begins_anew(ranking: FoundRanking) -> bool:
    """Whether the ranks count up from the same number more than once, as in two concatenated runs."""
    first = np.flatnonzero(np.append(True, ranking.ranks[1:] <= ranking.ranks[:-1]))  # where ranks begin again
    if len(first) < 2:
        return False
    lengths = np.diff(np.append(first, len(ranking.ranks)))
    first_ranks = ranking.ranks[first]
    return bool((first_ranks == first_ranks[0]).all() and (lengths > 1).all())


def contradictions(ranking: FoundRanking, sources: Sequence[Source], *, agree: bool) -> tuple[int, Refusal] | None:
    """How many results contradict the one above them, and the refusal of the first of them; None where none does.

    The one above is that of the next better rank. A result contradicts it with the same rank, and, if `agree` says
    that scores must agree with ranks, with a higher score.
    """
    by_rank = np.argsort(ranking.ranks, kind="stable")
    ranks, scores = ranking.ranks[by_rank], ranking.scores[by_rank]
    contradicts = ranks[1:] == ranks[:-1]  # bool[results - 1]: of each result but the first
    if agree:
        contradicts |= scores[1:] > scores[:-1]
    if not contradicts.any():
        return None
    # Indices in the order of ranks: the first result that contradicts, and the one above it.
    above = int(np.argmax(contradicts))
    first = above + 1
    if ranks[first] == ranks[above]:
        problem = f"rank {ranks[first]} already appears"
        cure = [TWO_RANKINGS_CURE, BY_SCORE] if begins_anew(ranking) else [BY_SCORE]
    else:
        score_above = f"the {scores[above]} of rank {ranks[above]}"
        problem = f"rank {ranks[first]} has the score {scores[first]}, above {score_above}"
        cure = [BY_RANK, BY_SCORE]
    refusal = _refusal(ranking, sources, int(by_rank[first]), problem, *cure, other=int(by_rank[above]))
    return int(np.count_nonzero(contradicts)), refusal


def all_contradictions(first: Refusal, system: str, count: int, contradicting: int, rankings: int) -> Refusal:
    """One refusal for all contradictions of a system: the first of them, and their number."""
    problem = (
        f"ranks and scores of {system} contradict each other {counted(count, 'time')}"
        f" in {contradicting:,} of {counted(rankings, 'ranking')}: {first.problem}"
    )
    return replace(first, problem=problem)

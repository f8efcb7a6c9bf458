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
ANEW = "The ranks of this query start again here, as if another system began"
TWO_RANKINGS = f"{ANEW}. Put each system in its own file."
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
    """Two scores of one query that differ, but not as 32-bit floats."""

    line: int  # of `score`
    score: float
    earlier: float

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
    """The first near tie in a ranking."""
    narrow = in_32_bits(scores)
    near = (narrow[1:] == narrow[:-1]) & (scores[1:] != scores[:-1])
    if not near.any() and not (narrow[1:] > narrow[:-1]).any():
        return None  # most files are in order, and need no sort
    order = np.lexsort((lines, narrow))
    lines, narrow, scores = lines[order], narrow[order], scores[order]
    begins = np.append(True, narrow[1:] != narrow[:-1])
    earlier = scores[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
    near = np.flatnonzero(scores != earlier)
    if not near.size:
        return None
    first = near[np.argmin(lines[near])]
    return NearTie(int(lines[first]), float(scores[first]), float(earlier[first]))


def best_first(ranking: FoundRanking | Stretch, order: str | None) -> np.ndarray:
    """The positions of the results, best first. By score ties are broken as in trec_eval: by key, descending."""
    if order != "score":
        return np.argsort(ranking.ranks, kind="stable")
    return np.lexsort((-by_key(ranking, ranking.scores), -ranking.scores))


def without_copies(ranking: FoundRanking | Stretch, order: str | None) -> np.ndarray:
    """The positions of the results, in their order, without those whose document has a better place."""
    best: dict[str, int] = {}
    for i in best_first(ranking, order).tolist():
        best.setdefault(str(ranking.documents[i]), i)
    return np.sort(np.fromiter(best.values(), np.int64))


def by_key(ranking: FoundRanking | Stretch, scores: np.ndarray) -> np.ndarray:
    """The places of results among those of equal scores, by the keys of documents; 0 for any other: int64[n]."""
    order = np.argsort(scores)
    equal = scores[order][1:] == scores[order][:-1]
    tied = order[np.append(equal, False) | np.append(False, equal)]
    keys = [str(ranking.documents[i]) for i in tied.tolist()]
    places = np.zeros(len(scores), np.int64)
    places[tied[sorted(range(len(keys)), key=keys.__getitem__)]] = np.arange(len(keys))
    return places


def repeats(ranking: FoundRanking, sources: Sequence[Source]) -> Iterator[Refusal]:
    """A refusal for each result whose document an earlier result has."""
    if len(set(ranking.documents)) == len(ranking.documents):
        return
    cure = [TWO_RANKINGS] if begins_anew(ranking) else [KEEP_ONE, KEEP_FIRST]
    earlier: dict[str, int] = {}
    for i, key in enumerate(ranking.documents):
        if key not in earlier:
            earlier[key] = i
            continue
        problem = f"document {key} of this ranking of {ranking.system} already appears"
        yield _refusal(ranking, sources, i, problem, *cure, other=earlier[key])


def _refusal(
    ranking: FoundRanking, sources: Sequence[Source], i: int, problem: str, *cure: Cure, other: int
) -> Refusal:
    """The refusal of result `i`, which refers to result `other`."""
    source, earlier = (sources[int(ranking.files[place])] for place in (i, other))
    return source.refusal(int(ranking.lines[i]), problem, *cure, other=earlier.at(int(ranking.lines[other])))


def begins_anew(ranking: FoundRanking) -> bool:
    """Whether the ranks count up from the same number more than once, as in two concatenated runs."""
    first = np.flatnonzero(np.append(True, ranking.ranks[1:] <= ranking.ranks[:-1]))
    length = np.diff(np.append(first, len(ranking.ranks)))
    starts = ranking.ranks[first]
    return bool(len(first) > 1 and (starts == starts[0]).all() and (length > 1).all())


def contradictions(ranking: FoundRanking, sources: Sequence[Source], *, agree: bool) -> tuple[int, Refusal] | None:
    """How many places repeat a rank or, with `agree`, score higher than the place above; and the first."""
    by_rank = np.argsort(ranking.ranks, kind="stable")
    ranks, scores = ranking.ranks[by_rank], ranking.scores[by_rank]
    wrong = ranks[1:] == ranks[:-1]
    if agree:
        wrong |= scores[1:] > scores[:-1]
    if not wrong.any():
        return None
    i = int(np.argmax(wrong))
    upper, lower = int(by_rank[i]), int(by_rank[i + 1])
    rank, earlier = ranks[i + 1], ranks[i]
    if rank == earlier:
        problem = f"rank {rank} already appears"
        cure = [TWO_RANKINGS, BY_SCORE] if begins_anew(ranking) else [BY_SCORE]
    else:
        problem = f"rank {rank} has the score {scores[i + 1]}, above the {scores[i]} of rank {earlier}"
        cure = [BY_RANK, BY_SCORE]
    return int(np.count_nonzero(wrong)), _refusal(ranking, sources, lower, problem, *cure, other=upper)


def all_contradictions(first: Refusal, system: str, count: int, contradicting: int, rankings: int) -> Refusal:
    """One refusal for all contradictions of a system: the first of them, and their number."""
    problem = (
        f"ranks and scores of {system} contradict each other {counted(count, 'time')}"
        f" in {contradicting:,} of {counted(rankings, 'ranking')}: {first.problem}"
    )
    return replace(first, problem=problem)

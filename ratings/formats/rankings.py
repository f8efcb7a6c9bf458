"""The results of a run gathered to rankings: what comes first, and where that cannot be said."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .refusal import Refusal, counted
from .source import Source, place

ORDERS = ("rank", "score")


@dataclass
class FoundRanking:
    """One ranking as the files give it, in the order of their lines."""

    system: str
    query: int
    files: np.ndarray
    lines: np.ndarray
    ranks: np.ndarray  # int64
    scores: np.ndarray  # float64
    documents: list[str]
    copies: int = 0  # results left out because their document stands at a better place


@dataclass(frozen=True)
class Contradictions:
    """Where a ranking has a rank twice or, if the two should agree, a lower rank with a higher score."""

    count: int
    first: Refusal


def as_trec_eval(scores: np.ndarray) -> np.ndarray:
    """Scores in the precision in which trec_eval compares them; beyond its range all are infinite and tie."""
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32)
    return np.clip(narrow, np.finfo(np.float32).min, np.finfo(np.float32).max)


def best_first(ranking: FoundRanking, order: str | None) -> np.ndarray:
    """Positions of the results, best first. By score as trec_eval: ties by document key, descending in bytes."""
    if order != "score":
        return np.argsort(ranking.ranks, kind="stable")
    scores = as_trec_eval(ranking.scores).tolist()
    keys = [(score, key.encode()) for score, key in zip(scores, ranking.documents, strict=True)]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__, reverse=True))


def repeats(ranking: FoundRanking, sources: Sequence[Source], cure: str) -> Iterator[Refusal]:
    """A refusal for each result whose document stands in the ranking already."""
    if len(set(ranking.documents)) == len(ranking.documents):
        return
    earlier: dict[str, int] = {}
    for i, key in enumerate(ranking.documents):
        if key not in earlier:
            earlier[key] = i
            continue
        file, first = int(ranking.files[i]), earlier[key]
        where = place(sources, int(ranking.files[first]), int(ranking.lines[first]), seen_from=file)
        yield sources[file].refusal(
            int(ranking.lines[i]),
            f"document {key} stands on {where} already, in the same ranking of {ranking.system}",
            cure,
        )


def contradictions(ranking: FoundRanking, sources: Sequence[Source], *, agree: bool) -> Contradictions | None:
    """Where ranks are no order; `agree` says that the scores must not contradict them either."""
    by_rank = np.argsort(ranking.ranks, kind="stable")
    ranks, scores = ranking.ranks[by_rank], ranking.scores[by_rank]
    compared = as_trec_eval(scores)
    wrong = ranks[1:] == ranks[:-1]
    if agree:
        wrong |= compared[1:] > compared[:-1]
    if not wrong.any():
        return None
    i = int(np.argmax(wrong))
    upper, lower = int(by_rank[i]), int(by_rank[i + 1])
    file = int(ranking.files[lower])
    where = place(sources, int(ranking.files[upper]), int(ranking.lines[upper]), seen_from=file)
    rank, earlier = ranks[i + 1], ranks[i]
    if rank == earlier:
        problem, cure = f"rank {rank} stands on {where} already", "Give --order score."
    else:
        problem = f"rank {rank} has the score {scores[i + 1]}, rank {earlier} on {where} only {scores[i]}"
        cure = "Give --order rank or --order score."
    refusal = sources[file].refusal(int(ranking.lines[lower]), problem, cure)
    return Contradictions(int(np.count_nonzero(wrong)), refusal)


def all_contradictions(first: Refusal, system: str, count: int, contradicting: int, rankings: int) -> Refusal:
    """The first contradiction of a system, and how many there are in how many of its rankings."""
    problem = (
        f"{first.problem}; ranks and scores of {system} contradict each other {counted(count, 'time')}"
        f" in {contradicting:,} of {counted(rankings, 'ranking')}"
    )
    return Refusal(first.file, first.line, problem, first.cure)

"""Find presentations that show rank, score or system, which a rater must not know."""

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from ..models import Collection, Document, Ranking
from .content import source_of
from .parts import Presented, is_missing, text_of, value_at

RANKINGS, DEPTH = 20, 20  # rankings of each system that are compared, and documents of each ranking
FEWEST = 3  # documents of a ranking that have the member


class Revealing(NamedTuple):
    """A path that raters must not see: in most rankings of the system it is the document's `fact`."""

    path: str
    system: str
    fact: str  # rank, score or system


def refuse_revealing(collection: Collection, presented: Presented) -> None:
    """Raise ValueError for a part whose values are ranks, scores or systems. `Part` refuses them by name."""
    if found := revealing(collection, presented):
        raise ValueError(
            f"{found.path} is not shown: in most rankings of {found.system} it is the document's {found.fact}"
        )


def revealing(collection: Collection, presented: Presented) -> Revealing | None:
    """The first path of a document's parts that reveals something. Two queries for each system."""
    paths = list(dict.fromkeys(path for part in presented.document for path in part.paths))
    names = set(collection.systems.values_list("name", flat=True))
    for system in collection.systems.all():
        rows = list(Ranking.objects.filter(system=system).order_by("pk")[:RANKINGS])
        documents = Document.objects.in_bulk({pk for row in rows for pk in row.documents[:DEPTH].tolist()})
        sources = {pk: source_of(document) for pk, document in documents.items()}
        for path in paths:
            if fact := _revealed(path, rows, sources, names):
                return Revealing(path, system.name, fact)
    return None


def _revealed(path: str, rows: Iterable[Ranking], sources: Mapping[int, dict], names: set[str]) -> str:
    """What the member reveals in more than half of the rankings: "rank", "score", "system", or "" for nothing."""
    counts = {"rank": 0, "score": 0, "system": 0}
    compared = 0
    for row in rows:
        ids = row.documents[:DEPTH].tolist()
        scores = [None] * len(ids) if row.scores is None else row.scores[:DEPTH].tolist()
        results = []  # value, rank and score of those that have the member
        for rank, (pk, score) in enumerate(zip(ids, scores, strict=True), 1):
            value = value_at(sources[pk], path) if pk in sources else None
            if not is_missing(value):
                results.append((value, rank, score))
        if len(results) < FEWEST:
            continue
        compared += 1
        counts["rank"] += all(_number(value) in (rank, rank - 1) for value, rank, _ in results)
        counts["score"] += all(score is not None and _number(value) == score for value, _, score in results)
        counts["system"] += all(text_of(value) in names for value, *_ in results)
    return next((fact for fact, count in counts.items() if compared and count > compared / 2), "")


def _number(value: Any) -> float | None:
    try:
        return float(Decimal(text_of(value)))
    except (InvalidOperation, OverflowError, ValueError):
        return None

"""Find presentations that show rank, score or system, which a rater must not know."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from ..models import Collection, Document, Ranking
from .content import source_of
from .parts import Presented, is_missing, text_of, value_at

RANKINGS_PER_SYSTEM = 20  # that are compared
DOCUMENTS_PER_RANKING = 20  # the first of each
FEWEST_DOCUMENTS = 3  # that have the member; a ranking with fewer is not compared


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
    """The first path of a document's parts whose values are ranks, scores or names of systems, or else None.

    A path, such as `price.amount`, names the value of a document that a part shows. The values are compared with
    the first rankings of each system. Two SQL queries a system.
    """
    paths = list(dict.fromkeys(path for part in presented.document for path in part.paths))  # each once, in order
    system_names = set(collection.systems.values_list("name", flat=True))
    for system in collection.systems.all():
        rankings = list(Ranking.objects.filter(system=system).order_by("pk")[:RANKINGS_PER_SYSTEM])
        # `ranking.documents` is an array of document ids, best first.
        document_pks = {pk for ranking in rankings for pk in ranking.documents[:DOCUMENTS_PER_RANKING].tolist()}
        documents = Document.objects.in_bulk(document_pks)
        sources = {pk: source_of(document) for pk, document in documents.items()}
        for path in paths:
            if fact := _fact_at(path, rankings, sources, system_names):
                return Revealing(path, system.name, fact)
    return None


def _fact_at(path: str, rankings: Iterable[Ranking], sources: Mapping[int, dict], system_names: set[str]) -> str:
    """What the values at the path are in more than half of the rankings: "rank", "score", "system" or "" for none.

    In such a ranking, each document that has a value has its rank, its score or the name of a system as the value.
    `rankings`: of one system. `sources`: document id → members of the document. `system_names`: of all systems.
    Rankings in which fewer than FEWEST_DOCUMENTS documents have a value are not compared.
    """
    is_fact = {  # name of a fact → whether a value is that fact of a document with this rank and score
        "rank": lambda value, rank, score: _number(value) in (rank, rank - 1),  # counted from 1, or from 0
        "score": lambda value, rank, score: score is not None and _number(value) == score,
        "system": lambda value, rank, score: text_of(value) in system_names,
    }
    # For each ranking (value, rank, score) of its documents.
    results_by_ranking = [list(_results(ranking, path, sources)) for ranking in rankings]
    compared = [results for results in results_by_ranking if len(results) >= FEWEST_DOCUMENTS]
    for fact, holds in is_fact.items():
        rankings_with_fact = [results for results in compared if all(holds(*result) for result in results)]
        if len(rankings_with_fact) > len(compared) / 2:
            return fact
    return ""


def _results(ranking: Ranking, path: str, sources: Mapping[int, dict]) -> Iterator[tuple]:
    """(value, rank, score) of the first documents that have the member. The score is None without scores."""
    ids = ranking.documents[:DOCUMENTS_PER_RANKING].tolist()
    scores = [None] * len(ids) if ranking.scores is None else ranking.scores[:DOCUMENTS_PER_RANKING].tolist()
    for rank, (pk, score) in enumerate(zip(ids, scores, strict=True), 1):
        value = value_at(sources.get(pk, {}), path)
        if not is_missing(value):
            yield value, rank, score


def _number(value: Any) -> float | None:
    try:
        return float(Decimal(text_of(value)))
    except (InvalidOperation, OverflowError, ValueError):
        return None

"""One night query by query, and one query list by list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratings.models import Baseline, Document, Query, Ranking
from ratings.words import natural

from ..models import Night, Verdict
from ..page.documents import known
from ..scores import read
from .scoring import asked_of, documents_of
from .trend import Point

DOCUMENTS_SHOWN = 20  # of a list
LISTS = {"tonight": "this night", "before": "the night before", **dict(Baseline.Kind.choices)}


@dataclass(frozen=True)
class Row:
    """A query of a night."""

    query: Query
    value: float | None
    why: str  # why it has no value; "" where it has one
    differences: Mapping[str, float | None]  # by kind of baseline

    @property
    def least(self) -> float:
        """The least difference to a baseline, which is the largest loss, to sort by; inf without a difference."""
        return min((number for number in self.differences.values() if number is not None), default=np.inf)


def rows(night: Night, point: Point) -> list[Row]:
    """The queries of the night, the largest loss first, then those without a difference by key."""
    if night.values is None:
        return []
    queries = Query.objects.only("key", "text", "collection").in_bulk(night.queries.tolist())
    differences = {kind: verdict.differences for kind, verdict in point.verdicts.items()}
    query_rows = []
    for place, pk in enumerate(night.queries.tolist()):
        query = queries.get(pk)
        if query:  # else it was deleted since
            by_kind = {kind: known(column[place]) for kind, column in differences.items()}
            query_rows.append(Row(query, known(night.values[place]), _why(night, query, place), by_kind))
    return sorted(query_rows, key=lambda row: (row.least, natural(row.query.key)))


def _why(night: Night, query: Query, place: int) -> str:
    if query.key in night.failed:
        return night.failed[query.key]
    return "" if not np.isnan(night.values[place]) else "it has no value with the judgments of that night"


def side_by_side(night: Night, query: Query) -> dict[str, Any]:
    """The context of one query: the list of the night, and those that it is compared with."""
    lists = {name: documents for name, documents in _lists(night, query).items() if documents is not None}
    ids = {pk for documents in lists.values() for pk in documents[:DOCUMENTS_SHOWN].tolist()}
    documents = Document.objects.only("key", "title", "collection").in_bulk(ids)
    grades = judgments_of(night, query)
    tonight = lists.get("tonight", np.empty(0, np.uint32))[:DOCUMENTS_SHOWN].tolist()
    place_tonight = {pk: place for place, pk in enumerate(tonight, 1)}
    columns = [
        {
            "name": LISTS[name],
            "is_tonight": name == "tonight",
            "rows": [
                {
                    "place": place,
                    "document": documents.get(pk),
                    "grade": grades.get(pk),
                    "tonight": place_tonight.get(pk),
                }
                for place, pk in enumerate(ranked[:DOCUMENTS_SHOWN].tolist(), 1)
            ],
        }
        for name, ranked in lists.items()
    ]
    return {"columns": columns, "failed": night.failed.get(query.key, "")}


def _lists(night: Night, query: Query) -> dict[str, np.ndarray | None]:
    """The documents of each of LISTS, best first; None where it has none."""
    earlier = (
        night.watch.nights.filter(state=Night.State.TOLD, due_at__lt=night.due_at).order_by("-due_at").first()
    )
    lists = {"tonight": _documents(night, query), "before": _documents(earlier, query) if earlier else None}
    for verdict in Verdict.objects.filter(night=night).defer("differences", "crossed"):
        ranking = Ranking.objects.filter(system=verdict.system_id, query=query).first()
        lists[verdict.baseline] = ranking.documents if ranking else None
    return lists


def _documents(night: Night, query: Query) -> np.ndarray | None:
    """What the night returned for the query, best first; None where it has no answer."""
    if night.queries is None or night.rankings is None:
        return None
    place = np.flatnonzero(night.queries == query.pk)
    ranking = int(night.rankings[place[0]]) if len(place) else 0
    return documents_of(night.watch, [ranking]).get(ranking) if ranking else None


def judgments_of(night: Night, query: Query) -> dict[int, float]:
    """The judgment of each document of the query, by the rule of the watch and the ratings of today."""
    data, judgments = read(night.watch.collection, asked_of(night.watch))
    place = int(np.flatnonzero(data.queries["pk"].to_numpy() == query.pk)[0])
    of_query = judgments.query == place
    return dict(zip(judgments.document[of_query].tolist(), judgments.grade[of_query].tolist(), strict=True))

"""One night query by query, and one query list by list."""

from itertools import chain
from typing import Any

import numpy as np

from ratings.models import Baseline, Document, Query, Ranking
from ratings.words import natural

from ..models import Night, Verdict
from ..page.documents import none_for_nan
from ..scores import read
from .scoring import asked_of, documents_of
from .trend import Point

DOCUMENTS_SHOWN = 20  # of a list
LISTS = {"tonight": "this night", "before": "the night before", **dict(Baseline.Kind.choices)}


def rows(night: Night, point: Point) -> list[dict[str, Any]]:
    """The queries of the night, the largest loss first, then those without a difference by key.

    value: None for no value, for the reason `why`; differences: to each baseline, by its kind; least: the lowest
    of these, inf for none.
    """
    if night.values is None:
        return []
    queries = Query.objects.only("key", "text", "collection").in_bulk(night.queries.tolist())
    query_rows = []
    for place, pk in enumerate(night.queries.tolist()):
        query = queries.get(pk)
        if query is None:  # it was deleted since
            continue
        differences = {kind: none_for_nan(verdict.differences[place]) for kind, verdict in point.verdicts.items()}
        numbers = [difference for difference in differences.values() if difference is not None]
        query_rows.append(
            {
                "query": query,
                "value": none_for_nan(night.values[place]),
                "why": _why(night, query, place),
                "differences": differences,
                "least": min(numbers, default=np.inf),
            }
        )
    return sorted(query_rows, key=lambda row: (row["least"], natural(row["query"].key)))


def _why(night: Night, query: Query, place: int) -> str:
    if query.key in night.failed:
        return night.failed[query.key]
    return "" if not np.isnan(night.values[place]) else "it has no value with the judgments of that night"


def side_by_side(night: Night, query: Query) -> dict[str, Any]:
    """The context of one query: the list of the night, and the lists that it is compared with.

    columns: one for each list, with a row for each document. `place` is its place in this list, and `tonight` its
    place in the list of the night, None where it is not shown there; `document` is None if it was deleted, `grade`
    if nobody judged it. failed: why the night has no answer to the query; "" where it has one.
    """
    lists = _lists(night, query)
    documents = Document.objects.only("key", "title", "collection").in_bulk({*chain.from_iterable(lists.values())})
    grades = judgments_of(night, query)
    place_tonight = {pk: place for place, pk in enumerate(lists.get("tonight", []), 1)}
    columns = []
    for name, ids in lists.items():
        rows = []
        for place, pk in enumerate(ids, 1):
            document, grade, tonight = documents.get(pk), grades.get(pk), place_tonight.get(pk)
            rows.append({"place": place, "document": document, "grade": grade, "tonight": tonight})
        columns.append({"name": LISTS[name], "is_tonight": name == "tonight", "rows": rows})
    return {"columns": columns, "failed": night.failed.get(query.key, "")}


def _lists(night: Night, query: Query) -> dict[str, list[int]]:
    """The ids of the first DOCUMENTS_SHOWN documents, best first, of each of LISTS that has a ranking."""
    told_before = night.watch.nights.filter(state=Night.State.TOLD, due_at__lt=night.due_at)
    earlier = told_before.order_by("-due_at").first()
    lists = {"tonight": _documents(night, query), "before": _documents(earlier, query) if earlier else None}
    for verdict in Verdict.objects.filter(night=night).defer("differences", "crossed"):
        ranking = Ranking.objects.filter(system=verdict.system_id, query=query).first()
        lists[verdict.baseline] = ranking.documents if ranking else None
    return {name: ranked[:DOCUMENTS_SHOWN].tolist() for name, ranked in lists.items() if ranked is not None}


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

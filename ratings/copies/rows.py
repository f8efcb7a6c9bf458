"""Rankings and ratings of the database as rows of formats, streamed."""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from ..database.bulk import among
from ..formats.registry import TEXT, Format
from ..formats.rows import RatingLine, RunLine
from ..models import Collection, Document, Rating, RatingEvent, System

RATING_LOOKUPS = ["pair", "pair__document__key", "rater", "rater__name"]
RATING_LOOKUPS += ["grade__value", "reason", "comment", "changed_at"]
Kind = RatingEvent.Kind


def run(system: System) -> Iterator[RunLine]:
    """The results of the system, in the order of the queries. One database query for each ranking, and one more.

    Results without scores get 1 / rank, which keeps their order.
    """
    rankings = system.rankings.select_related("query").order_by("query").iterator(chunk_size=100)
    for ranking in rankings:
        ids = ranking.documents.tolist()
        keys = dict(Document.objects.filter(pk__in=among(ids, "bigint")).values_list("pk", "key"))
        scores = ranking.scores if ranking.scores is not None else 1 / np.arange(1, len(ids) + 1)
        for rank, (pk, score) in enumerate(zip(ids, scores.tolist(), strict=True), 1):
            yield RunLine(0, ranking.query.key, keys[pk], rank, score, system.name)  # line 0: of no file


def query_names(collection: Collection, format: Format) -> dict[str, str]:
    """Key → the name of the query in `format`: its key or its text. Raises ValueError if two share a text."""
    names = dict(collection.queries.order_by("pk").values_list("key", "text"))
    if format.queries_by != TEXT:
        return {key: key for key in names}
    for text, count in Counter(names.values()).items():
        if count > 1:
            same = ", ".join(key for key, other in names.items() if other == text)
            raise ValueError(f"{format.name} names queries by their text, and {same} have the same: {text!r}.")
    return names


def ratings(
    collection: Collection, format: Format, names: Mapping[int, str] | None = None
) -> Iterator[RatingLine]:
    """All ratings that count, ordered by query, document and rater, so that equal databases give equal files.

    `names`: id of a rater → the name to use in place of the rater's own. Two database queries for each query of
    the collection, and two more. Raises ValueError if `format` cannot distinguish the queries.
    """
    query_name = query_names(collection, format)  # by key
    for query_id, key in sorted(collection.queries.values_list("pk", "key"), key=lambda row: row[1]):
        rows = Rating.objects.counted().filter(pair__query=query_id).values_list(*RATING_LOOKUPS)
        seconds_of = _seconds(query_id)
        lines = []
        for pair_id, document, rater_id, own_name, grade, reason, comment, rated_at in rows:
            name = own_name if names is None else names[rater_id]
            rating = grade, reason, comment, seconds_of.get((pair_id, rater_id)), rated_at
            lines.append(RatingLine(0, query_name[key], document, name, *rating))  # line 0: of no file
        yield from sorted(lines, key=lambda line: (line.document, line.rater))


def _seconds(query: int) -> dict[tuple[int, int], float | None]:
    """(pair id, rater id) → the seconds that the present rating took; None if they are unknown."""
    kinds = [Kind.GRADE, Kind.CANNOT, Kind.IMPORT, Kind.ADJUDICATE]
    events = RatingEvent.objects.standing().filter(pair__query=query, kind__in=kinds)
    # Sorted here: after an ANALYZE, SQLite would go through the events of all collections to read them in order.
    in_order = sorted(events.order_by().values_list("pk", "pair", "rater", "seconds"))
    return {(pair, rater): seconds for _, pair, rater, seconds in in_order}

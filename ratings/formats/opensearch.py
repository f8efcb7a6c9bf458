"""OpenSearch Search Relevance Workbench: query sets and judgment lists. Both name queries by their text."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from . import strict_json, values
from .refusal import Refusal, cure_of
from .rows import RatingLine, Topic, checked_id, unique_topics
from .source import Source, Start
from .strict_json import list_of, object_of, text_of

CURE = 'A judgment list has {"query": "…", "ratings": [{"docId": "…", "rating": "1.0"}]} for each query.'
QUERIES_CURE = 'A query set has {"queryText": "…"} for each query.'


def _holding(member: str) -> Callable[[Start], bool]:
    """The check whether a file has this member, at its top or in a saved answer of OpenSearch."""

    def holds(start: Start) -> bool:
        containers = strict_json.containers(start)
        in_a_hit = (2, "hits") in containers and any(name == member for _, name in containers)
        return (1, member) in containers or in_a_hit

    return holds


is_judgment_list = _holding("judgmentRatings")
is_query_set = _holding("querySetQueries")


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    def ratings_of(line: int, record: dict[str, Any]) -> Iterator[RatingLine]:
        query = values.checked_text(text_of(record.get("query")).strip(), "query")
        for rating in list_of(record.get("ratings"), "ratings"):
            key = object_of(rating, "rating").get("docId")
            document = checked_id(key, "docId", values.DOCUMENT_KEY_LENGTH, source)
            yield RatingLine(line, query, document, rater="", grade=values.grade(text_of(rating.get("rating"))))

    return _rows(source, ratings_of, CURE, "judgmentRatings")


def read_judged_queries(source: Source) -> Iterator[Topic | Refusal]:
    return _queries(source, "judgmentRatings", "query", CURE)


def read_queries(source: Source) -> Iterator[Topic | Refusal]:
    return _queries(source, "querySetQueries", "queryText", QUERIES_CURE)


def _queries(source: Source, member: str, name: str, cure: str) -> Iterator[Topic | Refusal]:
    """The queries. The reference answer of a query set becomes the information need."""

    def topic_of(line: int, record: dict[str, Any]) -> Iterator[Topic]:
        text = values.checked_text(text_of(record.get(name)).strip(), "query")
        yield Topic(line, key=None, text=text, need=text_of(record.get("referenceAnswer")).strip() or None)

    return unique_topics(source, _rows(source, topic_of, cure, member), cure)


def _rows(source: Source, rows_of: Callable[[int, dict], Iterable], cure: str, member: str) -> Iterator:
    """The rows of each record in the member, at the top of the file or in each hit of a saved answer."""
    for part in strict_json.parts(source):
        if isinstance(part, Refusal):
            yield part
            continue
        try:
            records = [part.value] if part.path[0] == member else []  # at the top each record is a part
            if part.path == ("hits", "hits"):  # in a saved answer the list of all hits is one part
                for hit in list_of(part.value, "hits"):
                    document = object_of(object_of(hit, "hit").get("_source"), "_source")
                    records += list_of(document.get(member), member)
            for record in records:
                yield from rows_of(part.line, object_of(record, "record"))
        except ValueError as error:
            yield source.refusal(part.line, str(error), *cure_of(error, cure))


def write_judgments(rows: Iterable[RatingLine]) -> Iterator[str]:
    """A judgment list as OpenSearch imports it. Grades are texts, so decimals keep their digits."""
    yield '{\n  "name": "Idealist judgments",\n  "description": "Judgments from Idealist",\n'
    yield '  "type": "IMPORT_JUDGMENT",\n  "judgmentRatings": ['
    for i, (query, group) in enumerate(groupby(rows, key=lambda row: row.query)):
        ratings = [{"docId": row.document, "rating": values.grade_text(row.grade)} for row in group]
        record = json.dumps({"query": query, "ratings": ratings}, ensure_ascii=False)
        yield f"{',' if i else ''}\n    {record}"
    yield "\n  ]\n}\n"


READS = {"queries": read_judged_queries, "ratings": read_ratings}  # of a judgment list, by kind of row

"""OpenSearch Search Relevance Workbench: query sets and judgment lists. Both name queries by their text."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from . import strict_json, values
from .refusal import Refusal
from .rows import RatingLine, Topic, unique_topics
from .source import Source
from .strict_json import list_of, object_of, text_of

CURE = 'A judgment list has {"query": "…", "ratings": [{"docId": "…", "rating": "1.0"}]} for each query.'
QUERIES_CURE = 'A query set has {"queryText": "…"} for each query.'
is_judgment_list = strict_json.holding("judgmentRatings")
is_query_set = strict_json.holding("querySetQueries")


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    def ratings_of(line: int, record: dict[str, Any]) -> Iterator[RatingLine]:
        query = values.checked_text(text_of(record.get("query")).strip(), "query")
        for rating in list_of(record.get("ratings"), "ratings"):
            key = text_of(object_of(rating, "rating").get("docId"))
            document = values.checked_key(key, "docId", values.DOCUMENT_KEY_LENGTH)
            yield RatingLine(line, query, document, "", values.grade(text_of(rating.get("rating"))))

    return strict_json.rows(source, ratings_of, CURE, "judgmentRatings")


def read_judged_queries(source: Source) -> Iterator[Topic | Refusal]:
    return _queries(source, "judgmentRatings", "query", CURE)


def read_queries(source: Source) -> Iterator[Topic | Refusal]:
    return _queries(source, "querySetQueries", "queryText", QUERIES_CURE)


def _queries(source: Source, member: str, name: str, cure: str) -> Iterator[Topic | Refusal]:
    """The queries. The reference answer of a query set becomes the information need."""

    def topic_of(line: int, record: dict[str, Any]) -> Iterator[Topic]:
        text = values.checked_text(text_of(record.get(name)).strip(), "query")
        yield Topic(line, None, text, text_of(record.get("referenceAnswer")).strip() or None)

    return unique_topics(source, strict_json.rows(source, topic_of, cure, member), cure)


def write_judgments(rows: Iterable[RatingLine]) -> Iterator[str]:
    """A judgment list as OpenSearch imports it. Grades are texts, so decimals keep their digits."""
    yield '{\n  "name": "Idealist judgments",\n  "description": "Judgments from Idealist",\n'
    yield '  "type": "IMPORT_JUDGMENT",\n  "judgmentRatings": ['
    for i, (query, group) in enumerate(groupby(rows, key=lambda row: row.query)):
        ratings = [{"docId": row.document, "rating": values.grade_text(row.grade)} for row in group]
        record = json.dumps({"query": query, "ratings": ratings}, ensure_ascii=False)
        yield f"{',' if i else ''}\n    {record}"
    yield "\n  ]\n}\n"

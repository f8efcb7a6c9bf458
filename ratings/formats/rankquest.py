"""Rankquest Studio: rated searches, each with the text of the query and its rated documents."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from . import strict_json, values
from .refusal import Refusal
from .rows import RatingLine, Topic, unique_topics
from .source import Source, Start
from .strict_json import list_of, object_of, text_of

CURE = 'A rated search has {"searchContext": {"q": "…"}, "ratings": [{"documentId": "…", "rating": 3}]}.'
NO_TEXTS = {"size", "from", "limit", "offset"}  # of a search, beside its text
TEXTS = ("q", "query", "text")


def is_rated_searches(start: Start) -> bool:
    return start.text.lstrip().startswith("[") and '"searchContext"' in start.text


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    def ratings_of(line: int, search: dict[str, Any]) -> Iterator[RatingLine]:
        query = _query(search)
        for rating in list_of(search.get("ratings"), "ratings"):
            key = text_of(object_of(rating, "rating").get("documentId"))
            document = values.checked_key(key, "documentId", values.DOCUMENT_KEY_LENGTH)
            comment = text_of(rating.get("comment"))
            yield RatingLine(line, query, document, "", values.grade(text_of(rating.get("rating"))), "", comment)

    return strict_json.rows(source, ratings_of, CURE)


def read_queries(source: Source) -> Iterator[Topic | Refusal]:
    """The queries. The comment on a search becomes the information need."""

    def topic_of(line: int, search: dict[str, Any]) -> Iterator[Topic]:
        yield Topic(line, None, _query(search), text_of(search.get("comment")).strip() or None)

    return unique_topics(source, strict_json.rows(source, topic_of, CURE), CURE)


def _query(search: dict[str, Any]) -> str:
    context = object_of(search.get("searchContext"), "searchContext")
    names = [name for name in TEXTS if name in context] or [name for name in context if name not in NO_TEXTS]
    if not names:
        raise ValueError(f"the searchContext {values.quoted(context)} has no text of a query")
    return values.checked_text(text_of(context[names[0]]).strip(), "query")


def write_judgments(rows: Iterable[RatingLine]) -> Iterator[str]:
    yield "["
    for i, (query, group) in enumerate(groupby(rows, key=lambda row: row.query)):
        ratings = [{"documentId": row.document, "rating": int(row.grade)} for row in group]
        record = {"id": values.key_of_text(query), "searchContext": {"q": query}, "ratings": ratings}
        yield f"{',' if i else ''}\n  {json.dumps(record, ensure_ascii=False)}"
    yield "\n]\n"

"""Rated Ranking Evaluator: queries in groups or alone, each with its relevant documents and their gain."""

from collections.abc import Iterable, Iterator
from typing import Any

from . import strict_json, tables, values
from .refusal import Refusal
from .rows import RatingLine, Topic, checked_id, unique_topics
from .source import Source, Start
from .strict_json import list_of, object_of, text_of

CURE = 'A query has {"placeholders": {"$query": "…"}, "relevant_documents": {"ID": {"gain": 3}}}.'
LEVELS = ("topics", "query_groups", "queries")  # a file may begin with any of them
TEXT_PLACEHOLDERS = ("$query", "$q", "query", "q")  # the placeholder with the text; a single one may have any name


def is_ratings(start: Start) -> bool:
    return start.text.lstrip().startswith("{") and '"relevant_documents"' in start.text


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """The ratings. Documents of a group count for each of its queries, those of a query only for itself."""

    def ratings_of(line: int, record: dict[str, Any]) -> Iterator[RatingLine]:
        for query, _, documents in _queries(record, "", {}):
            for document, grade in _gains(documents, source):
                yield RatingLine(line, query, document, rater="", grade=grade)

    return strict_json.rows(source, ratings_of, CURE, *LEVELS)


def read_queries(source: Source) -> Iterator[Topic | Refusal]:
    """The queries. The descriptions of the topic and group of a query become its information need."""

    def topics_of(line: int, record: dict[str, Any]) -> Iterator[Topic]:
        for query, need, _ in _queries(record, "", {}):
            yield Topic(line, key=None, text=query, need=need or None)

    return unique_topics(source, strict_json.rows(source, topics_of, CURE, *LEVELS), CURE)


def _queries(record: dict[str, Any], need: str, documents: Any) -> Iterator[tuple[str, str, Any]]:
    """(text, need, relevant documents) of each query in a topic or a group, or of a query itself."""
    documents = record.get("relevant_documents", documents)
    if "placeholders" in record:
        yield _text(object_of(record["placeholders"], "placeholders")), need, documents
        return
    need = "\n\n".join(filter(None, [need, text_of(record.get("description")).strip()]))
    for level in LEVELS[1:]:
        for inner in list_of(record.get(level), level):
            yield from _queries(object_of(inner, level), need, documents)


def _text(placeholders: dict[str, Any]) -> str:
    name = next((name for name in TEXT_PLACEHOLDERS if name in placeholders), None)
    if name is None and len(placeholders) != 1:
        raise ValueError(f"none of the placeholders {values.quoted(list(placeholders))} is $query")
    text = text_of(placeholders[name] if name else next(iter(placeholders.values())))
    return values.checked_text(text.strip(), "query")


def _gains(documents: Any, source: Source) -> Iterator[tuple[str, Any]]:
    """(document, grade) from an object of documents and gains, or of gains and lists of documents."""
    for name, value in object_of(documents, "relevant documents").items():
        if isinstance(value, list):
            pairs = [(key, name) for key in value]
        else:
            gain = object_of(value, "relevant document")
            pairs = [(name, gain.get("gain", gain.get("rating")))]
        for key, gain in pairs:
            document = checked_id(key, "document", values.DOCUMENT_KEY_LENGTH, source)
            yield document, values.grade(text_of(gain))


def write_judgments(rows: Iterable[RatingLine]) -> Iterator[str]:
    """A file of queries, each with its documents. Users fill in the index and the template."""

    def record_of(query: str, group: Iterable[RatingLine]) -> dict:
        gains = {row.document: {"gain": tables.plain_json(row.grade)} for row in group}
        return {"placeholders": {"$query": query}, "relevant_documents": gains}

    head = '{\n  "index": "",\n  "id_field": "id",\n  "template": "template.json",\n  "queries": ['
    return strict_json.written(head, rows, record_of)


# By kind of row
READS = {"queries": read_queries, "ratings": read_ratings}
WRITES = {"judgments": write_judgments}

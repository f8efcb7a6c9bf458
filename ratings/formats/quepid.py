"""Quepid's exports of books, cases and snapshots. All of them name queries by their text."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

from . import spreadsheet, strict_json, tables, values
from .columns import BODIES, layout_of
from .refusal import Refusal
from .rows import DocumentLine, RatingLine, RunLine, Topic, unique_topics
from .source import Source, Start
from .strict_json import list_of, object_of, text_of

CURE = "Correct it, or export it from Quepid again."
ANONYMOUS = "Anonymous"  # as Quepid names a judge without an account
UNRATEABLE = "other"  # the reason: Quepid keeps none
PAIR = ["query", "docid"]
is_book = strict_json.holding("query_doc_pairs")
is_snapshot = strict_json.holding("docs")


def is_case(start: Start) -> bool:
    found = strict_json.containers(start)
    return (1, "queries") in found and any(depth > 1 and name == "ratings" for depth, name in found)


def read_book_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """The ratings of all judges. A judgement without a rating is "cannot judge", or none where it was put off."""

    def ratings_of(line: int, pair: dict[str, Any]) -> Iterator[RatingLine]:
        query, document = _query(pair), _document(pair)
        for judgement in list_of(pair.get("judgements"), "judgements"):
            rating = text_of(object_of(judgement, "judgement").get("rating"))
            unrateable = judgement.get("unrateable") is True
            if rating and unrateable:
                raise ValueError(f"a judgement of document {document} is unrateable and has the rating {rating}")
            rater = text_of(judgement.get("user_email")) or ANONYMOUS
            values.checked_name(rater, "judge", values.RATER_NAME_LENGTH)
            comment = text_of(judgement.get("explanation"))
            if rating:
                yield RatingLine(line, query, document, rater, values.grade(rating), "", comment)
            elif unrateable:
                yield RatingLine(line, query, document, rater, None, UNRATEABLE, comment)

    return strict_json.rows(source, ratings_of, CURE, "query_doc_pairs")


def read_book_queries(source: Source) -> Iterator[Topic | Refusal]:
    return unique_topics(source, strict_json.rows(source, _topic, CURE, "query_doc_pairs"), CURE)


def read_book_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Each document once. A document that is repeated with other fields is refused."""
    first: dict[str, tuple[int, str]] = {}  # key -> line and fields

    def documents_of(line: int, pair: dict[str, Any]) -> Iterator[DocumentLine]:
        key, value = _document(pair), pair.get("document_fields") or {}
        fields = strict_json.loaded(value) if isinstance(value, str) else object_of(value, "document_fields")
        content = json.dumps(fields, sort_keys=True)
        before = first.get(key)
        if before and before[1] != content:
            raise ValueError(f"document {key} has other fields on line {before[0]}")
        if not before:
            first[key] = line, content
            yield _described(line, key, fields)

    return strict_json.rows(source, documents_of, CURE, "query_doc_pairs")


def read_case_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """Ratings of a case or a snapshot: a list with names of raters, or an object of documents and ratings."""

    def ratings_of(line: int, query: dict[str, Any]) -> Iterator[RatingLine]:
        text, ratings = _query(query), query.get("ratings")
        if isinstance(ratings, dict):
            ratings = [{"doc_id": key, "rating": rating} for key, rating in ratings.items()]
        for rating in list_of(ratings, "ratings"):
            document, rater = _document(rating), text_of(rating.get("user_email"))
            if rater:
                values.checked_name(rater, "rater", values.RATER_NAME_LENGTH)
            if grade := text_of(rating.get("rating")):
                yield RatingLine(line, text, document, rater, values.grade(grade))

    return strict_json.rows(source, ratings_of, CURE, "queries")


def read_case_queries(source: Source) -> Iterator[Topic | Refusal]:
    return unique_topics(source, strict_json.rows(source, _topic, CURE, "queries"), CURE)


def read_snapshot_results(source: Source) -> Iterator[RunLine | Refusal]:
    """The results as one system that has the name of the snapshot, without documents that were only rated."""
    name, texts, lists = "", {}, []
    for part in strict_json.parts(source):
        if isinstance(part, Refusal):
            yield part
            continue
        try:
            if part.path == ("name",):
                name = text_of(part.value)
            elif part.path[0] == "queries":
                text = _query(part.value)
                texts[text_of(part.value.get("query_id"))] = text
            elif part.path[0] == "docs":
                results = [object_of(result, "result") for result in list_of(part.value, "results")]
                documents = [_document(result, "id") for result in results if result.get("rated_only") is not True]
                lists.append((part.line, str(part.path[-1]), documents))
        except ValueError as error:
            yield source.refusal(part.line, str(error), CURE)
    for line, number, documents in lists:
        if number not in texts:
            yield source.refusal(line, f"query {values.quoted(number)} is not among the queries", CURE)
            continue
        for rank, document in enumerate(documents, 1):
            yield RunLine(line, texts[number], document, rank, 1 / rank, name)


def read_snapshot_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Each document once, where the snapshot has its fields."""
    keys = set()
    for part in strict_json.parts(source):
        if isinstance(part, Refusal):
            yield part
        elif part.path[0] == "docs":
            try:
                for result in list_of(part.value, "results"):
                    key, fields = _document(result, "id"), object_of(result.get("fields") or {}, "fields")
                    if fields and key not in keys:
                        keys.add(key)
                        yield _described(part.line, key, fields)
            except ValueError as error:
                yield source.refusal(part.line, str(error), CURE)


def write_book(rows: Iterable[RatingLine], *, raw: bool = False) -> Iterator[str]:
    """A CSV with a row for each pair and a column for each rater, as Quepid imports it into a book.

    It has no place for comments, times and reasons. The rows must be grouped by pair. Raises ValueError for a
    rater whose column would not be read as that of a rater.
    """
    by_pair = groupby(rows, key=lambda row: (row.query, row.document))
    pairs = [(*pair, {row.rater: _cell(row) for row in ratings}) for pair, ratings in by_pair]
    raters = sorted({name for *_, cells in pairs for name in cells})
    if lost := [name for name in raters if not _is_of_rater(name)]:
        problem = f"the column of the rater {values.quoted(lost[0])} would be read as something else"
        raise ValueError(f"{problem}: choose csv, which has the names of raters in one column")
    table = ([query, document, *(cells.get(name, "") for name in raters)] for query, document, cells in pairs)
    yield from spreadsheet.written(chain([[*PAIR, *raters]], table), raw=raw)


def _is_of_rater(name: str) -> bool:
    """Whether a column of that name is read as that of a rater where the rater is known."""
    try:
        return layout_of("ratings", [*PAIR, name], {}, people=[name]).raters == (name,)
    except ValueError:
        return False


def _cell(row: RatingLine) -> str:
    return tables.CANNOT if row.grade is None else values.grade_text(row.grade)


def write_judgments(rows: Iterable[RatingLine], *, raw: bool = False) -> Iterator[str]:
    """Judgments as Quepid imports them into a case."""
    cells = ([row.query, row.document, values.grade_text(row.grade)] for row in rows)
    return spreadsheet.written(chain([[*PAIR, "rating"]], cells), raw=raw)


def _topic(line: int, record: dict[str, Any]) -> Iterator[Topic]:
    yield Topic(line, None, _query(record), text_of(record.get("information_need")).strip() or None)


def _query(record: Any) -> str:
    text = object_of(record, "query").get("query_text", record.get("query"))
    return values.checked_text(text_of(text).strip(), "query")


def _document(record: Any, name: str = "doc_id") -> str:
    return values.checked_key(text_of(object_of(record, "document").get(name)), name, values.DOCUMENT_KEY_LENGTH)


def _described(line: int, key: str, members: dict[str, Any]) -> DocumentLine:
    """The document. A member named title, url or as a body is that if it is a text, and a field otherwise."""
    texts = {
        name: members[name] or ""
        for name in ("title", "url", *BODIES)
        if isinstance(members.get(name, 0), str | None)
    }
    body = next((name for name in BODIES if name in texts), "body")
    parts = {name: texts.get(name) for name in ("title", body, "url")}
    fields = {name: value for name, value in members.items() if name not in texts or name not in parts}
    if fields.get("id") == key:
        del fields["id"]
    return DocumentLine(line, key, *parts.values(), fields or None)


# The readers, by kind of row
BOOK = {"queries": read_book_queries, "documents": read_book_documents, "ratings": read_book_ratings}
CASE = {"queries": read_case_queries, "ratings": read_case_ratings}
SNAPSHOT = {**CASE, "documents": read_snapshot_documents, "results": read_snapshot_results}

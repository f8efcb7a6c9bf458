"""Quepid: what it exports of a book, a case and a snapshot. All of it names queries by their text."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

from . import jsonl, spreadsheet, strict_json, tables, values
from .refusal import Refusal
from .rows import DocumentLine, RatingLine, RunLine, Topic, once
from .source import Source, Start
from .strict_json import list_of, object_of, text_of

CURE = "Correct it, or export it from Quepid again."
ANONYMOUS = "Anonymous"  # as Quepid names a judge without an account
UNRATEABLE = "other"  # the reason: Quepid keeps none
PAIR = ["query", "docid"]


def is_book(start: Start) -> bool:
    return start.text.lstrip().startswith("{") and '"query_doc_pairs"' in start.text


def is_snapshot(start: Start) -> bool:
    return start.text.lstrip().startswith("{") and '"docs"' in start.text


def is_case(start: Start) -> bool:
    return start.text.lstrip().startswith("{") and '"queries"' in start.text and '"ratings"' in start.text


def read_book_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """A judgement without a rating cannot be given or, as where it is put off, is none at all."""

    def ratings_of(line: int, pair: dict[str, Any]) -> Iterator[RatingLine]:
        query, document = _query(pair), _document(pair)
        for judgement in list_of(pair.get("judgements"), "judgements"):
            said = text_of(object_of(judgement, "judgement").get("rating"))
            unrateable = judgement.get("unrateable") is True
            if said and unrateable:
                raise ValueError(f"a judgement of document {document} is unrateable and is {said} as well")
            rater = text_of(judgement.get("user_email")) or ANONYMOUS
            values.checked_name(rater, "judge", values.RATER_NAME_LENGTH)
            comment = text_of(judgement.get("explanation"))
            if said:
                yield RatingLine(line, query, document, rater, values.grade(said), "", comment)
            elif unrateable:
                yield RatingLine(line, query, document, rater, None, UNRATEABLE, comment)

    return strict_json.rows(source, "query_doc_pairs", ratings_of, CURE)


def read_book_queries(source: Source) -> Iterator[Topic | Refusal]:
    return once(source, strict_json.rows(source, "query_doc_pairs", _topic, CURE), CURE)


def read_book_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """The fields of each document once. A document that has others elsewhere is refused."""
    found: dict[str, tuple[int, str]] = {}

    def documents_of(line: int, pair: dict[str, Any]) -> Iterator[DocumentLine]:
        key, said = _document(pair), pair.get("document_fields") or {}
        fields = strict_json.loaded(said) if isinstance(said, str) else object_of(said, "document_fields")
        same = json.dumps(fields, sort_keys=True)
        before = found.get(key)
        if before and before[1] != same:
            raise ValueError(f"document {key} has other fields on line {before[0]}")
        if not before:
            found[key] = line, same
            yield _described(line, key, fields)

    return strict_json.rows(source, "query_doc_pairs", documents_of, CURE)


def read_case_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """Ratings of a case or a snapshot: a list that says who gave them, or documents with their ratings."""

    def ratings_of(line: int, query: dict[str, Any]) -> Iterator[RatingLine]:
        text, ratings = _query(query), query.get("ratings")
        if isinstance(ratings, dict):
            ratings = [{"doc_id": key, "rating": rating} for key, rating in ratings.items()]
        for rating in list_of(ratings, "ratings"):
            document, rater = _document(rating), text_of(rating.get("user_email"))
            if rater:
                values.checked_name(rater, "rater", values.RATER_NAME_LENGTH)
            if said := text_of(rating.get("rating")):
                yield RatingLine(line, text, document, rater, values.grade(said))

    return strict_json.rows(source, "queries", ratings_of, CURE)


def read_case_queries(source: Source) -> Iterator[Topic | Refusal]:
    return once(source, strict_json.rows(source, "queries", _topic, CURE), CURE)


def read_snapshot_results(source: Source) -> Iterator[RunLine | Refusal]:
    """What one try returned, as one system named as the snapshot is.

    Documents that stand there only because they were rated are no results.
    """
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
                shown = [_document(result, "id") for result in results if result.get("rated_only") is not True]
                lists.append((part.line, str(part.path[-1]), shown))
        except ValueError as error:
            yield source.refusal(part.line, str(error), CURE)
    for line, number, documents in lists:
        if number not in texts:
            yield source.refusal(line, f"query {values.shown(number)} is not among the queries", CURE)
            continue
        for rank, document in enumerate(documents, 1):
            yield RunLine(line, texts[number], document, rank, 1 / rank, name)


def read_snapshot_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """The fields of each document once, where the snapshot keeps them."""
    found = set()
    for part in strict_json.parts(source):
        if isinstance(part, Refusal):
            yield part
        elif part.path[0] == "docs":
            try:
                for result in list_of(part.value, "results"):
                    key, fields = _document(result, "id"), object_of(result.get("fields") or {}, "fields")
                    if fields and key not in found:
                        found.add(key)
                        yield _described(part.line, key, fields)
            except ValueError as error:
                yield source.refusal(part.line, str(error), CURE)


def write_book(rows: Iterable[RatingLine], *, raw: bool = False) -> Iterator[str]:
    """A pair a row and a rater a column, as Quepid imports them into a book: grades, and what is unrateable.

    There is no room for comments, times and reasons. Ratings of a pair come one after the other. Raises ValueError
    for a rater who is called as another column is.
    """
    columns: dict[str, int] = {}  # rater -> the number that their cells have in `held`
    with tempfile.TemporaryFile("w+", encoding="utf-8") as held:
        for (query, document), ratings in groupby(rows, key=lambda row: (row.query, row.document)):
            cells = {columns.setdefault(row.rater, len(columns)): _cell(row) for row in ratings}
            held.write(json.dumps([query, document, cells]) + "\n")
        for name in columns:
            if role := tables.usual_role("ratings", name):
                raise ValueError(f"the column of the rater {values.shown(name)} would be read as the {role}")
        in_order = sorted(columns)
        held.seek(0)
        pairs = map(json.loads, held)
        table = ([q, d, *(cells.get(str(columns[name]), "") for name in in_order)] for q, d, cells in pairs)
        yield from spreadsheet.written(chain([[*PAIR, *in_order]], table), raw=raw)


def _cell(row: RatingLine) -> str:
    return tables.CANNOT if row.grade is None else values.plain(row.grade)


def write_judgments(rows: Iterable[RatingLine], *, raw: bool = False) -> Iterator[str]:
    """Judgments as Quepid imports them into a case."""
    cells = ([row.query, row.document, values.plain(row.grade)] for row in rows)
    return spreadsheet.written(chain([["query", "docid", "rating"]], cells), raw=raw)


def _topic(line: int, record: dict[str, Any]) -> Iterator[Topic]:
    yield Topic(line, None, _query(record), text_of(record.get("information_need")).strip() or None)


def _query(record: Any) -> str:
    text = object_of(record, "query").get("query_text", record.get("query"))
    return values.checked_text(text_of(text).strip(), "query")


def _document(record: Any, name: str = "doc_id") -> str:
    return values.checked_key(text_of(object_of(record, "document").get(name)), name, values.DOCUMENT_KEY_LENGTH)


def _described(line: int, key: str, fields: dict[str, Any]) -> DocumentLine:
    """A field named as one of ours is ours where it is a text, and else remains a field."""
    names = {"title", "url", *jsonl.BODIES} & fields.keys()
    odd = {name: fields[name] for name in names if not isinstance(fields[name], str | None)}
    if fields.get("id", key) != key:
        odd["id"] = fields["id"]
    ours = {name: value for name, value in fields.items() if name not in odd}
    row = jsonl.document_of(line, {**ours, "id": key})
    row.fields.update(odd)
    return row

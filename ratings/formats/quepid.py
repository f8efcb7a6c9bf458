"""Quepid's exports of books, cases and snapshots. All of them name queries by their text.

A part (`strict_json.Part`) is a value inside the JSON, with its line and its path of names and numbers.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

from . import spreadsheet, strict_json, values
from .columns import BODIES, is_of_no_rater
from .refusal import Refusal
from .rows import DocumentLine, RatingLine, RunLine, Topic, checked_id, rows_or_refusals, unique_topics
from .source import Source, Start
from .strict_json import list_of, object_of, text_of

CURE = "Correct it, or export it from Quepid again."
ANONYMOUS = "Anonymous"  # as Quepid names a judge without an account
PAIR_COLUMNS = ["query", "docid"]


def is_book(start: Start) -> bool:
    return (1, "query_doc_pairs") in strict_json.containers(start)


def is_snapshot(start: Start) -> bool:
    """Whether it is an object whose "docs" hold lists or objects, unlike a ranking whose "docs" are ids."""
    containers = strict_json.containers(start)
    return (1, "docs") in containers and any(depth == 2 for depth, _ in containers)


def is_case(start: Start) -> bool:
    containers = strict_json.containers(start)
    return (1, "queries") in containers and any(depth > 1 and name == "ratings" for depth, name in containers)


def read_book_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """The ratings of all judges.

    A judgement that is marked as unrateable is "cannot judge". One with neither rating nor mark is left out.
    """

    def ratings_of(line: int, pair: dict[str, Any]) -> Iterator[RatingLine]:
        """The ratings of a query and a document, a member of query_doc_pairs. Raises ValueError."""
        query, document = _query(pair), _document(pair, source)
        for judgement in list_of(pair.get("judgements"), "judgements"):
            rating = text_of(object_of(judgement, "judgement").get("rating"))
            unrateable = judgement.get("unrateable") is True
            if rating and unrateable:
                raise ValueError(f"a judgement of document {document} is unrateable and has the rating {rating}")
            rater = text_of(judgement.get("user_email")) or ANONYMOUS
            values.checked_name(rater, "judge", values.RATER_NAME_LENGTH)
            comment = text_of(judgement.get("explanation"))
            if rating:
                yield RatingLine(line, query, document, rater, grade=values.grade(rating), comment=comment)
            elif unrateable:
                yield RatingLine(line, query, document, rater, None, reason=values.NO_REASON, comment=comment)

    return strict_json.rows(source, ratings_of, CURE, "query_doc_pairs")


def read_book_queries(source: Source) -> Iterator[Topic | Refusal]:
    return unique_topics(source, strict_json.rows(source, _topic, CURE, "query_doc_pairs"), CURE)


def read_book_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Each document once. A document that is repeated with other fields is refused, with the advice in CURE."""
    earlier: dict[str, tuple[int, str]] = {}  # key -> the first line with the document, and its fields as JSON

    def documents_of(line: int, pair: dict[str, Any]) -> Iterator[DocumentLine]:
        """The document of a member of query_doc_pairs; none if an earlier one has it. Adds it to `earlier`.

        Raises ValueError for a document that an earlier member has with other fields.
        """
        key = _document(pair, source)
        value = pair.get("document_fields") or {}  # an object, or a text with one
        fields = strict_json.loaded(value) if isinstance(value, str) else object_of(value, "document_fields")
        fields_as_json = json.dumps(fields, sort_keys=True)
        if key not in earlier:
            earlier[key] = line, fields_as_json
            yield _with_content(line, key, fields)
            return
        first_line, first_fields = earlier[key]
        if fields_as_json != first_fields:
            raise ValueError(f"document {key} has other fields on line {first_line}")

    return strict_json.rows(source, documents_of, CURE, "query_doc_pairs")


def read_case_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """The ratings of a case or a snapshot.

    A query has them as a list, whose members may name their rater, or as an object of documents and ratings.
    """

    def ratings_of(line: int, query: dict[str, Any]) -> Iterator[RatingLine]:
        """The ratings of a member of queries. Documents without a grade are left out. Raises ValueError."""
        text, ratings = _query(query), query.get("ratings")
        if isinstance(ratings, dict):
            ratings = [{"doc_id": key, "rating": rating} for key, rating in ratings.items()]
        for rating in list_of(ratings, "ratings"):
            document = _document(rating, source)
            rater = text_of(rating.get("user_email"))
            if rater:
                values.checked_name(rater, "rater", values.RATER_NAME_LENGTH)
            if grade := text_of(rating.get("rating")):
                yield RatingLine(line, text, document, rater, values.grade(grade))

    return strict_json.rows(source, ratings_of, CURE, "queries")


def read_case_queries(source: Source) -> Iterator[Topic | Refusal]:
    return unique_topics(source, strict_json.rows(source, _topic, CURE, "queries"), CURE)


def read_snapshot_results(source: Source) -> Iterator[RunLine | Refusal]:
    """The results as one system that has the name of the snapshot. Documents that were only rated are no results.

    The results are made at the end of the file, as the texts of queries and the name may stand behind the
    rankings.
    """
    name = ""
    texts = {}  # id of a query -> its text
    rankings = []  # (the line on which a ranking begins, the id of its query, its documents in order)

    def remember(part: strict_json.Part) -> tuple[()]:
        """Adds what the part says to `name`, `texts` and `rankings`. Makes no row. Raises ValueError."""
        nonlocal name
        if part.path == ("name",):
            name = text_of(part.value)
        elif part.path[0] == "queries":
            texts[text_of(object_of(part.value, "query").get("query_id"))] = _query(part.value)
        elif part.path[0] == "docs":
            results = [object_of(result, "result") for result in list_of(part.value, "results")]
            returned = [result for result in results if result.get("rated_only") is not True]
            documents = [_document(result, source, "id") for result in returned]
            rankings.append((part.line, str(part.path[-1]), documents))  # the path is ("docs", id of the query)
        return ()

    yield from rows_or_refusals(source, strict_json.parts(source), remember, CURE)  # only refusals
    for line, query_id, documents in rankings:
        if query_id not in texts:
            yield source.refusal(line, f"query {values.quoted(query_id)} is not among the queries", CURE)
            continue
        for rank, document in enumerate(documents, 1):
            # No score is read. 1 / rank gives the same order.
            yield RunLine(line, texts[query_id], document, rank, score=1 / rank, system=name)


def read_snapshot_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Each document of the snapshot with its fields, once. Documents without fields are left out."""
    earlier_keys = set()

    def documents_of(part: strict_json.Part) -> Iterator[DocumentLine]:
        """The documents of the results for one query that no earlier query has; none for another part."""
        for result in list_of(part.value, "results") if part.path[0] == "docs" else ():
            key = _document(result, source, "id")
            fields = object_of(result.get("fields") or {}, "fields")
            if fields and key not in earlier_keys:
                earlier_keys.add(key)
                yield _with_content(part.line, key, fields)

    return rows_or_refusals(source, strict_json.parts(source), documents_of, CURE)


def write_book(rows: Iterable[RatingLine], *, raw: bool = False) -> Iterator[str]:
    """A CSV with a row for each query and document and a column for each rater, as Quepid imports it into a book.

    The CSV has no place for comments, times and reasons. `rows` must be grouped by query and document. Raises
    ValueError for a rater whose name would be read as that of another column. `raw`: a spreadsheet may compute
    cells.
    """
    by_pair = groupby(rows, key=lambda row: (row.query, row.document))
    # (query, document) -> rater -> cell
    cells_of_pair = {pair: {row.rater: _cell(row) for row in ratings} for pair, ratings in by_pair}
    raters = sorted(set().union(*cells_of_pair.values()))
    for rater in raters:
        if is_of_no_rater(rater):
            problem = f"the column of the rater {values.quoted(rater)} would be read as something else"
            raise ValueError(f"{problem}: choose csv, which has the names of raters in one column")
    header = [*PAIR_COLUMNS, *raters]
    records = ([*pair, *(cells.get(rater, "") for rater in raters)] for pair, cells in cells_of_pair.items())
    yield from spreadsheet.written(chain([header], records), raw=raw)


def _cell(row: RatingLine) -> str:
    return values.CANNOT if row.grade is None else values.grade_text(row.grade)


def write_judgments(rows: Iterable[RatingLine], *, raw: bool = False) -> Iterator[str]:
    """Judgments as Quepid imports them into a case."""
    cells = ([row.query, row.document, values.grade_text(row.grade)] for row in rows)
    return spreadsheet.written(chain([[*PAIR_COLUMNS, "rating"]], cells), raw=raw)


def _topic(line: int, record: dict[str, Any]) -> Iterator[Topic]:
    yield Topic(line, None, _query(record), text_of(record.get("information_need")).strip() or None)


def _query(record: Any) -> str:
    text = object_of(record, "query").get("query_text", record.get("query"))
    return values.checked_text(text_of(text).strip(), "query")


def _document(record: Any, source: Source, name: str = "doc_id") -> str:
    key = object_of(record, "document").get(name)
    return checked_id(key, name, values.DOCUMENT_KEY_LENGTH, source)


def _with_content(line: int, key: str, members: dict[str, Any]) -> DocumentLine:
    """The document. A text named title, url or as a body becomes that part, and each other member a field."""
    texts = {name: member or "" for name, member in members.items() if isinstance(member, str | None)}
    body = next((name for name in BODIES if name in texts), "body")
    parts = texts.keys() & {"title", body, "url"}
    fields = {name: member for name, member in members.items() if name not in parts}
    if fields.get("id") == key:
        del fields["id"]
    return DocumentLine(line, key, texts.get("title"), texts.get(body), texts.get("url"), fields or None)


# The readers, by kind of row
BOOK = {"queries": read_book_queries, "documents": read_book_documents, "ratings": read_book_ratings}
CASE = {"queries": read_case_queries, "ratings": read_case_ratings}
SNAPSHOT = {**CASE, "documents": read_snapshot_documents, "results": read_snapshot_results}

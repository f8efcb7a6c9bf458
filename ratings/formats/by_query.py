"""Grades or scores by query and document in JSON, as BEIR, ranx and pytrec_eval write it; and rank_eval."""

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from . import strict_json, values
from .refusal import Refusal
from .rows import RatingLine, RunLine
from .source import START, Source, Start
from .strict_json import list_of, object_of, text_of

CURE = 'Give an object such as {"q1": {"d1": 2, "d2": 0}}.'
RANK_EVAL_CURE = 'A request has {"id": "…", "ratings": [{"_id": "…", "rating": 3}]}.'
_text = r'"(?:[^"\\]|\\.)*+"'
_pair = rf"{_text}\s*:\s*-?[0-9][0-9.eE+-]*+\s*"
_pairs = re.compile(rf"\s*\{{\s*{_text}\s*:\s*\{{\s*(?:{_pair},\s*)*({_pair}\}})?", re.DOTALL)
_is_cut = re.compile(r"[^{}\[\]]*\Z")  # the first query goes on behind the first bytes


def is_by_query(start: Start) -> bool:
    """Whether the first query of an object has numbers by documents."""
    found = _pairs.match(start.text)
    if found is None:
        return False
    return bool(found[1]) or (len(start.data) >= START and bool(_is_cut.match(start.text, found.end())))


def is_rank_eval(start: Start) -> bool:
    found = strict_json.containers(start)
    return (1, "requests") in found and any(name == "ratings" for _, name in found)


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    for row in _rows(source):
        if isinstance(row, Refusal):
            yield row
            continue
        line, query, document, number = row
        try:
            yield RatingLine(line, query, document, "", values.grade(text_of(number)))
        except ValueError as error:
            yield source.refusal(line, str(error), CURE)


def read_run(source: Source) -> Iterator[RunLine | Refusal]:
    """Results by their scores; equal ones in the order of trec_eval, by document. The file names no system."""
    found: dict[str, list[RunLine]] = {}
    for row in _rows(source):
        if isinstance(row, Refusal):
            yield row
            continue
        line, query, document, number = row
        found.setdefault(query, []).append(RunLine(line, query, document, 0, float(number), ""))
    for rows in found.values():
        in_order = sorted(rows, key=attrgetter("score", "document"), reverse=True)
        yield from (row._replace(rank=rank) for rank, row in enumerate(in_order, 1))


def _rows(source: Source) -> Iterator[tuple[int, str, str, int | float] | Refusal]:
    """Line, query, document and number of each pair."""
    for part in strict_json.parts(source):
        if isinstance(part, Refusal):
            yield part
            continue
        try:
            if len(part.path) != 2 or isinstance(part.value, bool) or not isinstance(part.value, int | float):
                raise ValueError(f"{values.quoted(part.value)} is given where documents have numbers")
            query, document = map(str, part.path)
            values.checked_text(query, "query")
            values.checked_key(document, "document", values.DOCUMENT_KEY_LENGTH)
            yield part.line, query, document, part.value
        except ValueError as error:
            yield source.refusal(part.line, str(error), CURE)


def read_rank_eval(source: Source) -> Iterator[RatingLine | Refusal]:
    """The ratings of Elasticsearch's rank_eval, whose requests are named by the ids or texts of queries."""

    def ratings_of(line: int, request: dict[str, Any]) -> Iterator[RatingLine]:
        query = values.checked_text(text_of(request.get("id")), "id of the request")
        for rating in list_of(request.get("ratings"), "ratings"):
            document = text_of(object_of(rating, "rating").get("_id"))
            values.checked_key(document, "_id", values.DOCUMENT_KEY_LENGTH)
            yield RatingLine(line, query, document, "", values.grade(text_of(rating.get("rating"))))

    return strict_json.rows(source, ratings_of, RANK_EVAL_CURE, "requests")


READS = {"results": read_run, "ratings": read_ratings}  # by kind of row

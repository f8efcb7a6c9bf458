"""Grades or scores by query and document in JSON, as BEIR, ranx and pytrec_eval write it; and rank_eval."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from . import strict_json, values
from .refusal import Refusal, cure_of
from .rows import RatingLine, RunLine, checked_id
from .source import START_BYTES, Source, Start
from .strict_json import list_of, object_of, text_of

CURE = 'Give an object such as {"q1": {"d1": 2, "d2": 0}}.'
RANK_EVAL_CURE = 'A request has {"id": "…", "ratings": [{"_id": "…", "rating": 3}]}.'
RANK_EVAL_METRIC = {"dcg": {"k": 10, "normalize": True}}  # a request must have one
INDEX_NAME, TEMPLATE_ID = "INDEX", "search"  # of the written request: the user replaces the one and adds the other
_text = r'"(?:[^"\\]|\\.)*+"'
_pair = rf"{_text}\s*:\s*-?[0-9][0-9.eE+-]*+\s*"
_first_query = re.compile(rf"\s*\{{\s*{_text}\s*:\s*\{{\s*(?:{_pair},\s*)*({_pair}\}})?", re.DOTALL)
_is_cut = re.compile(r"[^{}\[\]]*\Z")  # the first query goes on behind the first bytes


def is_by_query(start: Start) -> bool:
    """Whether the first query of an object has numbers by documents."""
    first_query = _first_query.match(start.text)
    if first_query is None:
        return False
    is_closed = first_query[1] is not None
    return is_closed or (len(start.data) >= START_BYTES and bool(_is_cut.match(start.text, first_query.end())))


def is_rank_eval(start: Start) -> bool:
    containers = strict_json.containers(start)
    return (1, "requests") in containers and any(name == "ratings" for _, name in containers)


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """The grade of each pair, in the order of the file."""
    for pair in _pairs(source):
        if isinstance(pair, Refusal):
            yield pair
            continue
        line, query, document, number = pair
        try:
            yield RatingLine(line, query, document, rater="", grade=values.grade(text_of(number)))
        except ValueError as error:
            yield source.refusal(line, str(error), CURE)


def read_run(source: Source) -> Iterator[RunLine | Refusal]:
    """The results of each query, best score first; equal scores by document, descending, as trec_eval sorts them.

    Their system is "", as the file names none.
    """
    results_of_query: dict[str, list[RunLine]] = {}
    for pair in _pairs(source):
        if isinstance(pair, Refusal):
            yield pair
            continue
        line, query, document, number = pair
        result = RunLine(line, query, document, rank=0, score=float(number), system="")  # it gets its rank below
        results_of_query.setdefault(query, []).append(result)
    for results in results_of_query.values():
        best_first = sorted(results, key=attrgetter("score", "document"), reverse=True)
        for rank, result in enumerate(best_first, 1):
            yield result._replace(rank=rank)


def _pairs(source: Source) -> Iterator[tuple[int, str, str, int | float] | Refusal]:
    """(line, query, document, number) of each pair. In the JSON, query and document are the path to the number."""
    for part in strict_json.parts(source):
        if isinstance(part, Refusal):
            yield part
            continue
        try:
            is_number = isinstance(part.value, int | float) and not isinstance(part.value, bool)
            if len(part.path) != 2 or not is_number:
                raise ValueError(f"{values.quoted(part.value)} is given where documents have numbers")
            query, document = map(str, part.path)
            values.checked_text(query, "query")
            document = checked_id(document, "document", values.DOCUMENT_KEY_LENGTH, source)
            yield part.line, query, document, part.value
        except ValueError as error:
            yield source.refusal(part.line, str(error), *cure_of(error, CURE))


def read_rank_eval(source: Source) -> Iterator[RatingLine | Refusal]:
    """The ratings of Elasticsearch's rank_eval, whose requests are named by the ids or texts of queries."""

    def ratings_of(line: int, request: dict[str, Any]) -> Iterator[RatingLine]:
        query = values.checked_text(text_of(request.get("id")), "id of the request")
        for rating in list_of(request.get("ratings"), "ratings"):
            key = object_of(rating, "rating").get("_id")
            document = checked_id(key, "_id", values.DOCUMENT_KEY_LENGTH, source)
            yield RatingLine(line, query, document, rater="", grade=values.grade(text_of(rating.get("rating"))))

    return strict_json.rows(source, ratings_of, RANK_EVAL_CURE, "requests")


def write_rank_eval(rows: Iterable[RatingLine]) -> Iterator[str]:
    """A body for `_rank_eval` of Elasticsearch, for whole grades only: a request for each query by its text.

    The user adds the template of their search, which gets the text as `query`, and the name of their index.
    """
    yield f'{{\n  "metric": {json.dumps(RANK_EVAL_METRIC)},\n  "requests": ['
    for i, (query, group) in enumerate(groupby(rows, key=attrgetter("query"))):
        rated = [{"_index": INDEX_NAME, "_id": row.document, "rating": int(row.grade or 0)} for row in group]
        request = {"id": query, "template_id": TEMPLATE_ID, "params": {"query": query}, "ratings": rated}
        yield f"{',' if i else ''}\n    {json.dumps(request, ensure_ascii=False)}"
    yield "\n  ]\n}\n"


READS = {"results": read_run, "ratings": read_ratings}  # by kind of row

"""Grades or scores by query and document in JSON, as BEIR, ranx and pytrec_eval write it."""

import re
from collections.abc import Iterator
from operator import attrgetter

from . import strict_json, values
from .refusal import Refusal
from .rows import RatingLine, RunLine, checked_id, rows_or_refusals
from .source import START_BYTES, Source, Start
from .strict_json import text_of

CURE = 'Give an object such as {"q1": {"d1": 2, "d2": 0}}.'
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


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """The grade of each pair, in the order of the file."""

    def rating_of(pair: tuple) -> Iterator[RatingLine]:
        line, query, document, number = pair
        yield RatingLine(line, query, document, rater="", grade=values.grade(text_of(number)))

    return rows_or_refusals(source, _pairs(source), rating_of, CURE)


def read_run(source: Source) -> Iterator[RunLine | Refusal]:
    """The results of each query, best score first; equal scores by document, descending, as trec_eval sorts them.

    Their system is "", as the file names none. What is no number is refused.
    """
    results_of_query: dict[str, list[RunLine]] = {}
    for pair in _pairs(source):
        if isinstance(pair, Refusal):
            yield pair
            continue
        line, query, document, score = pair
        result = RunLine(line, query, document, rank=0, score=float(score), system="")  # the rank is set below
        results_of_query.setdefault(query, []).append(result)
    for results in results_of_query.values():
        best_first = sorted(results, key=attrgetter("score", "document"), reverse=True)
        for rank, result in enumerate(best_first, 1):
            yield result._replace(rank=rank)


def _pairs(source: Source) -> Iterator[tuple[int, str, str, int | float] | Refusal]:
    """(line, query, document, number) of each query and document, in JSON such as {"q1": {"d1": 0.5}}."""

    def pair_of(part: strict_json.Part) -> Iterator[tuple]:
        """The pair of a part with a number at the path (query, document). Raises ValueError for another part.

        A part is a value inside the JSON, with its line and its path of names and numbers.
        """
        is_number = isinstance(part.value, int | float) and not isinstance(part.value, bool)
        if len(part.path) != 2 or not is_number:
            raise ValueError(f"{values.quoted(part.value)} is given where documents have numbers")
        query, document = map(str, part.path)
        values.checked_text(query, "query")
        yield part.line, query, checked_id(document, "document", values.DOCUMENT_KEY_LENGTH, source), part.value

    return rows_or_refusals(source, strict_json.parts(source), pair_of, CURE)


READS = {"results": read_run, "ratings": read_ratings}  # by kind of row

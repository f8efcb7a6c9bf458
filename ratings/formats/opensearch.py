"""OpenSearch's query sets and judgment lists, and rank_eval of Elasticsearch and OpenSearch."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from . import strict_json, values
from .refusal import Refusal
from .rows import RatingLine, Topic, checked_id, rows_or_refusals, unique_topics
from .source import Source, Start
from .strict_json import list_of, object_of, text_of

CURE = 'A judgment list has {"query": "…", "ratings": [{"docId": "…", "rating": "1.0"}]} for each query.'
QUERIES_CURE = 'A query set has {"queryText": "…"} for each query.'
RANK_EVAL_CURE = 'A request has {"id": "…", "ratings": [{"_id": "…", "rating": 3}]}.'
INDEX_NAME, TEMPLATE_ID = "INDEX", "search"  # of the written request: the user replaces the one and adds the other


def _holding(member: str) -> Callable[[Start], bool]:
    """The check whether a file has this member, at its top or in a saved answer of OpenSearch."""

    def holds(start: Start) -> bool:
        containers = strict_json.containers(start)
        in_a_hit = (2, "hits") in containers and any(name == member for _, name in containers)
        return (1, member) in containers or in_a_hit

    return holds


is_judged = _holding("judgmentRatings")
is_query_set = _holding("querySetQueries")


def is_rank_eval(start: Start) -> bool:
    containers = strict_json.containers(start)
    return (1, "requests") in containers and any(name == "ratings" for _, name in containers)


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """The ratings of a judgment list, which names queries by their text."""
    return _rows(source, partial(_ratings_in, source, "query", "docId"), CURE, "judgmentRatings")


def read_rank_eval(source: Source) -> Iterator[RatingLine | Refusal]:
    """The ratings of rank_eval, whose requests are named by the ids or texts of queries."""
    return _rows(source, partial(_ratings_in, source, "id", "_id"), RANK_EVAL_CURE, "requests")


def _ratings_in(source: Source, name: str, id_name: str, line: int, record: dict) -> Iterator[RatingLine]:
    """The ratings of a record, whose members `name` and `id_name` are the query and the id of each document."""
    query = values.checked_text(text_of(record.get(name)).strip(), name)
    for rating in list_of(record.get("ratings"), "ratings"):
        key = object_of(rating, "rating").get(id_name)
        document = checked_id(key, id_name, values.DOCUMENT_KEY_LENGTH, source)
        yield RatingLine(line, query, document, rater="", grade=values.grade(text_of(rating.get("rating"))))


def read_judged_queries(source: Source) -> Iterator[Topic | Refusal]:
    return _queries(source, "judgmentRatings", "query", CURE)


def read_queries(source: Source) -> Iterator[Topic | Refusal]:
    return _queries(source, "querySetQueries", "queryText", QUERIES_CURE)


def _queries(source: Source, list_name: str, name: str, cure: str) -> Iterator[Topic | Refusal]:
    """The queries of the records in the list `list_name`, whose member `name` is the text of a query.

    The reference answer of a query set becomes the information need.
    """

    def topic_of(line: int, record: dict[str, Any]) -> Iterator[Topic]:
        text = values.checked_text(text_of(record.get(name)).strip(), "query")
        yield Topic(line, key=None, text=text, need=text_of(record.get("referenceAnswer")).strip() or None)

    return unique_topics(source, _rows(source, topic_of, cure, list_name), cure)


def _rows(source: Source, rows_of: Callable[[int, dict], Iterable], cure: str, list_name: str) -> Iterator:
    """The rows of each record in the list `list_name`, of the file or of each hit in a saved answer of OpenSearch.

    For the list "requests" the file is {"requests": [RECORD, …]}, and the answer {"hits": {"hits": [HIT, …]}},
    whose hits are {"_source": {"requests": [RECORD, …]}}. `rows_of`: makes rows from the line and a record.
    """

    def rows_of_part(part: strict_json.Part) -> Iterator:
        """The rows of the records in a part, a value inside the JSON; none for a part without records.

        `parts` gives the values two levels inside the file. These are single records where the list of records is
        a member of the file. In a saved answer the list of all hits is such a value. Raises ValueError.
        """
        records = []
        if part.path[0] == list_name:  # {"requests": [RECORD, …]}
            records = [part.value]
        elif part.path == ("hits", "hits"):  # {"hits": {"hits": [{"_source": {"requests": [RECORD, …]}}, …]}}
            for hit in list_of(part.value, "hits"):
                document = object_of(object_of(hit, "hit").get("_source"), "_source")
                records += list_of(document.get(list_name), list_name)
        for record in records:
            yield from rows_of(part.line, object_of(record, "record"))

    return rows_or_refusals(source, strict_json.parts(source), rows_of_part, cure)


def write_judgments(rows: Iterable[RatingLine]) -> Iterator[str]:
    """A judgment list as OpenSearch imports it. Grades are texts, so decimals keep their digits."""

    def record_of(query: str, group: Iterable[RatingLine]) -> dict:
        ratings = [{"docId": row.document, "rating": values.grade_text(row.grade)} for row in group]
        return {"query": query, "ratings": ratings}

    yield '{\n  "name": "Idealist judgments",\n  "description": "Judgments from Idealist",\n'
    yield from strict_json.written('  "type": "IMPORT_JUDGMENT",\n  "judgmentRatings": [', rows, record_of)


def write_rank_eval(rows: Iterable[RatingLine]) -> Iterator[str]:
    """A body for `_rank_eval` of Elasticsearch, for whole grades only: a request for each query by its text.

    The user adds the template of their search, which gets the text as `query`, and the name of their index.
    """

    def request_of(query: str, group: Iterable[RatingLine]) -> dict:
        # A judgment always has a grade; only the type of a row allows None.
        rated = [{"_index": INDEX_NAME, "_id": row.document, "rating": int(row.grade or 0)} for row in group]
        return {"id": query, "template_id": TEMPLATE_ID, "params": {"query": query}, "ratings": rated}

    # A request must have a metric.
    head = '{\n  "metric": {"dcg": {"k": 10, "normalize": true}},\n  "requests": ['
    return strict_json.written(head, rows, request_of)


# The readers and writers, by kind of row: of a judgment list, of a query set and of rank_eval
READS = {"queries": read_judged_queries, "ratings": read_ratings}
WRITES = {"judgments": write_judgments}
QUERY_SET = {"queries": read_queries}
RANK_EVAL = {"ratings": read_rank_eval}

"""Measures of a run by judgments that are dicts or frames: an evaluation without a server, as by ir_measures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from .arrays import Judgments, Rankings
from .kernel import evaluate
from .notation import Measure, parse_measure, with_gmax
from .options import Options
from .profiles import PROFILES
from .registry import MEASURES

ByQuery = dict[str, dict[str, float]]  # {query: {document: its grade or score}}


@dataclass(frozen=True)
class Calculated:
    """Values by measure, as text such as nDCG@10, and the options that made them.

    `pandas.DataFrame(found.per_query)` has a row for each judged query and a column for each measure.
    """

    aggregated: dict[str, float]  # the mean of the queries that count, or the sum of a number of documents
    per_query: dict[str, dict[str, float]]  # nan where there is no value
    options: Options


def calc(
    measures: Iterable[Measure | str], qrels: Any, run: Any, profile: str = "trec_eval -c", **options: str
) -> Calculated:
    """The measures of a run, by default equal to those of trec_eval -c.

    qrels: {query: {document: grade}}, or a frame with the columns query_id, doc_id and relevance. run: the same
    with scores, or a frame with the column score. The best score is first, whatever the order of the rows.
    options: those of the command `evaluate`, as text, in place of those of the profile. The highest grade of the
    qrels counts as the highest of the scale. ValueError where something is no number or has no meaning, or no
    query of the run is judged.
    """
    judged, ranked = _by_query(qrels, "relevance"), _by_query(run, "score")
    if not judged.keys() & ranked.keys():
        of_run, of_qrels = next(iter(ranked)), next(iter(judged))
        raise ValueError(f"no query of the run is judged: it begins with {of_run}, and the qrels with {of_qrels}.")
    revised = PROFILES[profile].revised(**options)
    judgments, rankings = _packed(judged, ranked)
    highest = float(judgments.grade.max(initial=0.0))
    parsed = [parse_measure(measure) if isinstance(measure, str) else measure for measure in measures]
    parsed = [with_gmax(measure, highest) for measure in parsed]  # some need the highest grade as a parameter
    scores = evaluate(parsed, judgments, rankings, revised)
    aggregated, per_query = {}, {}
    for measure in parsed:
        values = scores.values[measure]  # float64[queries], in the order of `judged`
        total = float(values[scores.counted(measure)].sum())
        # A measure that counts documents, such as NumRet, is summed over queries.
        aggregated[str(measure)] = total if MEASURES[measure.name].is_count else scores.mean(measure)
        per_query[str(measure)] = dict(zip(judged, values.tolist(), strict=True))
    return Calculated(aggregated, per_query, revised)


def _packed(judged: ByQuery, ranked: ByQuery) -> tuple[Judgments, Rankings]:
    """Judgments and rankings as arrays, with the queries of `judged` in their order.

    Documents are numbered in the order of their keys. Of equal scores, the larger number is first.
    """
    scored = [ranked.get(query, {}) for query in judged]  # of each query: {document: score}
    keys = set(chain.from_iterable([*judged.values(), *scored]))
    number_of = {key: place for place, key in enumerate(sorted(keys))}
    judgments = Judgments(
        len(judged),
        np.repeat(np.arange(len(judged)), [len(grades) for grades in judged.values()]),
        np.array([number_of[key] for grades in judged.values() for key in grades], np.int64),
        np.array([grade for grades in judged.values() for grade in grades.values()], np.float64),
    )
    # Of each query: its (score, document), best first.
    lists = [sorted(((score, number_of[key]) for key, score in each.items()), reverse=True) for each in scored]
    documents = np.array([document for ranking in lists for _, document in ranking], np.int64)
    rankings = Rankings(
        offsets=np.append(0, np.cumsum([len(ranking) for ranking in lists])),
        documents=documents,
        scores=np.array([score for ranking in lists for score, _ in ranking], np.float64),
        present=np.array([query in ranked for query in judged], bool),
        tiebreak=documents,
    )
    return judgments, rankings


def _by_query(table: Any, value: str) -> ByQuery:
    """{query: {document: number}} of a dict or a frame. value: the name of the number. Raises ValueError."""
    by_query: ByQuery = {}
    for query, document, number in _rows(table, value):
        of_query = by_query.setdefault(str(query), {})
        if str(document) in of_query:
            raise ValueError(f"query {query} has document {document} twice.")
        if not np.isfinite(float(number)):
            raise ValueError(f"document {document} of query {query} has {number} as its {value}.")
        of_query[str(document)] = float(number)
    if not by_query:
        raise ValueError(f"there is no row with a {value}.")
    return by_query


def _rows(table: Any, value: str) -> Iterable[tuple[Any, Any, Any]]:
    if isinstance(table, Mapping):
        return ((query, *row) for query, numbers in table.items() for row in numbers.items())
    names = ("query_id", "doc_id", value)
    if missing := [name for name in names if name not in table.columns]:
        raise ValueError(f"the frame has no column {missing[0]}.")
    return zip(*(table[name] for name in names), strict=True)

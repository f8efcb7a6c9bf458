"""Arrays for the measures from small collections written as dicts."""

from collections.abc import Mapping, Sequence

import numpy as np

from evaluation.measures import Judgments, Rankings


def pack(
    judgments: Mapping[str, Mapping[str, float]],
    rankings: Mapping[str, Sequence[str] | Mapping[str, float]],
) -> tuple[Judgments, Rankings]:
    """Arrays for {query: {document: grade}} and {query: [document, best first]} or {query: {document: score}}.

    Queries are numbered in the order of the dicts, documents in the byte order of their keys, so that a number
    is also the tiebreak of trec_eval. A query that is not in `rankings` has no ranking.
    """
    queries = dict.fromkeys([*judgments, *rankings])
    keys = {key for by_query in (judgments, rankings) for listed in by_query.values() for key in listed}
    # Code points stand in the order of their UTF-8 bytes.
    number = {key: place for place, key in enumerate(sorted(keys))}
    results = [_best_first(rankings.get(query, [])) for query in queries]
    documents = np.array([number[key] for ranked in results for key, _ in ranked], np.int64)
    graded = [
        (place, number[key], grade)
        for place, query in enumerate(queries)
        for key, grade in judgments.get(query, {}).items()
    ]
    query, document, grade = zip(*graded, strict=True) if graded else ((), (), ())
    return (
        Judgments(len(queries), query, document, grade),
        Rankings(
            offsets=np.cumsum([0, *map(len, results)]),
            documents=documents,
            scores=[score for ranked in results for _, score in ranked],
            present=[query in rankings for query in queries],
            tiebreak=documents,
        ),
    )


def _best_first(ranking: Sequence[str] | Mapping[str, float]) -> list[tuple[str, float]]:
    if isinstance(ranking, Mapping):
        return sorted(ranking.items(), key=lambda scored: -scored[1])
    return [(key, np.nan) for key in ranking]

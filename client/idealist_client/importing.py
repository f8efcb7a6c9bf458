"""Batches of rows: as many as the server takes at once, each with a key, so that a retry imports nothing twice."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from .tables import is_frame
from .wire import Problem, Wire

MOST_BYTES = 2_400_000  # of a batch; the server takes 2.5 MB
# Rows of a batch; of rankings their results.
MOST_IN_A_BATCH = {"queries": 5_000, "documents": 2_000, "rankings": 50_000, "ratings": 5_000}
LEAST_RESULTS = 10  # what a ranking counts for at least, so that a batch has at most 5,000

Progress = Callable[["Imported"], object]


@dataclass(frozen=True)
class Imported:
    """What the batches did so far."""

    rows: int = 0  # that were sent
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    facts: tuple[str, ...] = ()  # what was done, in the words of the server
    warnings: tuple[str, ...] = ()


def send(
    wire: Wire,
    path: str,
    kind: str,
    rows: Iterable[Mapping[str, Any]],
    members: Mapping[str, Any],
    key: str | None,
    progress: Progress | None,
) -> Imported:
    """Imports rows, batch by batch, and calls `progress` after each. Raises Problem.

    path: the address of the collection; kind: of the rows, a key of MOST_IN_A_BATCH; members: what each batch has
    beside its rows. With `key`, the same rows sent again within 30 days are imported once, also by another
    program.
    """
    done = Imported()
    # The rows are JSON already, and stand in the list at the end: {"system": "a", "rankings": [ rows ]}
    begin = json.dumps({**members, kind: []}).removesuffix("]}").encode()
    for number, batch in enumerate(batches(rows, kind)):
        batch_key = f"{key}-{kind}-{number}" if key else str(uuid4())
        try:
            answer = wire.post_batch(f"{path}/{kind}", begin + b",".join(batch) + b"]}", batch_key)
        except Problem as problem:
            problem.rows_before = done.rows
            raise
        done = Imported(
            rows=done.rows + len(batch),
            new=done.new + answer["new"],
            changed=done.changed + answer["changed"],
            unchanged=done.unchanged + answer["unchanged"],
            facts=(*done.facts, *answer["facts"]),
            warnings=(*done.warnings, *answer["warnings"]),
        )
        if progress:
            progress(done)
    return done


def batches(rows: Iterable[Mapping[str, Any]], kind: str) -> Iterator[list[bytes]]:
    """Batches of rows as JSON, each with as many rows as the server takes in one call.

    A row longer than MOST_BYTES gets a batch of its own, which the server refuses.
    """
    batch: list[bytes] = []
    size = count = 0  # bytes, and what MOST_IN_A_BATCH counts
    for row in rows:
        members = {name: value for name, value in row.items() if is_known(value)}
        line = json.dumps(members, ensure_ascii=False).encode()
        # A short ranking counts for more results than it has: the server also limits the number of rankings.
        count_of_row = max(LEAST_RESULTS, len(row["documents"])) if kind == "rankings" else 1
        has_room = size + len(line) <= MOST_BYTES and count + count_of_row <= MOST_IN_A_BATCH[kind]
        if batch and not has_room:
            yield batch
            batch, size, count = [], 0, 0
        batch.append(line)
        size += len(line) + 1  # with a comma
        count += count_of_row
    if batch:
        yield batch


def is_known(value: Any) -> bool:
    """Neither None nor nan, which frames have where there is no value."""
    return value is not None and not (isinstance(value, float) and value != value)


def rows_of(given: Any) -> Iterable[Mapping[str, Any]]:
    return given.to_dict("records") if is_frame(given) else given


def rankings_of(run: Any) -> Iterator[dict[str, Any]]:
    """The ranking of each query, with the members of the API. run: {query: [documents, best first]},
    {query: {document: score}}, or a frame with the columns query_id, doc_id and score, in any order of rows."""
    if is_frame(run):
        scores_of_query: dict[Any, list[tuple[Any, Any]]] = {}  # (document, score) of each result
        for query, document, score in zip(run["query_id"], run["doc_id"], run["score"], strict=True):
            scores_of_query.setdefault(query, []).append((document, score))
        for query, pairs in scores_of_query.items():
            yield scored(query, pairs)
        return
    for query, ranked in run.items():
        if isinstance(ranked, Mapping):
            yield scored(query, ranked.items())
        else:
            yield {"query": str(query), "documents": [str(key) for key in ranked]}


def scored(query: Any, pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """The ranking of documents with scores. One that is there twice stays so, and the server says it."""
    best_first = sorted(pairs, key=lambda pair: pair[1], reverse=True)
    documents = [str(key) for key, _ in best_first]
    return {"query": str(query), "documents": documents, "scores": [float(score) for _, score in best_first]}

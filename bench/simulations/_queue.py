"""The same raters at the app's own queue: a collection on SQLite, claims and saves, and the worker's rounds.

Each process has its own database. Django is set up in that process, at its first simulation.
"""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import cycle
from pathlib import Path

import numpy as np

from bench.simulations._judging import BUDGETS, MEASURE, Seen
from evaluation.expected import Estimate, Pool
from evaluation.measures import Options

RATERS = 3
HELD = 5  # documents that a rater asks for at once
FOLDER = tempfile.TemporaryDirectory(prefix="idealist-bench-")  # taken away by the process that made it


@cache
def prepared_here(process: int) -> None:
    """Django and an empty database, once in each process."""
    from bench._engines import prepared

    folder = Path(FOLDER.name) / str(process)
    folder.mkdir(mode=0o700)
    os.environ |= {"IDEALIST_DATA": str(folder), "DATABASE_URL": ""}
    prepared()


def through_queue(pool: Pool, truth: np.ndarray, seed: int) -> Seen:
    """Three raters who ask for five documents at a time; the worker looks whether a round is due after each."""
    prepared_here(os.getpid())
    from django.utils import timezone

    from evaluation.deciding.drawing import draw_due

    collection, raters, answers = stored(pool, truth, seed)
    draw_due()
    number, done = {}, 0
    acts = rated(cycle(raters), answers)
    for budget in BUDGETS:
        while done < round(budget * pool.pairs):
            pair, row = next(acts)
            number[pair] = row
            done += 1
        level = np.full(pool.pairs, -1)
        rows = list(number.values())
        level[rows] = truth[rows]
        yield budget, level, expected(collection, pool.systems)
    type(collection).objects.filter(pk=collection.pk).update(put_away_at=timezone.now())


def rated(raters: Iterator, answers: dict[tuple[int, int], tuple[int, object]]) -> Iterator[tuple[int, int]]:
    """The pair and the row of each rating that is given, one after the other."""
    from evaluation.deciding.drawing import draw_due
    from ratings.desk import queue

    idle = 0
    for rater in raters:
        tasks = queue.claim(rater, HELD)
        idle = 0 if tasks else idle + 1
        if idle > 2 * RATERS:
            raise RuntimeError("No rater gets a pair any more.")
        for task in tasks:
            row, grade = answers[task.pair.query_id, task.pair.document_id]
            queue.save(rater, task.pair, queue.Submission(grade=grade))
            yield task.pair.pk, row
        draw_due()


def stored(pool: Pool, truth: np.ndarray, seed: int):
    """The draw as a collection in the decisive order, its raters, and the row and the grade of each pair."""
    from bench._people import made_raters
    from ratings.models import Collection, Document, Grade, Query, Ranking, System
    from ratings.pool.pooling import pool as pooled

    slug = f"draw-{seed}-{Collection.objects.count()}"
    collection = Collection.objects.create(slug=slug, name=slug, order=Collection.Order.DECISIVE)
    scale = [Grade.objects.create(collection=collection, value=value) for value in pool.gains.tolist()]
    queries = Query.objects.bulk_create(
        Query(collection=collection, key=f"q{number}", text=f"q{number}") for number in range(pool.queries)
    )
    documents = Document.objects.bulk_create(
        (Document(collection=collection, key=f"d{row}", body="") for row in range(pool.pairs)), batch_size=1_000
    )
    ids = np.array([document.pk for document in documents])
    for place in range(pool.systems):
        system = System.objects.create(collection=collection, name=f"s{place:02}")
        lists = []
        for number, query in enumerate(queries):
            rows = np.arange(*pool.first[number : number + 2])
            rank = pool.rank[rows, place]
            best = rows[np.argsort(rank, kind="stable")][: (rank <= pool.depth).sum()]
            lists.append(Ranking(system=system, query=query, documents=ids[best].tolist(), scores=None))
        Ranking.objects.bulk_create(lists)
    pooled(collection, depth=pool.depth, wanted=1)
    collection.touch()
    raters = made_raters(collection, (f"{slug}-rater{number}" for number in range(RATERS)))
    answers = {(queries[pool.query[row]].pk, int(ids[row])): (row, scale[truth[row]]) for row in range(pool.pairs)}
    return collection, raters, answers


def expected(collection, systems: int) -> Estimate:
    """What the app tells now, with the systems in the order of the pool."""
    from evaluation.deciding.report import expected_of
    from evaluation.measures import parse_measure
    from evaluation.scores import Asked

    found = expected_of(collection, Asked(parse_measure(MEASURE), Options()))
    order = [found.systems.index(f"s{place:02}") for place in range(systems)]
    given = found.estimate
    if given.covariance is None:
        return replace(given, mean=given.mean[order])
    return replace(given, mean=given.mean[order], covariance=given.covariance[np.ix_(order, order)])

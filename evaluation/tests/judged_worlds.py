"""A world in the database: its systems, a pool of all they retrieve, and raters who know the true levels."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from evaluation.deciding.drawing import draw_next
from ratings.desk import queue
from ratings.models import Collection, Document, Grade, Query, Ranking, Rater, System
from ratings.pool.pooling import pool
from ratings.tests.cast import make_rater

from .worlds import World, world


@dataclass
class Judged:
    """A collection whose raters answer by `truth`: (query id, document id) -> grade."""

    collection: Collection
    truth: dict[tuple[int, int], Grade]

    def rate(self, rater: Rater, count: int, **when) -> int:
        """How many of `count` ratings the rater gave: fewer where the queue ran out."""
        for done in range(count):
            tasks = queue.claim(rater, **when)
            if not tasks:
                return done
            pair = tasks[0].pair
            answer = queue.Submission(grade=self.truth[pair.query_id, pair.document_id])
            queue.save(rater, pair, answer, **when)
        return count

    def play(self, rater: Rater, rounds: int) -> None:
        """Draw rounds and rate all of each, by fixed seeds: each time the same."""
        for _ in range(rounds):
            made = draw_next(self.collection, seed=self.collection.rounds.count())
            if made is None:
                return
            self.rate(rater, made.drawn.count())


def small_world() -> World:
    return world(np.random.default_rng(3), queries=8, systems=3, gains=[0, 1, 3], cutoff=5)


def stored(found: World, slug: str = "world", *, depth: int = 100, **fields) -> Judged:
    """The world as a collection with these fields; document r of a query is its r-th row."""
    fields = {"order": Collection.Order.DECISIVE, **fields}
    collection = Collection.objects.create(slug=slug, name=slug, **fields)
    scale = [
        Grade.objects.create(collection=collection, value=Decimal(f"{value:g}")) for value in found.pool.gains
    ]
    queries = Query.objects.bulk_create(
        Query(collection=collection, key=f"q{number}", text=f"query {number}")
        for number in range(found.pool.queries)
    )
    documents = Document.objects.bulk_create(
        Document(collection=collection, key=f"d{row:05}", body=f"text {row}") for row in range(found.pool.pairs)
    )
    systems = System.objects.bulk_create(
        System(collection=collection, name=f"system{place}") for place in range(found.pool.systems)
    )
    ids = np.array([document.pk for document in documents])
    rankings = []
    for place, system in enumerate(systems):
        for number, query in enumerate(queries):
            rows = np.arange(*found.pool.first[number : number + 2])
            rank = found.pool.rank[rows, place]
            listed = rows[np.argsort(rank, kind="stable")][: (rank <= 100).sum()]
            rankings.append(Ranking(system=system, query=query, documents=ids[listed].tolist(), scores=None))
    Ranking.objects.bulk_create(rankings)
    pool(collection, depth=depth, wanted=1)
    truth = {
        (queries[found.pool.query[row]].pk, documents[row].pk): scale[found.truth[row]]
        for row in range(found.pool.pairs)
    }
    return Judged(collection, truth)


def unfinished(rounds: int = 2, slug: str = "world") -> Judged:
    """Three systems on eight queries, judged for so many rounds that were drawn for nDCG@5."""
    judged = stored(small_world(), slug)
    Collection.objects.filter(pk=judged.collection.pk).update(aim={"measure": "nDCG@5"})
    judged.collection.refresh_from_db()
    rater = make_rater(judged.collection)
    for number in range(rounds):
        made = draw_next(judged.collection, seed=number)
        judged.rate(rater, made.drawn.count())
    return judged


def true_means(judged: Judged, found: World) -> np.ndarray:
    """The means of nDCG once everything is judged, float64[systems]."""
    from evaluation.expected.estimate import means

    (row,) = means(found.pool, found.truth, np.zeros((0, 1), np.int8))
    return row


__all__ = ["Judged", "make_rater", "stored", "true_means", "unfinished"]

"""A large record in a database: collections with many systems, and raters who are halfway through their pools.

Import it once Django is set up.
"""

from datetime import timedelta
from typing import NamedTuple
from uuid import uuid4

import numpy as np
from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.utils import timezone

from bench._collection import SEED
from bench._people import made_raters
from ratings.database.bulk import insert, new_ids
from ratings.models import (
    UNDRAWN,
    Assignment,
    Collection,
    Document,
    Grade,
    Guidelines,
    Pair,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    System,
)

GRADES = (0, 1, 2, 3)
SHARES = (0.5, 0.25, 0.15, 0.1)
POOLED = 25  # documents of a query
WANTED, GIVEN = 3, 2  # ratings of a pair
BODY = "A few words that a rater reads before they grade the document. " * 3
WEEKS = 12  # over which the raters rated
WORDS = ("red", "shoes", "winter", "jacket", "lamp", "green", "tent", "light")


class Size(NamedTuple):
    """How large each of the collections is."""

    collections: int
    systems: int
    queries: int
    depth: int
    raters: int  # of a collection

    def __str__(self) -> str:
        return (
            f"{self.collections} collections x {self.systems} systems x {self.queries:,} queries x {self.depth}"
            f" results, {self.collections * self.queries * POOLED * GIVEN:,} ratings by"
            f" {self.collections * self.raters} raters"
        )


def fill(size: Size) -> Collection:
    """Make the collections and return the last one. PostgreSQL gets statistics, which autovacuum would make."""
    rng = np.random.default_rng(SEED)
    for number in range(size.collections):
        with transaction.atomic():
            made = _Filling(size, f"large-{number}", rng).collection
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return made


class _Filling:
    """One collection, made table by table."""

    def __init__(self, size: Size, slug: str, rng: np.random.Generator) -> None:
        self.size, self.rng, self.now = size, rng, timezone.now()
        self.collection = Collection.objects.create(slug=slug, name=slug.title())
        Guidelines.objects.create(collection=self.collection, version=1, text="## 3 Perfect")
        self.grades = [Grade.objects.create(collection=self.collection, value=value) for value in GRADES]
        self.raters = self._people()
        self.queries = Query.objects.bulk_create(
            Query(collection=self.collection, key=f"q{number}", text=" ".join(rng.choice(WORDS, 3)))
            for number in range(size.queries)
        )
        # So many documents of each query may be returned that systems differ.
        self.documents = self._documents(size.depth + size.depth // 2)
        pooled = self._rankings()
        self._ratings(pooled)
        self.collection.touch()

    def _people(self) -> list[Rater]:
        password = make_password("a pass phrase")
        names = (f"{self.collection.slug}-rater-{number}" for number in range(self.size.raters))
        return made_raters(self.collection, names, password, guidelines_read=1)

    def _documents(self, each: int) -> np.ndarray:
        """The ids, uint32[queries, documents that may be returned]."""
        ids = new_ids(Document, self.size.queries * each)
        columns = ["id", "collection_id", "key", "title", "body", "url", "fields"]
        pk = self.collection.pk
        insert(Document, columns, ((id, pk, f"D{id}", f"Document {id}", BODY, "", "{}") for id in ids))
        return np.array(ids, np.uint32).reshape(self.size.queries, each)

    def _rankings(self) -> np.ndarray:
        """Rank the documents by each system. Returns how deep the pooled documents stand, int[queries, POOLED]."""
        best = np.full(self.documents.shape, self.size.depth)
        scores = np.sort(self.rng.gamma(2.0, 4.0, self.size.depth))[::-1].astype("<f8").tobytes()
        for number in range(self.size.systems):
            system = System.objects.create(collection=self.collection, name=f"system-{number}")
            # Good documents have low numbers, and each system finds them with an error of its own.
            noise = self.rng.normal(0, 20 + 3 * number, self.documents.shape)
            order = np.argsort(np.arange(self.documents.shape[1]) + noise, axis=1)[:, : self.size.depth]
            ranked = np.take_along_axis(self.documents, order, axis=1).astype("<u4")
            rows = zip(self.queries, ranked, strict=True)
            columns = ["system_id", "query_id", "documents", "scores"]
            insert(Ranking, columns, ((system.pk, query.pk, row.tobytes(), scores) for query, row in rows))
            place = np.full(best.shape, self.size.depth)
            np.put_along_axis(place, order, np.arange(self.size.depth)[np.newaxis], axis=1)
            best = np.minimum(best, place)
        return best

    def _ratings(self, best: np.ndarray) -> None:
        """A pool of the best documents of each query, of whose wanted ratings GIVEN are there."""
        at = connection.ops.adapt_datetimefield_value
        pooled = np.argsort(best, axis=1, kind="stable")[:, :POOLED]
        pairs = list(new_ids(Pair, pooled.size))
        of_query = np.repeat([query.pk for query in self.queries], POOLED).tolist()
        documents = np.take_along_axis(self.documents, pooled, axis=1).ravel().tolist()
        depth = (np.take_along_axis(best, pooled, axis=1).ravel() + 1).tolist()
        columns = ["id", "query_id", "document_id", "token", "wanted", "depth", "born"]
        rows = zip(pairs, of_query, documents, depth, strict=True)
        insert(Pair, columns, ((id, q, d, uuid4().hex, WANTED, deep, 0) for id, q, d, deep in rows))
        good = self.rng.choice(len(GRADES), len(pairs), p=SHARES)
        days = np.sort(self.rng.random(len(pairs)))[::-1] * 7 * WEEKS
        given, events, assignments = [], [], []
        for place, (pair, query, document, deep) in enumerate(zip(pairs, of_query, documents, depth, strict=True)):
            for turn in range(WANTED):
                lot = int(self.rng.integers(2**31 - 1))
                facts = (pair, self.collection.pk, query, deep, lot, UNDRAWN, 0, 0)
                if turn >= GIVEN:
                    assignments.append((None, "open", *facts))
                    continue
                rater = self.raters[(place + turn) % len(self.raters)].pk
                agrees = self.rng.random() < 0.7
                grade = self.grades[good[place] if agrees else int(self.rng.integers(len(GRADES)))]
                moment = at(self.now - timedelta(days=float(days[place])))
                given.append((pair, rater, grade.pk, "", "", 1, moment, moment, query, document))
                events.append((pair, rater, "grade", grade.value, "", "", 1, 1, 0, 0, 8.5, "one", moment))
                assignments.append((rater, "done", *facts))
        columns = ["pair_id", "rater_id", "grade_id", "reason", "comment", "revision"]
        insert(Rating, [*columns, "created_at", "changed_at", "query_id", "document_id"], given)
        columns = ["pair_id", "rater_id", "kind", "value", "reason", "comment", "scale_version"]
        columns += ["guidelines_version", "presentation_version", "opened", "seconds", "shown", "created_at"]
        insert(RatingEvent, columns, events)
        columns = ["rater_id", "state", "pair_id", "collection_id", "query_id", "depth", "lot", "round", "turn"]
        insert(Assignment, [*columns, "extra"], assignments)

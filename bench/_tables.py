"""The synthetic collection in a database: in the tables of the project, and in plain ones with a row a result.

Import it once Django is set up.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from bench._collection import Synthetic, document_keys, query_keys
from ratings.models import Collection, Document, Grade, Pair, Query, Ranking, Rater, Rating, System

BATCH = 20_000
PLAIN = {
    "judged": "query INTEGER, document INTEGER, grade INTEGER",
    "result": "query INTEGER, document INTEGER, rank INTEGER, score REAL",
}


def filled(made: Synthetic, systems: int = 1, raters: int = 1) -> Collection:
    """The collection in the tables of the project, by way of the models: so many systems, every pair rated by all
    raters. Those after the first say one step more than the first on every third pair."""
    collection = Collection.objects.create(slug="bench", name="Bench")
    keys = query_keys(np.arange(made.shape.queries))
    queries = Query.objects.bulk_create(Query(collection=collection, key=key, text=key) for key in keys)
    for number in range(systems):
        system = System.objects.create(collection=collection, name=f"system{number}")
        lists = zip(queries, made.documents(number), made.scores(number), strict=True)
        for batch in batches(Ranking(system=system, query=q, documents=d, scores=s) for q, d, s in lists):
            Ranking.objects.bulk_create(batch)
    numbers = np.unique(made.judged_document)
    documents = zip(numbers.tolist(), document_keys(numbers), strict=True)
    for batch in batches(Document(pk=number, collection=collection, key=key) for number, key in documents):
        Document.objects.bulk_create(batch)
    scale = {value: Grade.objects.create(collection=collection, value=value) for value in (0, 1, 2, 3)}
    at = timezone.now()
    people = [
        Rater.objects.create(collection=collection, name=f"qrels{number}", kind=Rater.Kind.IMPORTED)
        for number in range(raters)
    ]
    judged = zip(
        made.judged_query.tolist(), made.judged_document.tolist(), made.grade.astype(int).tolist(), strict=True
    )
    for batch in batches(judged):
        pairs = Pair.objects.bulk_create(
            Pair(query=queries[query], document_id=number) for query, number, _ in batch
        )
        graded = list(enumerate(zip(pairs, batch, strict=True)))
        Rating.objects.bulk_create(
            Rating(
                pair=pair,
                query_id=pair.query_id,
                document_id=pair.document_id,
                rater=rater,
                grade=scale[(grade + (number > 0 and place % 3 == 0)) % 4],
                created_at=at,
                changed_at=at,
            )
            for number, rater in enumerate(people)
            for place, (pair, (*_, grade)) in graded
        )
    collection.touch()
    return collection


def batches(rows) -> Iterator[list]:
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        yield batch


def fill_plain(made: Synthetic) -> None:
    """The same in the tables `judged` and `result`."""
    ranks = np.tile(np.arange(1, made.shape.depth + 1), made.shape.queries)
    columns = {
        "judged": [made.judged_query, made.judged_document, made.grade.astype(int)],
        "result": [made.query, made.documents(0).ravel(), ranks, made.scores(0).ravel()],
    }
    with connection.cursor() as cursor, transaction.atomic():
        for name, described in PLAIN.items():
            cursor.execute(f"CREATE TABLE {name} ({described})")
            rows = zip(*(column.tolist() for column in columns[name]), strict=True)
            if connection.vendor == "postgresql":
                with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
            else:
                cursor.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(columns[name]))})", rows)
        cursor.execute("CREATE INDEX result_in_order ON result (query, rank)")
        cursor.execute("CREATE UNIQUE INDEX judged_pair ON judged (query, document)")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

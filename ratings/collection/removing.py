"""Removal of the rows of a deleted collection, in pieces, so that others need not wait for the end."""

import time

import numpy as np
from django.db import connection, models, transaction

from ..copies.tables import rows_to_delete
from ..database.snapshot import snapshot
from ..models import Collection, Deletion

ROWS_PER_STATEMENT = 500
LONGEST_PAUSE = 0.2  # seconds


def remove_collection(collection: Collection) -> None:
    """Delete all rows of a deleted collection, which has no slug, in pieces, and then the collection.

    After a kill, the next call goes on. Several processes may run it at once. Raises IntegrityError where a row
    came in between: the next call deletes that, too.
    """
    for rows in rows_to_delete(collection):
        # One query for all ids: one for each piece would take quadratic time. The newest rows first, because an
        # undo refers to an older event. On PostgreSQL the snapshot lifts the time limit of queries.
        with snapshot():
            pks = np.sort(np.fromiter(rows.order_by().values_list("pk", flat=True).iterator(), np.int64))[::-1]
        _delete(models.QuerySet(rows.model), pks)  # without the condition of `rows`, which may join tables
    with transaction.atomic():
        collection.jobs.update(collection=None)  # only the job that made the collection is left
        # `QuerySet.delete` would look for rows that refer to these, of which none is left. The manager `written`,
        # unlike `objects`, also has collections without a slug.
        deletions = Deletion.objects.filter(collection=collection)
        for rows in (deletions, Collection.written.filter(pk=collection.pk, slug=None)):
            rows._raw_delete(rows.db)


def _delete(rows: models.QuerySet, pks: np.ndarray) -> None:
    """Delete the rows with these ids in pieces, so that others wait only for a moment."""
    for start in range(0, len(pks), ROWS_PER_STATEMENT):
        piece = rows.filter(pk__in=pks[start : start + ROWS_PER_STATEMENT].tolist())
        begun = time.monotonic()
        with transaction.atomic():
            piece._raw_delete(piece.db)
        give_way(time.monotonic() - begun)


def give_way(seconds: float) -> None:
    """On SQLite, which has one writer at a time, let others write for as long as they had to wait."""
    if connection.vendor == "sqlite":
        time.sleep(min(LONGEST_PAUSE, seconds))

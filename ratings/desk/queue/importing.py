"""Record ratings that were made elsewhere, and take a whole import of them back.

A few SQL statements, which run on both databases, turn the staged ratings into the rows that the acts of a rater
would have made. No row is read into Python.

An assignment is one wanted rating of a pair: open, leased to a rater, or done, that is, filled by the grade of a
rater. An extra one is beyond the number wanted, for one rater. A surplus grade is one that fills no assignment.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import uuid4

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from ...database.bulk import check_foreign_keys, insert
from ...models import UNRANKED, Collection, Job, Rater, RatingEvent, StagedRating
from .acts import lock_all
from .undoing import RATING_KINDS

MANY_RATINGS = 2_000
# In place of the id of a rating: a later row of the import replaces this one, so it makes an event and no rating.
HISTORY_ONLY = 0


class ImportedRating(NamedTuple):
    """One rating of a file: a grade, or a reason why the pair cannot be judged."""

    rater: str
    query_id: int
    document_id: int | None  # None: the document is not stored yet
    value: Decimal | None
    reason: str = ""
    comment: str = ""
    seconds: float | None = None
    at: datetime | None = None  # None: the time of recording
    # The rating that this one changes, and its revision, as `differing` read them. None: this is a new rating; or
    # HISTORY_ONLY.
    rating_id: int | None = None
    revision: int | None = None


# The pairs are one JSON parameter. Without CROSS JOIN, SQLite would begin with all ratings of a rater.
_WANTED = {
    "sqlite": "(SELECT json_extract(value, '$[0]') AS query_id, json_extract(value, '$[1]') AS document_id"
    " FROM json_each(%s)) AS wanted CROSS JOIN ratings_pair AS pair",
    "postgresql": "(SELECT (value ->> 0)::bigint AS query_id, (value ->> 1)::bigint AS document_id"
    " FROM json_array_elements(%s) AS value) AS wanted JOIN ratings_pair AS pair",
}


def differing(collection: Collection, rows: Sequence[ImportedRating]) -> list[ImportedRating]:
    """The rows of a file that are new or differ from the stored ratings.

    Each result has the id and the revision of the stored rating that it changes, as `rating_id` and `revision`;
    both are None if it is new. Three queries. Call it with some thousand rows at a time.
    """
    rater_names = dict(collection.raters.filter(name__in={row.rater for row in rows}).values_list("pk", "name"))
    if not rater_names:  # no rater of the file is stored, so each row is new
        return list(rows)
    pairs = {(row.query_id, row.document_id) for row in rows if row.document_id}
    stored = _stored_ratings(collection, rater_names, pairs)
    changed = []
    for row in rows:
        key = row.rater, row.query_id, row.document_id
        rating_id, revision, content = stored.get(key, (None, None, None))
        if content != (row.value, row.reason, row.comment):
            changed.append(row._replace(rating_id=rating_id, revision=revision))
    return changed


def _stored_ratings(collection: Collection, rater_names: dict[int, str], pairs: set[tuple[int, int]]) -> dict:
    """(rater's name, query id, document id) → (rating id, revision, (value, reason, comment)), as stored.

    `rater_names`: id → name of the raters whose ratings are read. `pairs`: (query id, document id) of the pairs.
    """
    grade_values = dict(collection.grades.values_list("pk", "value"))
    stored = {}
    with connection.cursor() as cursor:
        # `_WANTED` begins a join of the pairs, as the table `wanted`, with their rows, as the table `pair`.
        cursor.execute(
            "SELECT rating.rater_id, pair.query_id, pair.document_id, rating.id, rating.revision,"
            f" rating.grade_id, rating.reason, rating.comment FROM {_WANTED[connection.vendor]}"
            " ON pair.query_id = wanted.query_id AND pair.document_id = wanted.document_id"
            " JOIN ratings_rating AS rating ON rating.pair_id = pair.id"
            f" WHERE rating.rater_id IN ({', '.join(map(str, rater_names))})",
            [json.dumps(list(pairs))],
        )
        for rater, query, document, pk, revision, grade, reason, comment in cursor.fetchall():
            content = grade_values.get(grade), reason, comment
            stored[rater_names[rater], query, document] = pk, revision, content
    return stored


def stage(job: Job, rows: Iterable[ImportedRating]) -> None:
    """Write the rows to the staging table, from which `record_staged` makes ratings."""
    moment = connection.ops.adapt_datetimefield_value
    # The fields in their order; the column of `at` is called rated_at.
    columns = ["job_id", "token", *ImportedRating._fields[:7], "rated_at", *ImportedRating._fields[8:]]
    values = (
        row._replace(value=None if row.value is None else f"{row.value:f}", at=moment(row.at)) for row in rows
    )
    insert(StagedRating, columns, ((job.pk, uuid4().hex, *row) for row in values))


@transaction.atomic
def record_staged(job: Job, *, now: datetime | None = None) -> None:
    """Make ratings of what the job has staged, which is then empty. Ratings without a time get `now`.

    Raises IntegrityError if a rating has changed since `differing` read it, or if a name now belongs to a person.
    """
    params = _params(job, now or timezone.now())
    n_rows, n_history = job.staged_ratings.count(), job.staged_ratings.filter(rating_id=HISTORY_ONLY).count()
    _make_raters(job)
    # PostgreSQL chooses its plans by statistics, which do not have the new pairs yet. It may choose nested loops,
    # as for few pairs, which take minutes with thousands.
    without_loops = n_rows > MANY_RATINGS and connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        cursor.execute(_PAIRS, params)  # makes those that are missing
        if without_loops:
            cursor.execute("SET LOCAL enable_nestloop = off")
        cursor.execute(_NEW, params)
        recorded = cursor.rowcount
        cursor.execute(_CHANGED, params)
        recorded += cursor.rowcount
        cursor.execute(_EVENTS, params)
        # Each row makes an event, and a rating too unless it is for the history alone.
        if recorded != n_rows - n_history or cursor.rowcount != n_rows:
            raise IntegrityError("somebody changed these ratings or their raters meanwhile")
        if without_loops:
            cursor.execute("SET LOCAL enable_nestloop = on")
    _sync_assignments(job)
    job.staged_ratings.all()._raw_delete(job.staged_ratings.db)


@transaction.atomic
def take_back_import(job: Job, *, by=None) -> None:
    """Restore the ratings as they were before the import, and write an undo event for each of its events.

    Only for an import whose raters have not rated its pairs again since: `importing.intake.undoing` checks that.
    """
    params = _params(job, timezone.now()) | {"actor": by and by.pk}  # `by`: the account; None: a program
    lock_all(Rater.objects.filter(pk__in=job.events.order_by().values("rater")))
    with connection.cursor() as cursor:
        # Undo events first: _RESTORED writes what the last event that is not undone says, and _REMOVED deletes the
        # ratings that have no such event.
        for statement in (_UNDO, _RESTORED, _REMOVED):
            cursor.execute(statement, params)
    _sync_assignments(job)
    check_foreign_keys()  # here, because raters would wait while the commit checks them


def _params(job: Job, now: datetime) -> dict:
    return {
        "job": job.pk,
        "collection": job.collection_id,
        "actor": job.by_id,
        "scale": Collection.objects.values_list("scale_version", flat=True).get(pk=job.collection_id),
        "now": connection.ops.adapt_datetimefield_value(now),
    }


def _make_raters(job: Job) -> None:
    """Make the missing raters. Raises IntegrityError if a name now belongs to a person."""
    named = job.staged_ratings.order_by().values("rater").distinct()
    imported = Rater.objects.filter(collection=job.collection_id, kind=Rater.Kind.IMPORTED)
    missing = named.exclude(rater__in=imported.values("name")).order_by("rater").values_list("rater", flat=True)
    facts = {"collection_id": job.collection_id, "kind": Rater.Kind.IMPORTED}
    Rater.objects.bulk_create(Rater(name=name, **facts) for name in missing)
    lock_all(imported.filter(name__in=named))  # so that nobody renames or erases them meanwhile


def _sync_assignments(job: Job) -> None:
    """Make the assignments of all pairs of an import agree with their ratings.

    A grade fills the assignment that its rater holds. Done assignments without a grade are opened, or deleted
    where they are extra or their pair is retired. Then surplus grades fill open assignments, in the order of their
    ids.
    """
    with connection.cursor() as cursor:
        for statement in (_FILL_OWN, _DELETE_SURPLUS, _OPEN, _FILL_OPEN):
            cursor.execute(statement, {"job": job.pk})


Kind = RatingEvent.Kind

_STAGED = """ratings_stagedrating AS staged
    JOIN ratings_rater AS rater ON rater.collection_id = %(collection)s AND rater.name = staged.rater
    JOIN ratings_pair AS pair ON pair.query_id = staged.query_id AND pair.document_id = staged.document_id"""
_GRADE = "ratings_grade AS grade ON grade.collection_id = %(collection)s AND grade.value"

_PAIRS = f"""
    INSERT INTO ratings_pair (query_id, document_id, token, wanted, depth, born)
    SELECT query_id, document_id, token, 0, {UNRANKED}, 0 FROM ratings_stagedrating
    WHERE job_id = %(job)s ORDER BY id
    ON CONFLICT (query_id, document_id) DO NOTHING"""

_NEW = f"""
    INSERT INTO ratings_rating
        (pair_id, query_id, document_id, rater_id, grade_id, reason, comment, revision, created_at, changed_at)
    SELECT pair.id, staged.query_id, staged.document_id, rater.id, grade.id, staged.reason, staged.comment, 1,
        COALESCE(staged.rated_at, %(now)s), COALESCE(staged.rated_at, %(now)s)
    FROM {_STAGED} LEFT JOIN {_GRADE} = staged.value
    WHERE staged.job_id = %(job)s AND staged.rating_id IS NULL ORDER BY staged.id"""

_CHANGED = f"""
    UPDATE ratings_rating AS rating SET grade_id = staged.grade_id, reason = staged.reason,
        comment = staged.comment, revision = rating.revision + 1, changed_at = COALESCE(staged.rated_at, %(now)s),
        set_aside_at = NULL
    FROM (SELECT staged.*, grade.id AS grade_id
        FROM ratings_stagedrating AS staged LEFT JOIN {_GRADE} = staged.value
        WHERE staged.job_id = %(job)s AND staged.rating_id IS NOT NULL) AS staged
    WHERE rating.id = staged.rating_id AND rating.revision = staged.revision"""

_EVENTS = f"""
    INSERT INTO ratings_ratingevent (pair_id, rater_id, kind, value, reason, comment, seconds, actor_id, job_id,
        scale_version, guidelines_version, presentation_version, opened, shown, created_at)
    SELECT pair.id, rater.id, '{Kind.IMPORT}', staged.value, staged.reason, staged.comment, staged.seconds,
        %(actor)s, staged.job_id, %(scale)s, 0, 0, FALSE, '', COALESCE(staged.rated_at, %(now)s)
    FROM {_STAGED} WHERE staged.job_id = %(job)s ORDER BY staged.id"""

_UNDO = f"""
    INSERT INTO ratings_ratingevent (pair_id, rater_id, kind, reason, comment, undoes_id, actor_id, scale_version,
        guidelines_version, presentation_version, opened, shown, created_at)
    SELECT pair_id, rater_id, '{Kind.UNDO}', '', '', id, %(actor)s, %(scale)s, 0, 0, FALSE, '', %(now)s
    FROM ratings_ratingevent WHERE job_id = %(job)s ORDER BY id"""

# For each rater and pair of the import: the latest rating event that is not undone.
_STANDING = f"""
    SELECT event.pair_id, event.rater_id, MAX(latest.id) AS id FROM ratings_ratingevent AS event
    JOIN ratings_ratingevent AS latest ON latest.pair_id = event.pair_id AND latest.rater_id = event.rater_id
    LEFT JOIN ratings_ratingevent AS undo ON undo.undoes_id = latest.id
    WHERE event.job_id = %(job)s AND undo.id IS NULL
        AND latest.kind IN ({", ".join(f"'{kind}'" for kind in RATING_KINDS)})
    GROUP BY event.pair_id, event.rater_id"""

_RESTORED = f"""
    UPDATE ratings_rating AS rating SET grade_id = latest.grade_id, reason = latest.reason,
        comment = latest.comment, revision = rating.revision + 1, changed_at = %(now)s
    FROM (SELECT latest.*, grade.id AS grade_id FROM ({_STANDING}) AS standing
        JOIN ratings_ratingevent AS latest ON latest.id = standing.id LEFT JOIN {_GRADE} = latest.value) AS latest
    WHERE rating.pair_id = latest.pair_id AND rating.rater_id = latest.rater_id"""

_REMOVED = f"""
    DELETE FROM ratings_rating WHERE id IN (
        SELECT rating.id FROM ratings_ratingevent AS event
        JOIN ratings_rating AS rating ON rating.pair_id = event.pair_id AND rating.rater_id = event.rater_id
        LEFT JOIN ({_STANDING}) AS standing
            ON standing.pair_id = event.pair_id AND standing.rater_id = event.rater_id
        WHERE event.job_id = %(job)s AND standing.id IS NULL)"""

# The assignments that the raters of an import have of its pairs, with their grades.
_OWN = """ratings_ratingevent AS event
    JOIN ratings_assignment AS own ON own.pair_id = event.pair_id AND own.rater_id = event.rater_id
    LEFT JOIN ratings_rating AS graded ON graded.pair_id = event.pair_id AND graded.rater_id = event.rater_id
        AND graded.grade_id IS NOT NULL"""

_FILL_OWN = f"""
    UPDATE ratings_assignment SET state = 'done', leased_until = NULL WHERE id IN (
        SELECT own.id FROM {_OWN}
        WHERE event.job_id = %(job)s AND graded.id IS NOT NULL AND own.state = 'leased')"""

_EMPTY = f"""SELECT own.id FROM {_OWN} JOIN ratings_pair AS pair ON pair.id = own.pair_id
        WHERE event.job_id = %(job)s AND graded.id IS NULL AND own.state = 'done'"""

_DELETE_SURPLUS = f"""
    DELETE FROM ratings_assignment WHERE id IN ({_EMPTY} AND (own.extra OR pair.retired_at IS NOT NULL))"""

_OPEN = f"""
    UPDATE ratings_assignment SET state = 'open', rater_id = NULL WHERE id IN ({_EMPTY})"""

# The update checks again whether the assignment is open: a concurrent claim may have taken it.
_FILL_OPEN = """
    WITH vacant AS (
        SELECT id, pair_id, ROW_NUMBER() OVER (PARTITION BY pair_id ORDER BY id) AS place FROM ratings_assignment
        WHERE state = 'open' AND pair_id IN (SELECT pair_id FROM ratings_ratingevent WHERE job_id = %(job)s)
    ), surplus AS (
        SELECT rating.pair_id, rating.rater_id,
            ROW_NUMBER() OVER (PARTITION BY rating.pair_id ORDER BY rating.id) AS place
        FROM ratings_rating AS rating
        JOIN ratings_rater AS rater ON rater.id = rating.rater_id AND rater.left_out_at IS NULL
        LEFT JOIN ratings_assignment AS own ON own.pair_id = rating.pair_id AND own.rater_id = rating.rater_id
        WHERE rating.pair_id IN (SELECT pair_id FROM vacant) AND rating.grade_id IS NOT NULL AND own.id IS NULL
            AND rating.set_aside_at IS NULL
    )
    UPDATE ratings_assignment AS filled SET state = 'done', rater_id = surplus.rater_id
    FROM vacant JOIN surplus ON surplus.pair_id = vacant.pair_id AND surplus.place = vacant.place
    WHERE filled.id = vacant.id AND filled.state = 'open'"""

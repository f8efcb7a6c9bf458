"""Record ratings that were made elsewhere, and take a whole import of them back.

Many at once, while raters wait: no row travels here. A few statements, which both databases know, make of the
staged ratings what a rater's acts make of each.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import uuid4

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from ..bulk import insert
from ..models import UNRANKED, Collection, Job, Rater, RatingEvent, StagedRating
from .undoing import SAID


class ImportedRating(NamedTuple):
    """A grade, or a reason why the pair cannot be judged. Never both."""

    rater: str
    query_id: int
    document_id: int | None  # None: not known yet
    value: Decimal | None
    reason: str = ""
    comment: str = ""
    seconds: float | None = None
    at: datetime | None = None  # None: when it is recorded
    # The rating that it changes and its revision, as `differing` saw it. None: it is new.
    rating_id: int | None = None
    revision: int | None = None


# The pairs travel as one array, and in this order: SQLite would begin at all ratings of a rater.
_WANTED = {
    "sqlite": "(SELECT json_extract(value, '$[0]') AS query_id, json_extract(value, '$[1]') AS document_id"
    " FROM json_each(%s)) AS wanted CROSS JOIN ratings_pair AS pair",
    "postgresql": "(SELECT (value ->> 0)::bigint AS query_id, (value ->> 1)::bigint AS document_id"
    " FROM json_array_elements(%s) AS value) AS wanted JOIN ratings_pair AS pair",
}


def differing(collection: Collection, rows: Sequence[ImportedRating]) -> list[ImportedRating]:
    """Those that say something else than the record, with the rating that they change. Call with some thousand:
    three queries."""
    raters = dict(collection.raters.filter(name__in={row.rater for row in rows}).values_list("pk", "name"))
    if not raters:
        return list(rows)
    values = dict(collection.grades.values_list("pk", "value"))
    pairs = {(row.query_id, row.document_id) for row in rows if row.document_id}
    stored = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rating.rater_id, pair.query_id, pair.document_id, rating.id, rating.revision,"
            f" rating.grade_id, rating.reason, rating.comment FROM {_WANTED[connection.vendor]}"
            " ON pair.query_id = wanted.query_id AND pair.document_id = wanted.document_id"
            " JOIN ratings_rating AS rating ON rating.pair_id = pair.id"
            f" WHERE rating.rater_id IN ({', '.join(map(str, raters))})",
            [json.dumps(list(pairs))],
        )
        for rater, query, document, pk, revision, grade, reason, comment in cursor.fetchall():
            said = values.get(grade), reason, comment
            stored[raters[rater], query, document] = pk, revision, said
    found = []
    for row in rows:
        rating_id, revision, said = stored.get(row[:3], (None, None, None))
        if said != row[3:6]:
            found.append(row._replace(rating_id=rating_id, revision=revision))
    return found


def stage(job: Job, rows: Iterable[ImportedRating]) -> None:
    """Keep them where nobody looks, for `record_staged`. In a piece of the import."""
    moment = connection.ops.adapt_datetimefield_value
    columns = ["job_id", "token", *ImportedRating._fields[:7], "rated_at", *ImportedRating._fields[8:]]
    values = (row._replace(value=_plain(row.value), at=moment(row.at)) for row in rows)
    insert(StagedRating, columns, ((job.pk, uuid4().hex, *row) for row in values))


def _plain(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"


@transaction.atomic
def record_staged(job: Job, *, now: datetime | None = None) -> None:
    """Make ratings of what the job has staged. One that names no time is of `now`.

    Raises IntegrityError where the record is no longer what `differing` saw, or a name is by now a person's.
    """
    given = _given(job, now or timezone.now())
    total = job.staged_ratings.count()
    _make_raters(job)
    with connection.cursor() as cursor:
        cursor.execute(_PAIRS, given)
        cursor.execute(_NEW, given)
        recorded = cursor.rowcount
        cursor.execute(_CHANGED, given)
        recorded += cursor.rowcount
        cursor.execute(_EVENTS, given)
        if recorded != total or cursor.rowcount != total:
            raise IntegrityError("somebody changed these ratings or their raters meanwhile")
    _settle(job)
    _check_links()


@transaction.atomic
def take_back_import(job: Job, *, by=None, now: datetime | None = None) -> None:
    """Give each rating back what the record said before the import, and tell so in events that undo its events.

    For an import after which nothing was said of the same pairs by the same raters: see `ratings.intake.undoing`.
    """
    given = _given(job, now or timezone.now()) | {"actor": by and by.pk}
    _locked(Rater.objects.filter(pk__in=job.events.order_by().values("rater")))
    with connection.cursor() as cursor:
        for statement in (_UNDO, _RESTORED, _REMOVED):
            cursor.execute(statement, given)
    _settle(job)
    _check_links()


def _given(job: Job, now: datetime) -> dict:
    return {
        "job": job.pk,
        "collection": job.collection_id,
        "actor": job.by_id,
        "scale": Collection.objects.values_list("scale_version", flat=True).get(pk=job.collection_id),
        "now": connection.ops.adapt_datetimefield_value(now),
    }


def _make_raters(job: Job) -> None:
    """A name that is by now a person's is none of these, and a second rater of it is refused by the database."""
    named = job.staged_ratings.order_by().values("rater").distinct()
    here = Rater.objects.filter(collection=job.collection_id, kind=Rater.Kind.IMPORTED)
    missing = named.exclude(rater__in=here.values("name")).order_by("rater").values_list("rater", flat=True)
    facts = {"collection_id": job.collection_id, "kind": Rater.Kind.IMPORTED}
    Rater.objects.bulk_create(Rater(name=name, **facts) for name in missing)
    _locked(here.filter(name__in=named))


def _locked(raters) -> None:
    """Nobody renames or erases them meanwhile. In one order, as everywhere."""
    list(raters.order_by("pk").select_for_update(no_key=True).values_list("pk"))


def _settle(job: Job) -> None:
    """Make the assignments of all pairs of an import agree with their ratings.

    A grade fills what its rater holds. What is done without a grade is open again, or goes where it is wanted of
    nobody else. Then grades that fill nothing fill what is open, the first the first.
    """
    with connection.cursor() as cursor:
        for statement in (_FILL_OWN, _DELETE_SURPLUS, _OPEN, _FILL_OPEN):
            cursor.execute(statement, {"job": job.pk})


def _check_links() -> None:
    """PostgreSQL would look for every row that is named at the end, when raters wait for the collection."""
    if connection.vendor == "postgresql":
        connection.check_constraints()


Kind = RatingEvent.Kind

_STAGED = """ratings_stagedrating AS staged
    JOIN ratings_rater AS rater ON rater.collection_id = %(collection)s AND rater.name = staged.rater
    JOIN ratings_pair AS pair ON pair.query_id = staged.query_id AND pair.document_id = staged.document_id"""
_GRADE = "ratings_grade AS grade ON grade.collection_id = %(collection)s AND grade.value"

_PAIRS = f"""
    INSERT INTO ratings_pair (query_id, document_id, token, wanted, depth)
    SELECT query_id, document_id, token, 0, {UNRANKED} FROM ratings_stagedrating WHERE job_id = %(job)s ORDER BY id
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
        comment = staged.comment, revision = rating.revision + 1, changed_at = COALESCE(staged.rated_at, %(now)s)
    FROM (SELECT staged.*, grade.id AS grade_id
        FROM ratings_stagedrating AS staged LEFT JOIN {_GRADE} = staged.value
        WHERE staged.job_id = %(job)s AND staged.rating_id IS NOT NULL) AS staged
    WHERE rating.id = staged.rating_id AND rating.revision = staged.revision"""

_EVENTS = f"""
    INSERT INTO ratings_ratingevent (pair_id, rater_id, kind, value, reason, comment, seconds, actor_id, job_id,
        scale_version, guidelines_version, shown, created_at)
    SELECT pair.id, rater.id, '{Kind.IMPORT}', staged.value, staged.reason, staged.comment, staged.seconds,
        %(actor)s, staged.job_id, %(scale)s, 0, '', COALESCE(staged.rated_at, %(now)s)
    FROM {_STAGED} WHERE staged.job_id = %(job)s ORDER BY staged.id"""

_UNDO = f"""
    INSERT INTO ratings_ratingevent (pair_id, rater_id, kind, reason, comment, undoes_id, actor_id, scale_version,
        guidelines_version, shown, created_at)
    SELECT pair_id, rater_id, '{Kind.UNDO}', '', '', id, %(actor)s, %(scale)s, 0, '', %(now)s
    FROM ratings_ratingevent WHERE job_id = %(job)s ORDER BY id"""

# Of each rater and pair of the import, what was said last and is not undone.
_STANDING = f"""
    SELECT event.pair_id, event.rater_id, MAX(said.id) AS id FROM ratings_ratingevent AS event
    JOIN ratings_ratingevent AS said ON said.pair_id = event.pair_id AND said.rater_id = event.rater_id
    LEFT JOIN ratings_ratingevent AS undo ON undo.undoes_id = said.id
    WHERE event.job_id = %(job)s AND undo.id IS NULL AND said.kind IN ({", ".join(f"'{kind}'" for kind in SAID)})
    GROUP BY event.pair_id, event.rater_id"""

_RESTORED = f"""
    UPDATE ratings_rating AS rating SET grade_id = said.grade_id, reason = said.reason, comment = said.comment,
        revision = rating.revision + 1, changed_at = %(now)s
    FROM (SELECT said.*, grade.id AS grade_id FROM ({_STANDING}) AS standing
        JOIN ratings_ratingevent AS said ON said.id = standing.id LEFT JOIN {_GRADE} = said.value) AS said
    WHERE rating.pair_id = said.pair_id AND rating.rater_id = said.rater_id"""

_REMOVED = f"""
    DELETE FROM ratings_rating WHERE id IN (
        SELECT rating.id FROM ratings_ratingevent AS event
        JOIN ratings_rating AS rating ON rating.pair_id = event.pair_id AND rating.rater_id = event.rater_id
        LEFT JOIN ({_STANDING}) AS standing
            ON standing.pair_id = event.pair_id AND standing.rater_id = event.rater_id
        WHERE event.job_id = %(job)s AND standing.id IS NULL)"""

# What the raters of an import have of its pairs, with their grades.
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

# An update looks once more whether it is open: of a rater and this, one gets it.
_FILL_OPEN = """
    WITH vacant AS (
        SELECT id, pair_id, ROW_NUMBER() OVER (PARTITION BY pair_id ORDER BY id) AS place FROM ratings_assignment
        WHERE state = 'open' AND pair_id IN (SELECT pair_id FROM ratings_ratingevent WHERE job_id = %(job)s)
    ), late AS (
        SELECT rating.pair_id, rating.rater_id,
            ROW_NUMBER() OVER (PARTITION BY rating.pair_id ORDER BY rating.id) AS place
        FROM ratings_rating AS rating
        LEFT JOIN ratings_assignment AS own ON own.pair_id = rating.pair_id AND own.rater_id = rating.rater_id
        WHERE rating.pair_id IN (SELECT pair_id FROM vacant) AND rating.grade_id IS NOT NULL AND own.id IS NULL
    )
    UPDATE ratings_assignment AS filled SET state = 'done', rater_id = late.rater_id
    FROM vacant JOIN late ON late.pair_id = vacant.pair_id AND late.place = vacant.place
    WHERE filled.id = vacant.id AND filled.state = 'open'"""

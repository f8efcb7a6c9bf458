"""Record ratings that were made elsewhere."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from ..models import Assignment, Grade, Rater, Rating, RatingEvent
from .acts import lock
from .leases import State
from .wanting import pairs_for


@dataclass(frozen=True)
class ImportedRating:
    query_id: int
    document_id: int
    grade: Grade | None
    reason: str = ""
    comment: str = ""
    seconds: float | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class ImportedRatings:
    new: int
    changed: int
    unchanged: int


@transaction.atomic
def record_imported(
    rater: Rater, rows: Iterable[ImportedRating], *, actor=None, at: datetime | None = None
) -> ImportedRatings:
    """Record ratings that were made elsewhere. The same rating again changes nothing. Call in batches."""
    at, rater, rows = at or timezone.now(), lock(rater), list(rows)
    if any((row.grade is None) == (row.reason == "") for row in rows):
        raise ValueError("A rating is a grade or a reason why the pair cannot be judged.")
    pairs = pairs_for([(row.query_id, row.document_id) for row in rows])
    stored = {r.pair_id: r for r in Rating.objects.filter(rater=rater, pair__in=pairs.values())}
    new, changed, events = [], [], []
    for row in rows:
        pair_id = pairs[row.query_id, row.document_id]
        grade_id = row.grade.pk if row.grade else None
        rating = stored.get(pair_id)
        if rating and (rating.grade_id, rating.reason, rating.comment) == (grade_id, row.reason, row.comment):
            continue
        moment = row.at or at
        if rating and rating.pk:
            changed.append(rating)
            rating.revision += 1
        elif rating:
            raise ValueError(f"Two ratings by {rater} of one pair in one batch: {rating.pair}")
        else:
            facts = {"query_id": row.query_id, "document_id": row.document_id}
            rating = stored[pair_id] = Rating(pair_id=pair_id, **facts, rater=rater, created_at=moment)
            new.append(rating)
        rating.grade, rating.reason, rating.comment = row.grade, row.reason, row.comment
        rating.changed_at = moment
        events.append(
            RatingEvent(
                pair_id=pair_id,
                rater=rater,
                kind=RatingEvent.Kind.IMPORT,
                value=row.grade.value if row.grade else None,
                reason=row.reason,
                comment=row.comment,
                seconds=row.seconds,
                actor=actor,
                scale_version=rater.collection.scale_version,
                created_at=moment,
            )
        )
    Rating.objects.bulk_create(new, batch_size=5_000)
    Rating.objects.bulk_update(changed, ["grade", "reason", "comment", "revision", "changed_at"], batch_size=500)
    RatingEvent.objects.bulk_create(events, batch_size=5_000)
    _fill_open([r.pair_id for r in new if r.grade_id], rater)
    return ImportedRatings(len(new), len(changed), len(rows) - len(new) - len(changed))


def _fill_open(pair_ids: list[int], rater: Rater) -> None:
    """Let imported grades fill what their rater holds, or else open assignments of their pairs."""
    for start in range(0, len(pair_ids), 5_000):
        chunk = pair_ids[start : start + 5_000]
        own = Assignment.objects.filter(pair__in=chunk, rater=rater)
        own.update(state=State.DONE, leased_until=None)
        rows = Assignment.objects.filter(pair__in=chunk, state=State.OPEN).exclude(pair__in=own.values("pair"))
        first = dict(rows.order_by("-pk").values_list("pair", "pk"))
        Assignment.objects.filter(pk__in=first.values(), state=State.OPEN).update(rater=rater, state=State.DONE)

"""Taking a whole import back: all of it, and only while nothing depends on it."""

from collections.abc import Iterator

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from ..models import Anchor, Assignment, Collection, Job, OtherText, Pair, Query, Ranking, Rating, RatingEvent
from .queries import FACTS
from .report import counted

CHANGED_MEANWHILE = "Somebody began to rate what it brought, or another import is under way. Look again."


def undone(job: Job) -> list[str]:
    """Hide what the import brought, for `remove` to follow. What stands against it is returned, and all stays."""
    try:
        with transaction.atomic():
            collection = Collection.objects.select_for_update().get(pk=job.collection_id)
            if against := list(obstacles(job)):
                return against
            pairs_of(job).delete()
            _give_back_queries(job)
            done = Job.objects.filter(pk=job.pk, state=Job.State.PUBLISHED)
            done.update(state=Job.State.UNDONE, staging=True, ended_at=timezone.now())
            collection.touch()
    except IntegrityError:
        return [CHANGED_MEANWHILE]
    return []


def obstacles(job: Job) -> Iterator[str]:
    """What stands against it, in sentences. Reads every ranking of the collection if the import made documents."""
    job.refresh_from_db()
    if job.state != Job.State.PUBLISHED:
        yield "It is not in the record: there is nothing to undo."
        return
    if job.kind == Job.Kind.ARCHIVE:
        yield "It made the whole collection, which is not taken back."
        return
    if job.kind == Job.Kind.RATINGS:
        yield "Ratings stay in the record of who said what. Import other grades by the same rater to replace them."
        return
    if n := pairs_of(job).filter(_in_use()).count():
        yield f"{counted(n, 'pair')} of what it brought {'has' if n == 1 else 'have'} ratings, or will have soon."
    if n := Rating.objects.filter(changed_at__gt=job.ended_at, document__other_texts__job=job).count():
        yield f"{counted(n, 'rating')} came after it, of documents whose text it changed."
    others = Ranking.written.exclude(job=job)
    if names := _names(others.filter(Q(query__job=job) | Q(system__job=job))):
        yield f"Rankings of {names} rest on it. Undo their imports first, or delete those systems."
    if names := _names_of_rankings_with(job):
        yield f"{names} returned documents that it brought. Undo their imports first, or delete those systems."
    later = OtherText.objects.filter(job__gt=job.pk).filter(
        Q(document__job=job) | Q(document__other_texts__job=job)
    )
    if later.exists() or _later_queries(job):
        yield "A later import changed what it brought. Undo that one first."


def pairs_of(job: Job) -> QuerySet:
    return Pair.objects.filter(Q(document__job=job) | Q(query__job=job))


def _in_use() -> Q:
    """Of pairs: that somebody said something of them, or is about to."""
    of_pair = {"pair": OuterRef("pk")}
    return (
        Exists(RatingEvent.objects.filter(**of_pair))
        | Exists(Rating.objects.filter(**of_pair))
        | Exists(Anchor.objects.filter(**of_pair))
        | Exists(Assignment.objects.filter(**of_pair).exclude(state=Assignment.State.OPEN))
    )


def _names(rankings: QuerySet) -> str:
    return ", ".join(rankings.values_list("system__name", flat=True).distinct().order_by("system__name")[:5])


def _names_of_rankings_with(job: Job) -> str:
    own = np.array(job.documents(manager="written").order_by("pk").values_list("pk", flat=True), np.int64)
    if not own.size:
        return ""
    rankings = Ranking.written.filter(system__collection=job.collection).exclude(job=job)
    for name, documents in rankings.annotate(name=F("system__name")).values_list("name", "documents").iterator():
        if np.isin(documents, own).any():
            return name
    return ""


def _later_queries(job: Job) -> bool:
    own = set(job.queries.values_list("pk", flat=True)) | {pk for pk, *_ in job.former}
    later = Job.objects.filter(collection=job.collection, pk__gt=job.pk, state=Job.State.PUBLISHED)
    return any(pk in own for former in later.values_list("former", flat=True) for pk, *_ in former)


def _give_back_queries(job: Job) -> None:
    job.queries.all().delete()
    stored = Query.objects.in_bulk([pk for pk, *_ in job.former])
    for pk, *facts in job.former:
        if query := stored.get(pk):
            for name, value in zip(FACTS, facts, strict=True):
                setattr(query, name, value)
    Query.objects.bulk_update(stored.values(), FACTS, batch_size=200)

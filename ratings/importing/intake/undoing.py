"""Undo of a whole import, while nothing depends on it."""

from collections.abc import Iterator
from decimal import Decimal

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from ...database.bulk import without_time_limit
from ...desk import queue
from ...models import (
    MAKERS,
    Anchor,
    Assignment,
    Collection,
    FormerText,
    Grade,
    Job,
    MachineGrade,
    Pair,
    Query,
    Ranking,
    Rating,
    RatingEvent,
    Sample,
    SampledPair,
    plain_value,
)
from ...people import audit
from ...words import counted
from .documents import CONTENT, READ, write_texts
from .publishing import alone_in
from .queries import FACTS
from .stage import BATCH, batched

CHANGED_MEANWHILE = "Somebody began to rate what it brought. Look again."


def undo_import(job: Job, by=None) -> list[str]:
    """The obstacles to undoing an import, in sentences. If there are none, it is undone.

    Ratings are taken back, `by` an account, with the grades of the scale that they made and nothing else uses.
    Their events stay in the history, and so do the documents that the events refer to.
    """
    ratings = job.kind == Job.Kind.RATINGS
    try:
        with transaction.atomic():
            without_time_limit()  # a million documents take half a minute on PostgreSQL
            alone_in(job.collection)
            Job.objects.select_for_update().get(pk=job.pk)
            # No lock for ratings: raters would wait for it, and they cannot change what imported ratings brought.
            if not ratings:
                Collection.objects.select_for_update().get(pk=job.collection_id)
            if against := list(obstacles(job)):
                return against
            job.samples.all().delete()
            if ratings:
                queue.take_back_import(job, by=by)
                _take_back_scale(job)
            else:
                _take_back_rows(job)
                _give_back_queries(job)
            published = Job.objects.filter(pk=job.pk, state=Job.State.PUBLISHED)
            published.update(state=Job.State.UNDONE, ended_at=timezone.now())
            files = ", ".join(file["name"] for file in job.files)
            audit.note(audit.Act.IMPORT_UNDONE, job.collection, about=files, kind=job.kind, job=job.pk)
            job.collection.touch()
    except IntegrityError:
        return [CHANGED_MEANWHILE]
    return []


def obstacles(job: Job) -> Iterator[str]:
    """What stands in the way of undoing the import, in sentences; nothing where it can be undone.

    Reads every ranking of the collection if the import made documents.
    """
    job.refresh_from_db()
    if job.state != Job.State.PUBLISHED:
        yield "It is not in the record: there is nothing to undo."
        return
    if not job.changed:
        yield "It changed nothing: there is nothing to undo."
        return
    if job.kind in MAKERS:
        yield "It made the whole collection, which is not taken back."
        return
    if job.kind == Job.Kind.RATINGS:
        yield from _obstacles_of_ratings(job)
        return
    if n := pairs_of(job).filter(_in_use()).count():
        yield f"{counted(n, 'pair')} of what it brought {'has' if n == 1 else 'have'} been rated, or will be soon."
    if n := pairs_of(job).filter(drawn__isnull=False).count():
        stands = "stands in a round" if n == 1 else "stand in rounds"
        yield f"{counted(n, 'pair')} of what it brought {stands}: the chances of others rest on it."
    if n := Rating.objects.filter(changed_at__gt=job.ended_at, document__former_texts__job=job).count():
        yield f"{counted(n, 'rating')} came after it, of documents whose text it changed."
    brought = Q(document__job=job) | Q(query__job=job)
    if MachineGrade.objects.filter(brought).exists():
        yield "A judge was asked about pairs of what it brought, and its log stays."
    elif names := _names(SampledPair.objects.filter(brought), "sample__judge__name"):
        yield f"A sample of the judge {names} has pairs of it. Drop it first, on the page of the judge."
    others = Ranking.objects.exclude(job=job)
    if names := _names(others.filter(Q(query__job=job) | Q(system__job=job)), "system__name"):
        yield f"Rankings of {names} rest on it. Undo their imports first, or delete those systems."
    if names := _names_of_rankings_with(job):
        yield f"{names} returned documents that it brought. Undo their imports first, or delete those systems."
    of_its_documents = Q(document__job=job) | Q(document__former_texts__job=job)
    later = FormerText.objects.filter(job__gt=job.pk).filter(of_its_documents)
    if later.exists() or _later_queries(job) or Sample.objects.filter(former__job=job).exists():
        yield "A later import changed what it brought. Undo that one first."


def _obstacles_of_ratings(job: Job) -> Iterator[str]:
    of_the_same = {"pair": OuterRef("pair"), "rater": OuterRef("rater")}
    others = RatingEvent.objects.standing().exclude(job=job.pk)
    events = others.filter(**of_the_same, kind__in=queue.RATING_KINDS)
    later = job.events.alias(after=Exists(events.filter(pk__gt=OuterRef("pk")))).filter(after=True)
    if n := later.count():
        by = events.filter(pk__gt=OuterRef("pk")).order_by("pk").values("job")[:1]
        jobs = Job.objects.filter(pk__in=later.order_by().values_list(Subquery(by)).distinct()[:5])
        names = ", ".join(f"{other} (import {other.pk})" for other in jobs)
        cure = f" by {names}. Undo that first." if names else ". What was said last stands."
        yield f"{counted(n, 'rating')} of it {'was' if n == 1 else 'were'} changed later{cure}"
    before = events.filter(pk__lt=OuterRef("pk")).order_by("-pk").values("value")[:1]
    former = job.events.annotate(former=Subquery(before)).filter(former__isnull=False).order_by()
    scale = set(job.collection.grades.values_list("value", flat=True))
    if gone := set(former.values_list("former", flat=True).distinct()) - scale:
        grades = ", ".join(map(plain_value, sorted(gone)))
        yield f"Ratings would go back to {grades}, which the scale no longer has. Add it to the scale first."


def _grades_of_nobody_else(job: Job) -> list[Grade]:
    """The grades that the import made, without a label or meaning, and used only by it and by undone imports."""
    if not job.report.get("counts", {}).get("grades"):
        return []  # the collection had a scale
    values = {Decimal(text) for text in job.report["grades"]}
    bare = [grade for grade in job.collection.grades.filter(label="", meaning="") if grade.value in values]
    if not bare:
        return []
    in_use = Q(anchors__isnull=False) | Q(adjudications__isnull=False)
    used = set(job.collection.grades.filter(in_use).values_list("value", flat=True))
    undone_ones = Job.objects.filter(Q(pk=job.pk) | Q(collection=job.collection_id, state=Job.State.UNDONE))
    events = RatingEvent.objects.filter(pair__query__collection=job.collection_id, value__isnull=False)
    others = events.exclude(job__in=undone_ones).order_by()
    used.update(others.values_list("value", flat=True).distinct())
    return [grade for grade in bare if grade.value not in used]


def _take_back_scale(job: Job) -> None:
    """Delete the grades that only the import used: the scale of a wrong file would refuse the right file."""
    gone = _grades_of_nobody_else(job)
    for some in batched(gone, BATCH):
        Grade.objects.filter(pk__in=[grade.pk for grade in some]).delete()
    if gone:
        Collection.objects.filter(pk=job.collection_id).update(scale_version=F("scale_version") + 1)


def pairs_of(job: Job) -> QuerySet:
    return Pair.objects.filter(Q(document__job=job) | Q(query__job=job))


def _in_use() -> Q:
    """The condition that a pair has events or ratings, is an anchor, or is leased or done."""
    of_pair = {"pair": OuterRef("pk")}
    return (
        Exists(RatingEvent.objects.filter(**of_pair))
        | Exists(Rating.objects.filter(**of_pair))
        | Exists(Anchor.objects.filter(**of_pair))
        | Exists(Assignment.objects.filter(**of_pair).exclude(state=Assignment.State.OPEN))
    )


def _names(rows: QuerySet, name: str) -> str:
    """The first five of these names, in their order, with commas; "" for no rows."""
    return ", ".join(rows.order_by(name).values_list(name, flat=True).distinct()[:5])


def _names_of_rankings_with(job: Job) -> str:
    own = np.array(job.documents.order_by("pk").values_list("pk", flat=True), np.int64)
    if not own.size:
        return ""
    rankings = Ranking.objects.filter(system__collection=job.collection).exclude(job=job)
    for name, documents in rankings.annotate(name=F("system__name")).values_list("name", "documents").iterator():
        if np.isin(documents, own).any():
            return name
    return ""


def _later_queries(job: Job) -> bool:
    own = set(job.queries.values_list("pk", flat=True)) | {pk for pk, *_ in job.former}
    later = Job.objects.filter(collection=job.collection, pk__gt=job.pk, state=Job.State.PUBLISHED)
    return any(pk in own for former in later.values_list("former", flat=True) for pk, *_ in former)


def _take_back_rows(job: Job) -> None:
    """Delete the rankings, systems and documents of a job, and give documents their former texts."""
    pairs_of(job).delete()
    for some in batched(job.former_texts.select_related("document").iterator(), READ):
        write_texts((former.document, {name: getattr(former, name) for name in CONTENT}) for former in some)
    # No row refers to them any more, so Django need not look for such rows.
    for rows in (job.former_texts, job.rankings, job.systems, job.documents):
        rows.all()._raw_delete(rows.db)


def _give_back_queries(job: Job) -> None:
    job.queries.all().delete()
    stored = Query.objects.in_bulk([pk for pk, *_ in job.former])
    for pk, *facts in job.former:
        if query := stored.get(pk):
            for name, value in zip(FACTS, facts, strict=True):
                setattr(query, name, value)
    Query.objects.bulk_update(stored.values(), FACTS, batch_size=200)

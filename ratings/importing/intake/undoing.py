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
from .documents import CONTENT, DOCUMENTS_AT_ONCE, write_texts
from .publishing import lock_imports
from .queries import FACTS
from .stage import ROWS_AT_ONCE, batched

CHANGED_MEANWHILE = "Somebody began to rate what it brought. Look again."


def undo_import(job: Job, by=None) -> list[str]:
    """Undo an import, or return what stands in the way, in sentences, and then undo nothing.

    Ratings are taken back in the name of the account `by`, and so are the grades of the scale that came with them
    and that nothing else uses. The events of the ratings stay in the history, and so do the documents that these
    refer to.
    """
    is_of_ratings = job.kind == Job.Kind.RATINGS
    try:
        with transaction.atomic():
            without_time_limit()  # a million documents take half a minute on PostgreSQL
            lock_imports(job.destination)
            Job.objects.select_for_update().get(pk=job.pk)
            # No lock for ratings: raters would wait for it, and they cannot change what imported ratings brought.
            if not is_of_ratings:
                Collection.objects.select_for_update().get(pk=job.collection_id)
            if found_obstacles := list(obstacles(job)):
                return found_obstacles
            job.samples.all().delete()  # of queries from a log, if the import drew one
            if is_of_ratings:
                queue.take_back_import(job, by=by)
                _take_back_scale(job)
            else:
                _delete_rows(job)
                _restore_queries(job)
            published = Job.objects.filter(pk=job.pk, state=Job.State.PUBLISHED)
            published.update(state=Job.State.UNDONE, ended_at=timezone.now())
            files = ", ".join(file["name"] for file in job.files)
            audit.note(audit.Act.IMPORT_UNDONE, job.collection, about=files, kind=job.kind, job=job.pk)
            job.destination.touch()
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
    if job.kind == Job.Kind.BEIR:
        yield "It made an import for each part of the data set. Undo these, the last one first."
        return
    if job.kind == Job.Kind.RATINGS:
        yield from _obstacles_of_ratings(job)
        return
    if n := pairs_of(job).filter(_is_in_use()).count():
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
    """What stands in the way of undoing an import of ratings, in sentences."""
    # A subquery for each event of the job: what else the same rater did with the same pair, and was not undone.
    other_events = (
        RatingEvent.objects.standing()
        .exclude(job=job.pk)
        .filter(pair=OuterRef("pair"), rater=OuterRef("rater"), kind__in=queue.RATING_KINDS)
    )
    later_events = other_events.filter(pk__gt=OuterRef("pk")).order_by("pk")
    earlier_events = other_events.filter(pk__lt=OuterRef("pk")).order_by("-pk")
    changed_later = job.events.alias(is_changed=Exists(later_events)).filter(is_changed=True).order_by()
    if n := changed_later.count():
        # A later change was made by an import or, without a job, at the desk. A few of the imports are named. Once
        # they are undone, changes at the desk still stand in the way, and then no import is named.
        first_later_job = Subquery(later_events.values("job")[:1])  # for each rating
        later_jobs = Job.objects.filter(pk__in=changed_later.values_list(first_later_job).distinct()[:5])
        imports = ", ".join(f"{later_job} (import {later_job.pk})" for later_job in later_jobs)
        by_whom = f" by {imports}. Undo that first." if imports else ". What was said last stands."
        yield f"{counted(n, 'rating')} of it {'was' if n == 1 else 'were'} changed later{by_whom}"
    # An admin who asks for a rating again undoes its event (`desk.queue.asking_again`).
    if n := job.events.filter(undone_by__isnull=False).count():
        yield f"{counted(n, 'rating')} of it {'was' if n == 1 else 'were'} asked again. What was asked stands."
    # Undoing gives each rating the value of the last event before that of this import.
    events = job.events.annotate(former_value=Subquery(earlier_events.values("value")[:1])).order_by()
    former_values = events.filter(former_value__isnull=False).values_list("former_value", flat=True).distinct()
    scale = set(job.destination.grades.values_list("value", flat=True))
    if missing := set(former_values) - scale:
        grades = ", ".join(map(plain_value, sorted(missing)))
        yield f"Ratings would go back to {grades}, which the scale no longer has. Add it to the scale first."


def _unused_grades(job: Job) -> list[Grade]:
    """The grades of the scale that the import made and that nothing else uses.

    They have no label and no meaning. No anchor, which is a pair whose grade is known, and no decision of an admin
    has such a grade. Events have it only in this import and in undone ones.
    """
    if not job.report.get("counts", {}).get("grades"):
        return []  # the collection had a scale before
    imported_values = {Decimal(text) for text in job.report["grades"]}
    unlabelled = job.destination.grades.filter(label="", meaning="")
    made = [grade for grade in unlabelled if grade.value in imported_values]
    if not made:
        return []
    is_decided = Q(anchors__isnull=False) | Q(adjudications__isnull=False)
    decided_values = set(job.destination.grades.filter(is_decided).values_list("value", flat=True))
    # This import counts as undone, too.
    undone_jobs = Job.objects.filter(Q(pk=job.pk) | Q(collection=job.collection_id, state=Job.State.UNDONE))
    events = RatingEvent.objects.filter(pair__query__collection=job.collection_id, value__isnull=False)
    other_events = events.exclude(job__in=undone_jobs).order_by()
    used_values = decided_values.union(other_events.values_list("value", flat=True).distinct())
    return [grade for grade in made if grade.value not in used_values]


def _take_back_scale(job: Job) -> None:
    """Delete the grades that only the import used: the scale of a wrong file would refuse the right file."""
    unused = _unused_grades(job)
    for batch in batched(unused, ROWS_AT_ONCE):
        Grade.objects.filter(pk__in=[grade.pk for grade in batch]).delete()
    if unused:
        Collection.objects.filter(pk=job.collection_id).update(scale_version=F("scale_version") + 1)


def pairs_of(job: Job) -> QuerySet:
    return Pair.objects.filter(Q(document__job=job) | Q(query__job=job))


def _is_in_use() -> Q:
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
    brought = np.array(job.documents.order_by("pk").values_list("pk", flat=True), np.int64)
    if not brought.size:
        return ""
    rankings = Ranking.objects.filter(system__collection=job.collection).exclude(job=job)
    for name, documents in rankings.annotate(name=F("system__name")).values_list("name", "documents").iterator():
        if np.isin(documents, brought).any():
            return name
    return ""


def _later_queries(job: Job) -> bool:
    brought = set(job.queries.values_list("pk", flat=True)) | {pk for pk, *_ in job.former}
    later = Job.objects.filter(collection=job.collection, pk__gt=job.pk, state=Job.State.PUBLISHED)
    return any(pk in brought for former in later.values_list("former", flat=True) for pk, *_ in former)


def _delete_rows(job: Job) -> None:
    """Delete the rankings, systems and documents of a job, and give documents their former texts."""
    pairs_of(job).delete()
    for batch in batched(job.former_texts.select_related("document").iterator(), DOCUMENTS_AT_ONCE):
        write_texts((former.document, {name: getattr(former, name) for name in CONTENT}) for former in batch)
    # No row refers to them any more, so Django need not look for such rows.
    for rows in (job.former_texts, job.rankings, job.systems, job.documents):
        rows.all()._raw_delete(rows.db)


def _restore_queries(job: Job) -> None:
    """Delete the queries of a job, and give those that it changed their former facts."""
    job.queries.all().delete()
    stored = Query.objects.in_bulk([pk for pk, *_ in job.former])
    for pk, *facts in job.former:
        if query := stored.get(pk):
            for name, value in zip(FACTS, facts, strict=True):
                setattr(query, name, value)
    Query.objects.bulk_update(stored.values(), FACTS, batch_size=200)

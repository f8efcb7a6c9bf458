"""Delete a collection. It is hidden at once, can be restored for seven days, and is then removed by a worker.

A deleted collection has no slug, which hides it everywhere (`models.collection.VisibleManager`) and frees its
address for another one.
"""

import logging
from datetime import datetime, timedelta
from itertools import chain

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from ..importing import jobs, uploads
from ..models import Collection, Deletion, Job, Ranking, Rating
from ..people.audit import Act, note
from .making import free_slug
from .putting_away import stop_the_rest
from .removing import remove_collection

log = logging.getLogger(__name__)

RESTORABLE_FOR = timedelta(days=7)


class Gone(Exception):
    """Somebody else deleted it, restored it or had it removed meanwhile."""


def counts(collection: Collection) -> dict[str, int]:
    """Name → the number of such rows, which a deletion hides and a removal deletes. One query for each name."""
    # In these three states a job is over, and its files are deleted.
    with_files = collection.jobs.exclude(state__in=[Job.State.PUBLISHED, Job.State.CANCELLED, Job.State.UNDONE])
    files = chain.from_iterable(with_files.values_list("files", flat=True))
    return {
        "queries": collection.queries.count(),
        "documents": collection.documents.count(),
        "systems": collection.systems.count(),
        "rankings": Ranking.objects.filter(system__collection=collection).count(),
        "raters": collection.raters.count(),
        "ratings": Rating.objects.filter(rater__collection=collection).count(),
        "pictures": collection.pictures.count(),
        "uploads": sum("stored" in file for file in files),  # "stored": the name of an uploaded file on the server
    }


def delete(collection: Collection, by: User | None = None, *, now: datetime | None = None) -> Deletion:
    """Hide a collection, cancel its imports and pause its runs of judges. Returns the deletion. Raises Gone."""
    now = now or timezone.now()
    with transaction.atomic():
        # If two delete it at the same moment, the second finds no slug.
        if not Collection.objects.filter(pk=collection.pk, slug=collection.slug).update(slug=None):
            raise Gone
        deletion = Deletion.objects.create(
            collection=collection, slug=collection.slug, by=by, deleted_at=now, remove_at=now + RESTORABLE_FOR
        )
        note(Act.DELETED, collection)
    for job in collection.jobs.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING]):
        jobs.cancel(job)
    stop_the_rest(collection)  # pauses the runs of its judges
    return deletion


def restore(deletion: Deletion) -> Collection:
    """The collection, at its former address or, if that is taken, at a similar one. Raises Gone."""
    try:
        return _restored(deletion, deletion.slug)
    except IntegrityError:
        return _restored(deletion, free_slug(deletion.slug))


@transaction.atomic
def _restored(deletion: Deletion, slug: str) -> Collection:
    if not Deletion.objects.filter(pk=deletion.pk, removing=False).delete()[0]:
        raise Gone
    collection = Collection.written.get(pk=deletion.collection_id)
    collection.slug = slug
    collection.save(update_fields=["slug"])
    # An import that was under way during the deletion could not raise the version.
    collection.touch()
    note(Act.RESTORED, collection)
    return collection


@transaction.atomic
def remove_now(deletion: Deletion) -> bool:
    """Whether its removal begins now, before the seven days are over; False if restored or being removed."""
    begun = bool(Deletion.objects.filter(pk=deletion.pk, removing=False).update(removing=True))
    if begun:
        note(Act.REMOVED, deletion.collection)
    return begun


def remove_due(*, now: datetime | None = None) -> None:
    """Remove, in pieces, the collections whose seven days are over. After a kill the next call continues."""
    for deletion in Deletion.objects.filter(remove_at__lte=now or timezone.now(), removing=False):
        remove_now(deletion)
    for deletion in Deletion.objects.filter(removing=True).select_related("collection"):
        _remove(deletion.collection)


def _remove(collection: Collection) -> None:
    for job in collection.jobs.all():
        uploads.forget_now(job.files)
    try:
        remove_collection(collection)
    except IntegrityError as error:  # an act that had begun before the deletion ended just now
        log.warning("Collection %s is removed at the next try: %s", collection.pk, error)

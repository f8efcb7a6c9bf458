"""Gather notices from all sources, each once, and queue their deliveries."""

from collections.abc import Iterable
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from ..models import Collection, Delivery, Notice, Receiver
from . import sources
from .sources import Happened

LOOK_BACK = timedelta(days=2)  # how far back sources look
NOTICES_KEPT_FOR = timedelta(days=90)


def gather() -> int:
    """Note what happened in all collections in use, and return the number of new notices.

    Several workers may do it at once.
    """
    return sum(gather_of(collection) for collection in Collection.objects.filter(put_away_at=None))


def gather_of(collection: Collection) -> int:
    """Note what the sources say of this collection, and return the number of new notices."""
    since = timezone.now() - LOOK_BACK
    happened: list[Happened] = []
    for source in (*sources.BUILT_IN, *sources.of_apps):
        happened += source(collection, since)
    keys = [each.key for each in happened]
    noted_keys = set(collection.notices.filter(key__in=keys).values_list("key", flat=True))
    return sum(note(collection, each) is not None for each in happened if each.key not in noted_keys)


def note(collection: Collection, happened: Happened) -> Notice | None:
    """Store the notice with a delivery to each receiver of its kind, and return it.

    Return None if another worker stored it first: the key is unique in the collection.
    """
    kind, key, text, path, at = happened
    try:
        with transaction.atomic():
            notice = Notice.objects.create(
                collection=collection, kind=kind, key=key, text=text[:500], path=path, at=at
            )
            # Receivers that were made later do not get it. Those that are gone said that they want no more.
            receivers = collection.receivers.filter(gone=False, created_at__lte=at)
            queue(notice, [receiver for receiver in receivers if kind in receiver.kinds])
            return notice
    except IntegrityError:
        return None


def queue(notice: Notice, receivers: Iterable[Receiver]) -> None:
    now = timezone.now()
    Delivery.objects.bulk_create(Delivery(receiver=receiver, notice=notice, next_at=now) for receiver in receivers)


def test(receiver: Receiver) -> Notice:
    """A notice to this receiver alone, which shows that it arrives."""
    collection, now = receiver.collection, timezone.now()
    notice = Notice.objects.create(
        collection=collection,
        kind=Notice.Kind.TEST,
        key=f"test {receiver.pk} {now.timestamp()}",
        text=f"A test of notices from {collection.name}.",
        path=f"/collections/{collection.slug}/",
        at=now,
    )
    queue(notice, [receiver])
    return notice


def forget_old() -> None:
    old = Notice.objects.filter(at__lt=timezone.now() - NOTICES_KEPT_FOR)
    old.exclude(kind__in=sources.LASTING_KINDS).delete()

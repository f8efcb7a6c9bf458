"""Put a collection away, so that nobody rates in it, and take it out again."""

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from ..models import Collection
from ..people import members
from ..people.audit import Act, note

# What else stops in a collection that is put away or deleted; the judges add their runs.
at_stop: list[Callable[[Collection], object]] = []


def stop_the_rest(collection: Collection) -> None:
    """Stop what `at_stop` lists."""
    for stop in at_stop:
        stop(collection)


@transaction.atomic
def put_away(collection: Collection) -> None:
    """Put the collection away, if it is not yet.

    The leases of raters end. Ratings that they still send are kept. The runs of its judges are paused.
    """
    in_use = Collection.objects.filter(pk=collection.pk, put_away_at=None)
    if not in_use.update(put_away_at=timezone.now()):
        return
    for rater in collection.raters.filter(user__isnull=False):  # without an account a rater holds nothing
        members.stop(rater)  # gives their leases to others
    stop_the_rest(collection)  # the runs of its judges
    note(Act.PUT_AWAY, collection)


@transaction.atomic
def take_out(collection: Collection) -> None:
    """Take the collection out, if it is put away."""
    away = Collection.objects.filter(pk=collection.pk, put_away_at__isnull=False)
    if away.update(put_away_at=None):
        note(Act.TAKEN_OUT, collection)

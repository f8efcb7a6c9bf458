"""The watch and the night that an address names."""

from django.http import Http404
from django.shortcuts import get_object_or_404

from ratings.models import Collection

from ..models import Night, Watch
from .trend import ENDED, HEAVY_COLUMNS

SECTION = "watch"  # of the navigation


def watch_of(collection: Collection, pk: int) -> Watch:
    watch = get_object_or_404(Watch.objects.select_related("engine"), collection=collection, pk=pk)
    watch.collection = collection  # which knows the role of the user
    return watch


def night_of(collection: Collection, watch: int, pk: int) -> Night:
    """The night of this watch. Raises Http404 for one that is at work."""
    night = get_object_or_404(watch_of(collection, watch).nights, pk=pk)
    if night.state not in ENDED:
        raise Http404("The night is at work.")
    return night


def last_night(watch: Watch) -> Night | None:
    """The last night that was told, with its verdicts."""
    told = watch.nights.filter(state=Night.State.TOLD).defer(*HEAVY_COLUMNS)
    return told.prefetch_related("verdicts").order_by("-due_at").first()


def gap_at_end(watch: Watch) -> Night | None:
    """The last night that is over, if it is a gap."""
    over = watch.nights.filter(state__in=ENDED).defer(*HEAVY_COLUMNS)
    last = over.order_by("-due_at").first()
    return last if last and last.state == Night.State.GAP else None

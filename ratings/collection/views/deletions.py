"""Restore or remove deleted collections, which the first page lists."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from ...models import Deletion
from ...people.access import of_deletion
from .. import deleting

LATE = "Nothing changed: the collection is restored already, or is being removed."


@require_POST
@of_deletion
def restore_collection(request: HttpRequest, deletion: Deletion) -> HttpResponse:
    """Restore the collection at its former address, or at a similar one if that is taken."""
    try:
        collection = deleting.restore(deletion)
    except deleting.Gone:
        messages.error(request, LATE)
        return redirect("home")
    moved = "" if collection.slug == deletion.slug else f" Its address was taken: it is {collection.slug} now."
    messages.success(request, f"{collection} is restored, as it was.{moved}")
    return redirect("collection", collection.slug)


@require_POST
@of_deletion
def remove_collection(request: HttpRequest, deletion: Deletion) -> HttpResponse:
    """Remove the collection at once. Only superusers may."""
    if not request.user.is_superuser:
        raise Http404("Only superusers remove collections.")
    if deleting.remove_now(deletion):
        messages.success(request, f"{deletion.collection} is being removed. It cannot be restored any more.")
    else:
        messages.info(request, LATE)
    return redirect("home")

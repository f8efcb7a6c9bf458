"""The page that deletes a collection, and the acts on deleted ones, which the first page lists."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from ..models import Collection, Deletion
from ..people.access import admin_act, admin_page, of_deletion
from ..set_up import deleting
from ..set_up.forms import DeletionForm
from .pages import frame

LATE = "Nothing was done: it was restored, or is being removed."


@admin_page
def deletion(request: HttpRequest, collection: Collection) -> HttpResponse:
    """What goes with the collection, and what is asked before."""
    return deletion_page(request, collection, DeletionForm(collection=collection))


@admin_act
def delete_collection(request: HttpRequest, collection: Collection) -> HttpResponse:
    form = DeletionForm(request.POST, collection=collection)
    if not form.is_valid():
        return deletion_page(request, collection, form)
    try:
        deleted = deleting.delete(collection, request.user)
    except deleting.Gone as error:
        raise Http404("No such collection.") from error
    until = f"{deleted.remove_at:%-d %b %Y, %H:%M} UTC"
    messages.success(request, f"{collection} is deleted. Until {until} it can be restored below.")
    return redirect("home")


@require_POST
@of_deletion
def restore_collection(request: HttpRequest, deletion: Deletion) -> HttpResponse:
    """Bring it back as it was, at its former address or at one like it."""
    try:
        collection = deleting.restore(deletion)
    except deleting.Gone:
        messages.error(request, LATE)
        return redirect("home")
    moved = "" if collection.slug == deletion.slug else f" Its address was taken: it is {collection.slug} now."
    messages.success(request, f"{collection} is here again, as it was.{moved}")
    return redirect("collection", collection.slug)


@require_POST
@of_deletion
def remove_collection(request: HttpRequest, deletion: Deletion) -> HttpResponse:
    """Have it removed now. Only a superuser may."""
    if not request.user.is_superuser:
        raise Http404("You remove no collections here.")
    if deleting.remove_now(deletion):
        messages.success(request, f"{deletion.collection} is being removed. It cannot be restored any more.")
    else:
        messages.info(request, LATE)
    return redirect("home")


def deletion_page(request: HttpRequest, collection: Collection, form: DeletionForm) -> HttpResponse:
    context = {
        **frame(collection, "collection"),
        "form": form,
        "n": deleting.what_goes(collection),
        "days": deleting.KEPT.days,
    }
    return render(request, "ratings/deletion.html", context, status=400 if form.errors else 200)

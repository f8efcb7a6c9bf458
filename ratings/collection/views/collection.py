"""The page of a collection's settings: its name and description, and acts on the whole of it."""

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from ...copies.jobs import copy
from ...models import Collection
from ...people.access import SignedInRequest, admin_act, admin_page, may_make, of_source
from ...web.forms import Confirmation
from ...web.pages import frame
from ...web.settings_forms import lock
from .. import deleting, making, putting_away
from ..forms import CopyForm, DescriptionForm

COPY_FIELD_IDS = "id_copy_%s"  # of the form's fields: the other form of the page has a name, too


@admin_page
def collection(request: HttpRequest, collection: Collection) -> HttpResponse:
    return collection_page(request, collection)


@admin_act
@transaction.atomic
def describe(request: HttpRequest, collection: Collection) -> HttpResponse:
    lock(collection)
    form = DescriptionForm(request.POST, collection=collection)
    if not form.is_valid():
        return collection_page(request, collection, about=form)
    making.describe(collection, **form.cleaned_data)
    messages.success(request, f"Saved. It is called {form.cleaned_data['name']}.")
    return redirect("collection", collection.slug)


@admin_act
def put_away(request: HttpRequest, collection: Collection) -> HttpResponse:
    putting_away.put_away(collection)
    messages.success(request, f"{collection} is put away: nobody gets anything to rate in it.")
    return redirect("collection", collection.slug)


@admin_act
def take_out(request: HttpRequest, collection: Collection) -> HttpResponse:
    putting_away.take_out(collection)
    messages.success(request, f"{collection} is in use again. Raters go on where they were.")
    return redirect("collection", collection.slug)


@require_POST
@of_source
def copy_collection(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Queue a copy. The person who asks for it becomes its admin."""
    form = CopyForm(request.POST, auto_id=COPY_FIELD_IDS)
    if not form.is_valid():
        return collection_page(request, collection, copy=form)
    sent = form.cleaned_data
    return redirect("copy_job", copy(collection, sent["slug"], sent["name"], request.user).pk)


@admin_page
def deletion(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The page that asks to confirm a deletion, with counts of what would be deleted."""
    return deletion_page(request, collection, Confirmation(expected=collection.name))


@admin_act
def delete_collection(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """Delete the collection, if its name was typed to confirm this."""
    form = Confirmation(request.POST, expected=collection.name)
    if not form.is_valid():
        return deletion_page(request, collection, form)
    try:
        deleted = deleting.delete(collection, request.user)
    except deleting.Gone as error:  # somebody else deleted it meanwhile
        raise Http404("No such collection.") from error
    until = f"{deleted.remove_at:%-d %b %Y, %H:%M} UTC"
    messages.success(request, f"{collection} is deleted. Until {until} it can be restored below.")
    return redirect("home")


def collection_page(
    request: HttpRequest,
    collection: Collection,
    *,
    about: DescriptionForm | None = None,
    copy: CopyForm | None = None,
) -> HttpResponse:
    """The page of the settings. `about` or `copy` is a form that was sent and refused: then the status is 400.

    "about": the form of the name and the description. "makes": whether the person may make a copy.
    """
    context = {
        **frame(collection, "collection"),
        "about": about or DescriptionForm(collection=collection),
        "copy": copy or CopyForm(initial={"name": f"Copy of {collection.name}"[:200]}, auto_id=COPY_FIELD_IDS),
        "makes": may_make(request.user),
    }
    return render(request, "ratings/collection.html", context, status=400 if about or copy else 200)


def deletion_page(request: HttpRequest, collection: Collection, form: Confirmation) -> HttpResponse:
    context = {
        **frame(collection, "collection"),
        "form": form,
        "n": deleting.counts(collection),
        "days": deleting.RESTORABLE_FOR.days,
    }
    return render(request, "ratings/deletion.html", context, status=400 if form.errors else 200)

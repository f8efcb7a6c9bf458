"""The page of a collection as a whole: what it is called, and the acts on all of it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from ..models import Collection
from ..people.access import admin_act, admin_page, may_make
from ..set_up import making, putting_away
from ..set_up.forms import CopyForm, DescriptionForm
from .pages import frame


@admin_page
def collection(request: HttpRequest, collection: Collection) -> HttpResponse:
    return collection_page(request, collection)


@admin_act
def describe(request: HttpRequest, collection: Collection) -> HttpResponse:
    form = DescriptionForm(request.POST, collection=collection)
    if not form.is_valid():
        return collection_page(request, collection, about=form)
    making.describe(collection, **form.cleaned_data)
    messages.success(request, f"Saved. It is called {form.cleaned_data['name']}.")
    return redirect("collection", collection.slug)


@admin_act
def put_away(request: HttpRequest, collection: Collection) -> HttpResponse:
    if putting_away.put_away(collection):
        messages.success(request, f"{collection} is put away: nobody gets anything to rate in it.")
    else:
        messages.info(request, f"{collection} was put away already.")
    return redirect("collection", collection.slug)


@admin_act
def take_out(request: HttpRequest, collection: Collection) -> HttpResponse:
    if putting_away.take_out(collection):
        messages.success(request, f"{collection} is in use again. Raters go on where they were.")
    else:
        messages.info(request, f"{collection} is in use already.")
    return redirect("collection", collection.slug)


def collection_page(
    request: HttpRequest,
    collection: Collection,
    *,
    about: DescriptionForm | None = None,
    copy: CopyForm | None = None,
) -> HttpResponse:
    """The page with the form that was refused, if one was: 400."""
    context = {
        **frame(collection, "collection"),
        "about": about or DescriptionForm(collection=collection),
        "copy": copy or CopyForm(initial={"name": f"Copy of {collection.name}"[:200]}),
        "makes": may_make(request.user),
    }
    return render(request, "ratings/collection.html", context, status=400 if about or copy else 200)

"""The page of a new collection, for whoever may make one."""

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from ...people.access import of_makers
from ...words import counted
from .. import making
from ..forms import OWN_SCALE, NewCollectionForm
from ..scales import PRESET_BY_NAME


@require_safe
@of_makers
def new_collection(request: HttpRequest, maker: User) -> HttpResponse:
    return new_page(request, NewCollectionForm())


@require_POST
@of_makers
@transaction.atomic
def make_collection(request: HttpRequest, maker: User) -> HttpResponse:
    """Make the collection. The person who asks becomes its admin."""
    form = NewCollectionForm(request.POST)
    if not form.is_valid():
        return new_page(request, form)
    try:
        collection = making.make(**form.facts, by=maker)
    except ValidationError as error:  # somebody took the name in the same moment
        for field, problems in error.message_dict.items():
            form.add_error(field if field in form.fields else None, problems)  # None: above the whole form
        return new_page(request, form)
    grades = counted(len(form.cleaned_data["scale"]), "grade")
    messages.success(request, f"{collection} is made, with {grades}. You are its admin.")
    return redirect("set_up", collection.slug)


def new_page(request: HttpRequest, form: NewCollectionForm) -> HttpResponse:
    choices = [(radio, PRESET_BY_NAME.get(radio.data["value"])) for radio in form["preset"]]
    context = {"form": form, "choices": choices, "own": OWN_SCALE}
    return render(request, "ratings/new_collection.html", context, status=400 if form.errors else 200)

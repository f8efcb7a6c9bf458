"""The page of the scale: its grades, what depends on them, and a preview of a change."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from ...models import Collection
from ...people.access import admin_act, admin_page, record_act
from ...web.pages import frame
from ...web.sent import CSRF_FIELD
from .. import changing
from ..forms import ScaleForm


@admin_page
def scale(request: HttpRequest, collection: Collection) -> HttpResponse:
    return scale_page(request, collection)


@admin_act
def check_scale(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Show what the change would do. It writes nothing."""
    return scale_page(request, collection, sent=True)


@record_act
def save_scale(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Change the scale, if it is still the one that the form showed. Otherwise the form comes back up to date.

    `scale_page` reads and checks the sent form once more, and shows its errors.
    """
    form = ScaleForm(request.POST, collection=collection)
    if form.outdated or not form.is_valid():
        return scale_page(request, collection, sent=True)
    before = collection.scale_version
    try:
        changing.change(collection, form.wanted, base=form.base)
    except changing.Outdated:  # somebody changed the scale after the form was read
        collection.refresh_from_db()
        return scale_page(request, collection, sent=True)
    if collection.scale_version == before:  # only `relevant_from` was changed
        messages.success(request, "Saved. The grades are as they were.")
    else:
        messages.success(request, f"The scale is changed, and is version {collection.scale_version} now.")
    return redirect("scale", collection.slug)


def scale_page(request: HttpRequest, collection: Collection, *, sent: bool = False) -> HttpResponse:
    """The page of the form. A sent form that is valid also shows what the change would do.

    "told": the consequences of the change, as sentences. "of_grades": whether it makes a new version of the scale.
    "sent": the fields that a second form sends again to apply it. The status is 409 for a form of an earlier
    scale, and 400 for a refused one.
    """
    form = ScaleForm(request.POST if sent else None, collection=collection)
    context = {**frame(collection, "scale"), "form": form, "scale": form.scale}
    if sent and form.is_valid():
        context |= {
            "told": changing.consequences(collection, form.scale, form.wanted, form.uses),
            "of_grades": form.wanted.changes_grades,
            "sent": [(name, value) for name, value in form.data.items() if name != CSRF_FIELD],
        }
    status = 400 if form.errors else 409 if form.outdated else 200
    return render(request, "ratings/scale.html", context, status=status)

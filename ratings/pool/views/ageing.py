"""The page of ratings that have aged, from which raters are asked again."""

from datetime import timedelta

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from ...models import Collection
from ...people.access import SignedInRequest, admin_page, record_act
from ...web.pages import frame, paged
from ...web.sent import uuid_of
from ...words import counted
from .. import ageing

PAIRS_ON_PAGE = 50


class AgeForm(forms.Form):
    days = forms.IntegerField(
        label="Older than, in days",
        required=False,
        min_value=1,
        max_value=36_500,
        help_text="Empty: ratings to an older text, however old.",
    )


@admin_page
def aged(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The page of pairs whose ratings were given to an older text or, with ?days=, longer ago than that."""
    form = AgeForm(request.GET)
    days = form.cleaned_data["days"] if form.is_valid() else None
    rows = ageing.aged_pairs(collection, ratings_of(collection, days))
    context = {
        **frame(collection, "pool"),
        "form": form,
        "days": days,
        "total": sum(row.ratings for row in rows),
        "unranked": ageing.PLACE_IF_UNRANKED,  # the page shows this place as –
        **paged(request, rows, PAIRS_ON_PAGE),
    }
    return render(request, "ratings/aged.html", context, status=200 if form.is_valid() else 400)


@record_act
def ask_aged_again(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """Ask again for the ratings of the chosen pairs that have aged. Newer ones of those pairs stay."""
    form = AgeForm(request.POST)
    days = form.cleaned_data["days"] if form.is_valid() else None
    tokens = [uuid_of(text) for text in request.POST.getlist("pair")[:PAIRS_ON_PAGE]]
    if asked := ageing.ask_again(collection, ratings_of(collection, days), tokens, request.user):
        messages.success(request, f"{counted(asked, 'rating is', 'ratings are')} wanted anew, from all raters.")
    else:
        messages.info(request, "Nothing changed: choose pairs whose ratings can be asked again.")
    return redirect(reverse("aged", args=[collection.slug], query={"days": days} if days else None))


def ratings_of(collection: Collection, days: int | None) -> QuerySet:
    """The ratings that were given more than `days` days ago; None: those that were given to an older text."""
    ratings = ageing.of_collection(collection)
    if days is None:
        return ageing.to_older_text(ratings)
    return ratings.filter(changed_at__lt=timezone.now() - timedelta(days=days))

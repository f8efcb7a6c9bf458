"""Leave out a rater, and count them again. The page that shows what that does to numbers is `evaluation`'s."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from ...models import Collection
from ...people.access import record_act
from ...words import counted
from .. import leaving_out


@record_act
def leave_out(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = get_object_or_404(collection.raters.select_related("collection"), pk=pk)
    opened = leaving_out.leave_out(rater)
    wanted = f" {counted(opened, 'rating is', 'ratings are')} wanted again." if opened else ""
    messages.success(request, f"{rater} is left out: none of their ratings counts.{wanted}")
    return redirect("leaving_out", collection.slug, pk)


@record_act
def count_again(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = get_object_or_404(collection.raters.select_related("collection"), pk=pk)
    leaving_out.count_again(rater)
    messages.success(request, f"The ratings of {rater} count again.")
    return redirect("leaving_out", collection.slug, pk)

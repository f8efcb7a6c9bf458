"""The page that shows what leaving out a rater does to the numbers, before the act."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from ratings.models import Collection
from ratings.people.access import admin_page

from ...page.address import page, raising_cannot_answer, with_options
from ...scores import Asked
from ..leaving_out import effect_of


@admin_page
@with_options()
def leaving_out(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    rater = get_object_or_404(collection.raters, pk=pk)
    with raising_cannot_answer():
        effect = effect_of(collection, rater, asked)
    context = page(request, collection, "people", asked) | {"rater": rater, "effect": effect}
    return render(request, "evaluation/leaving_out.html", context)

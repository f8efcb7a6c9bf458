"""The page of one document."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from ...models import Collection, Document, Pair
from ...people.access import readers_page
from ...presentation.html import render_current
from ...web.pages import frame


@readers_page
def document(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    found = get_object_or_404(Document, collection=collection, pk=pk)
    pairs = Pair.objects.filter(document=found).select_related("query")
    pairs = pairs.prefetch_related("ratings__grade", "ratings__rater").order_by("query__key")
    context = {
        **frame(collection, "queries"),
        "document": found,
        "shown": render_current(collection, found),
        "pairs": pairs[:200],
        "scale": list(collection.grades.all()),
    }
    return render(request, "ratings/document.html", context)

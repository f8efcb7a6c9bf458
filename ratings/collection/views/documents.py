"""The page of one document."""

from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from ...models import Collection, Document, Pair, Rating
from ...people.access import readers_page
from ...presentation.html import render_current
from ...web.pages import frame


@readers_page
def document(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """The page of a document, with the ratings that count of its first 200 pairs."""
    document = get_object_or_404(Document, collection=collection, pk=pk)
    ratings = Rating.objects.counted().select_related("grade", "rater")
    pairs = Pair.objects.filter(document=document).select_related("query").order_by("query__key")
    pairs = pairs.prefetch_related(Prefetch("ratings", ratings))
    context = {
        **frame(collection, "queries"),
        "document": document,
        "shown": render_current(collection, document),
        "pairs": pairs[:200],
        "scale": list(collection.grades.all()),
    }
    return render(request, "ratings/document.html", context)

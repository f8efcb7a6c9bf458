"""One document in full."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from ..access import collection_for
from ..models import Document, Pair, Role


@require_safe
def document(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    collection = collection_for(request, slug, Role.ANALYST, Role.ADMIN)
    found = get_object_or_404(Document, collection=collection, pk=pk)
    pairs = Pair.objects.filter(document=found).select_related("query")
    pairs = pairs.prefetch_related("ratings__grade", "ratings__rater").order_by("query__key")
    context = {
        "collection": collection,
        "role": collection.role,
        "section": "queries",
        "document": found,
        "pairs": pairs[:200],
        "scale": list(collection.grades.all()),
    }
    return render(request, "ratings/document.html", context)

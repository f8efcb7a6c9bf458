"""The documents of one query as raters see them, each with its ranks in the systems shown side by side."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from ratings.models import Collection, Document, Query
from ratings.people.access import readers_page
from ratings.presentation.content import source_of
from ratings.presentation.html import render_document
from ratings.presentation.pictures import pictures_of
from ratings.presentation.versions import latest_of

from ...measures import Explanation
from ...page.address import page, with_options
from ...page.documents import known
from ...scores import Asked
from ..side_by_side import chosen_in, explanations_of, kept

MOST = 20  # documents; the best ranked ones


@readers_page
@with_options(many=["system"])
def query_documents(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    found = get_object_or_404(Query, collection=collection, pk=pk)
    chosen = chosen_in(request, list(collection.systems.order_by("name").values_list("name", flat=True)))
    explained = explanations_of(collection, asked, found, chosen)
    context = page(request, collection, "queries", asked) | {
        "query": found,
        "systems": chosen,
        "keep": kept(asked, chosen),
        "cards": cards(collection, explained),
        "most": MOST,
        "scale": list(collection.grades.all()),
    }
    return render(request, "evaluation/query_documents.html", context)


def cards(collection: Collection, explained: Mapping[str, Explanation]) -> list[dict]:
    """The documents by their best rank. Three database queries."""
    ranks = {name: {row.document: row.rank for row in each.ranking} for name, each in explained.items()}
    grades = {row.document: row.grade for each in explained.values() for row in each.ranking}
    best = sorted(grades, key=lambda pk: (min(of[pk] for of in ranks.values() if pk in of), pk))[:MOST]
    documents = Document.objects.in_bulk(best)
    sources = {pk: source_of(document) for pk, document in documents.items()}
    presented = latest_of(collection)
    pictures = pictures_of(collection.pk, presented.document, sources.values())
    return [
        {
            "document": documents[pk],
            "drawn": render_document(presented, sources[pk], pictures),
            "grade": known(grades[pk]),
            "ranks": [(name, of.get(pk)) for name, of in ranks.items()],
        }
        for pk in best
        if pk in documents
    ]

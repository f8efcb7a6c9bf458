"""The documents of one query as raters see them, each with its ranks in the systems shown side by side."""

from collections.abc import Mapping
from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from ratings.models import Collection, Document, Query
from ratings.people.access import readers_page
from ratings.presentation.content import source_of
from ratings.presentation.html import render_document
from ratings.presentation.pictures import pictures_of
from ratings.presentation.versions import latest_presented

from ...measures import Explanation
from ...page.address import page, with_options
from ...page.documents import none_for_nan
from ...scores import Asked
from ..side_by_side import chosen_in, explanations_of, kept

MOST_DOCUMENTS = 20  # documents; the best ranked ones


@readers_page
@with_options(many=["system"])
def query_documents(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    """The page with the best ranked documents of the systems that the address names."""
    query = get_object_or_404(Query, collection=collection, pk=pk)
    chosen = chosen_in(request, list(collection.systems.order_by("name").values_list("name", flat=True)))
    explained = explanations_of(collection, asked, query, chosen)
    context = page(request, collection, "queries", asked) | {
        "query": query,
        "systems": chosen,
        "keep": kept(asked, chosen),  # the query string with these options and systems, for links
        "cards": cards(collection, explained),
        "most": MOST_DOCUMENTS,
        "scale": list(collection.grades.all()),
    }
    return render(request, "evaluation/query_documents.html", context)


def cards(collection: Collection, explained: Mapping[str, Explanation]) -> list[dict]:
    """The context of the MOST_DOCUMENTS documents with the best ranks, a card for each.

    drawn: the document as raters see it; grade: its judgment, None for none; ranks: (system, rank) pairs, with
    None where the system does not have the document. explained: explanations by system. Three database queries.
    """
    # For each system the rank of each document, by pk.
    ranks_by_system = {
        name: {row.document: row.rank for row in explanation.ranking} for name, explanation in explained.items()
    }
    rows = (row for explanation in explained.values() for row in explanation.ranking)
    best_first = sorted(rows, key=attrgetter("rank", "document"))
    grades = {row.document: row.grade for row in best_first}  # each document once, the best ranked first
    best = list(grades)[:MOST_DOCUMENTS]  # pks
    documents = Document.objects.in_bulk(best)
    sources = {pk: source_of(document) for pk, document in documents.items()}
    presentation = latest_presented(collection)
    pictures = pictures_of(collection.pk, presentation.document, sources.values())
    return [
        {
            "document": documents[pk],
            "drawn": render_document(presentation, sources[pk], pictures),
            "grade": none_for_nan(grades[pk]),
            "ranks": [(name, of_system.get(pk)) for name, of_system in ranks_by_system.items()],
        }
        for pk in best
        if pk in documents  # it was not deleted meanwhile
    ]

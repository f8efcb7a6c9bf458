"""The page of the stages of setting up a collection, and sample files to begin with."""

from io import BytesIO

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from ...importing import samples
from ...models import Collection
from ...people.access import admin_page
from ...web.downloads import sent
from ...web.pages import frame
from ..stages import stages

SAMPLE_KINDS = {"queries": "queries", "documents": "documents", "runs": "results"}  # by stage


@admin_page
def set_up(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Each stage with its state, and the next one to do."""
    all_stages = stages(collection)
    context = {
        **frame(collection, "set_up"),
        "rows": [(stage, samples.NAMES.get(SAMPLE_KINDS.get(stage["name"], ""))) for stage in all_stages],
        "done": sum(stage["done"] for stage in all_stages),
        "next": next((stage for stage in all_stages if not stage["done"]), None),
    }
    return render(request, "ratings/set_up.html", context)


@admin_page
def sample(request: HttpRequest, collection: Collection, name: str) -> FileResponse:
    """A sample file, whose grades are those of the collection."""
    if name not in samples.ALL_NAMES:
        raise Http404("No such sample.")
    scale = collection.grades.values_list("value", flat=True)
    return sent(BytesIO(samples.content(name, scale)), name)

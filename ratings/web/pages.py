"""What pages have in common."""

from collections.abc import Sequence

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from ..models import Collection


def frame(collection: Collection, section: str) -> dict:
    """The context of the navigation; `section` is its current entry."""
    return {"collection": collection, "role": collection.role, "section": section}


def wants_json(request: HttpRequest) -> bool:
    """Whether the answer should be JSON. Links and forms of a browser accept anything, and get a page."""
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def too_many(request: HttpRequest, message: str, seconds: int) -> HttpResponse:
    """The answer 429, as a page or JSON, to somebody who shall wait so many seconds."""
    if wants_json(request):
        response: HttpResponse = JsonResponse({"error": message}, status=429)
    else:
        response = render(request, "429.html", {"said": message}, status=429)
    response["Retry-After"] = str(seconds)
    return response


def paged(request: HttpRequest, rows: QuerySet | Sequence, at_once: int, by: str = "page") -> dict:
    """The context of a list in pages of `at_once` rows: "page", and "numbers" of the pages to link to.

    The page is the one whose number the address has as the parameter `by`, or the last one.
    """
    paginator = Paginator(rows, at_once)
    page = paginator.get_page(request.GET.get(by))
    return {"page": page, "numbers": list(paginator.get_elided_page_range(page.number))}

"""The pages of the help, which are public."""

from functools import lru_cache

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ratings.people import throttle
from ratings.web.pages import too_many

from .documents import DOCUMENT_NAMES, document, documents
from .search import Hit, search

TOO_MANY = "Too many searches in a minute. Wait a minute, or look in the documents below."


@login_not_required
@require_safe
def help_home(request: HttpRequest) -> HttpResponse:
    """The list of documents and, with `?q=`, the sections with these words."""
    words = request.GET.get("q", "").strip()[:200]
    if words and not throttle.allows_call(request, "search", throttle.SEARCHES_PER_ADDRESS):
        return too_many(request, TOO_MANY, throttle.MINUTE)
    return render(request, "help.html", {"words": words, "hits": found(words), "documents": documents()})


@lru_cache(maxsize=64)
def found(words: str) -> list[Hit]:
    """The hits, kept: a search reads all documents, which takes a tenth of a second."""
    return search(words, documents())


@login_not_required
@require_safe
def help_page(request: HttpRequest, name: str) -> HttpResponse:
    if name not in DOCUMENT_NAMES:
        raise Http404("There is no such document.")
    return render(request, "help_page.html", {"document": document(name), "documents": documents()})

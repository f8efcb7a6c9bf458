"""The pages of the help, which are public."""

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from .documents import NAMES, document, documents
from .search import search


@login_not_required
@require_safe
def help_home(request: HttpRequest) -> HttpResponse:
    """The list of documents and, with `?q=`, the sections with these words."""
    words = request.GET.get("q", "").strip()[:200]
    context = {"words": words, "hits": search(words, documents()), "documents": documents()}
    return render(request, "help.html", context)


@login_not_required
@require_safe
def help_page(request: HttpRequest, name: str) -> HttpResponse:
    if name not in NAMES:
        raise Http404("There is no such document.")
    return render(request, "help_page.html", {"document": document(name), "documents": documents()})

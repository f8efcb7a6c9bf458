"""Bodies that are too large for their sender are refused before a view reads them."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import resolve

from ..people.bearer import token_of
from ..web import problems
from ..web.problems import API_ADDRESS, Problem

UNREAD = "HTTP_IDEALIST_UNREAD"  # the server has discarded the body
NO_ROOM = "The server has no space for this body now. Send the same again after the seconds of Retry-After."


class BodyLimit:
    """Refuses bodies that are too large for their sender, before the view reads them.

    Anybody may send some kilobytes. Signed-in people and tokens may send as much as a form or a call of the API
    may have. Larger bodies are only for views with `takes_files`, from people with access to them.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        size = int(request.META.get("CONTENT_LENGTH") or 0)
        if size <= min(settings.SMALL_BODY, settings.DATA_UPLOAD_MAX_MEMORY_SIZE):
            return self.get_response(request)
        if refusal := body_refusal(request, size):
            return refusal
        return no_room(request) if UNREAD in request.META else self.get_response(request)


def body_refusal(request: HttpRequest, size: int) -> HttpResponse | None:
    """The answer that refuses a body of `size` bytes; None for no refusal.

    Raises Http404 if the view takes files and the person has no access to it.
    """
    match = resolve(request.path_info)
    # A view that takes files has the name of the setting that limits them. The others take forms and calls alone.
    setting = getattr(match.func, "takes_files", "") if request.method == "POST" else ""
    is_api = request.path_info.startswith(API_ADDRESS)
    if is_api:
        try:
            token_of(request)
        except Problem as problem:
            return problem.response()
    elif not request.user.is_authenticated:
        return too_large_page(request, size, most=0, setting="")  # which asks to sign in, and names no limit
    most = getattr(settings, setting or "DATA_UPLOAD_MAX_MEMORY_SIZE")
    if size > most:
        return problems.too_large().response() if is_api else too_large_page(request, size, most, setting)
    if setting:
        # Before a large body is read. Other views check access themselves, as their bodies are smaller.
        match.func.access(request, **match.kwargs)  # raises Http404 for people without access
    return None


def too_large_page(request: HttpRequest, size: int, most: int, setting: str) -> HttpResponse:
    """The page for a body of more than `most` bytes, as the setting says; "" where the view takes no files."""
    context = {"megabytes": size / 2**20, "most": most / 2**20, "limit": setting}
    return render(request, "413.html", context, status=413)


def no_room(request: HttpRequest) -> HttpResponse:
    """The answer for a body that gets no space: a page, or a problem of the API."""
    if request.path_info.startswith(API_ADDRESS):
        return Problem(503, NO_ROOM, kind="no-room", headers={"Retry-After": "60"}).response()
    response = render(request, "503.html", status=503)
    response["Retry-After"] = "60"
    return response

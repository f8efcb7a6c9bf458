"""The answers when the database or the disk fails: 503, with the form to be sent again."""

import sys

from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views import defaults

from ..database import disk
from . import sent
from .pages import wants_json
from .problems import ADDRESS, Problem

# The database is locked for too long, or the database, the file store or the cache of tries cannot be reached.
AWAY = (OperationalError, InterfaceError, ConnectionError)
SOON, LATER = 5, 60  # Retry-After in seconds; trouble with a disk needs a person first


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer to any uncaught exception, also one of the session and account middleware."""
    error = sys.exc_info()[1]
    trouble = disk.trouble(error)
    return busy(request, trouble) if trouble or isinstance(error, AWAY) else defaults.server_error(request)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer to a bad request; 503 where Django reports one because it could not write the session."""
    if isinstance(exception, SessionInterrupted):
        cause = exception.__context__ and exception.__context__.__context__
        if isinstance(cause, AWAY) or disk.trouble(cause):
            return busy(request, disk.trouble(cause))
    # Django's view checks the form once more, which fails again where it cannot be read.
    request.csrf_processing_done = True
    return defaults.bad_request(request, exception)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The answer 403 to a form whose token is wrong. What was sent comes back, unless another site sent it."""
    ours = sent.is_ours(request)
    context = {
        "sent": sent.fields(request) if ours else [],
        "whole": ours and sent.is_whole(request),
        "written": sent.written(request) if ours else [],
    }
    return render(request, "403_csrf.html", context, status=403)


def busy(request: HttpRequest, trouble: disk.Trouble | None = None) -> HttpResponse:
    """The answer 503. Its page has the sent form with its idempotency key, so that it counts once if sent again.

    The page does not name the account, as that would take a query.
    """
    reads = request.method in ("GET", "HEAD")
    reason = f"The server cannot {'read its record' if reads else 'write'} at this moment."
    reason = disk.MESSAGES.get(trouble, reason)
    if request.path.startswith(ADDRESS):
        detail = f"{reason} Nothing was written; send the same again later." if trouble else ""
        response = Problem(503, detail).response()
    elif wants_json(request):
        response = JsonResponse({"error": reason}, status=503)
    else:
        fields = sent.fields(request)
        context = {"request": request, "sent": fields, "csrf_token": get_token(request)}
        # If the disk was too full for the upload, neither fields nor files could be read.
        files = bool(request.FILES) or (request.content_type == "multipart/form-data" and not fields)
        context |= {"trouble": trouble, "reason": reason, "files": files}
        response = HttpResponse(render_to_string("ratings/busy.html", context), status=503)
    response["Retry-After"] = str(LATER if trouble else SOON)
    return response

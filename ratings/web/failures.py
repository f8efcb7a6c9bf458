"""The answers when the database or the disk fails: 503, with the form to be sent again."""

import sys

from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.views import defaults

from ..database import disk
from . import sent
from .pages import wants_json
from .problems import API_ADDRESS, Problem

# The database is locked for too long, or the database, the file store or the cache of tries cannot be reached.
AWAY_ERRORS = (OperationalError, InterfaceError, ConnectionError)
RETRY_SECONDS, RETRY_SECONDS_DISK = 5, 60  # of Retry-After; trouble with a disk needs a person first


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer to any uncaught exception, also one of the session and account middleware."""
    error = sys.exc_info()[1]
    trouble = disk.trouble(error)
    return busy(request, trouble) if trouble or isinstance(error, AWAY_ERRORS) else defaults.server_error(request)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer to a bad request; 503 where Django reports one because it could not write the session."""
    if isinstance(exception, SessionInterrupted):
        # It was raised from Django's UpdateError, and that from the error of the database.
        cause = exception.__context__ and exception.__context__.__context__
        if isinstance(cause, AWAY_ERRORS) or disk.trouble(cause):
            return busy(request, disk.trouble(cause))
    # Django's view checks the form once more, which fails again where it cannot be read.
    request.csrf_processing_done = True
    return defaults.bad_request(request, exception)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The answer 403 to a form whose token is wrong. What was sent comes back, unless another site sent it."""
    is_ours = sent.is_ours(request)
    context = {
        "sent": sent.fields(request) if is_ours else [],
        "whole": is_ours and sent.is_whole(request),
        "written": sent.written(request) if is_ours else [],
    }
    return render(request, "403_csrf.html", context, status=403)


def busy(request: HttpRequest, trouble: disk.Trouble | None = None) -> HttpResponse:
    """The answer 503. Its page has the sent form with its idempotency key, so that it counts once if sent again.

    The page does not name the account, as that would take a query. `trouble`: that of a disk; None if something
    else failed.
    """
    if trouble:
        reason = gettext(disk.MESSAGES[trouble])
    elif request.method in ("GET", "HEAD"):
        reason = gettext("The server cannot read its record at this moment.")
    else:
        reason = gettext("The server cannot write at this moment.")
    if request.path.startswith(API_ADDRESS):
        # With "" the problem has the text of its status, which says the same of a database that is locked or away.
        detail = f"{reason} Nothing was written; send the same again later." if trouble else ""
        response = Problem(503, detail).response()
    elif wants_json(request):
        response = JsonResponse({"error": reason}, status=503)
    else:
        fields = sent.fields(request)
        # If the disk was too full for the upload, neither fields nor files could be read.
        upload_unread = request.content_type == "multipart/form-data" and not fields
        context = {
            "request": request,
            "csrf_token": get_token(request),
            "trouble": trouble,
            "reason": reason,
            "sent": fields,
            "files": bool(request.FILES) or upload_unread,
        }
        response = HttpResponse(render_to_string("ratings/busy.html", context), status=503)
    response["Retry-After"] = str(RETRY_SECONDS_DISK if trouble else RETRY_SECONDS)
    return response

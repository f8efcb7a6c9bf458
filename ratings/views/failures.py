"""What people are told when the database does not let the server work: nothing is lost, send it again."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.views import defaults

from ..access import wants_json

AWAY = (OperationalError, InterfaceError)  # locked for too long, or not there


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer to every exception that nobody caught, that of a session or an account among them."""
    return busy(request) if isinstance(sys.exc_info()[1], AWAY) else defaults.server_error(request)


def busy(request: HttpRequest) -> HttpResponse:
    """503, with the form that was sent and its key: if it did arrive after all, it is not counted twice.

    The page does not say who is signed in: to find that out would take the database.
    """
    if wants_json(request):
        response = JsonResponse({"error": "The server cannot write at this moment."}, status=503)
    else:
        sent = [(name, value) for name, value in request.POST.items() if not kept_back(name)]
        context = {"request": request, "sent": sent, "csrf_token": get_token(request)}
        response = HttpResponse(render_to_string("ratings/busy.html", context), status=503)
    response["Retry-After"] = "5"
    return response


def kept_back(field: str) -> bool:
    """Whether a field is not written into a page: a password is typed again."""
    return field == "csrfmiddlewaretoken" or "password" in field

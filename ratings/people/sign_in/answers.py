"""Answers of several pages of sign-in."""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy

from .. import throttle
from . import tries

TOO_MANY = gettext_lazy("Too many tries. Wait a minute, then try again.")
ONLY_ORIGIN = "strict-origin"


def onward(request: HttpRequest, address: str) -> HttpResponse:
    """A page that goes on to the provider by itself.

    After a form, browsers refuse redirects to other sites, because of the content security policy of our pages.
    """
    return render(request, "ratings/onward.html", {"address": address, "provider": settings.OIDC})


def refused_for_now(request: HttpRequest) -> HttpResponse:
    """The page that says to wait a minute, where no form can be shown again."""
    response = too_many(request, render(request, "ratings/too_many.html", {"too_many": TOO_MANY}))
    response["Referrer-Policy"] = ONLY_ORIGIN  # its address may have the key of a link
    return response


def too_many(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    tries.limited(request)
    response.status_code = 429
    response["Retry-After"] = str(throttle.MINUTE)
    return response


def without_referrer(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator: send only the origin as referrer. `no-referrer` would make browsers send `Origin: null`."""

    @wraps(view)
    def answered(*args, **kwargs) -> HttpResponse:
        response = view(*args, **kwargs)
        response["Referrer-Policy"] = ONLY_ORIGIN
        return response

    return answered

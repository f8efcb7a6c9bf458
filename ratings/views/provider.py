"""To the provider and back. See ratings/sign_in/provider.py."""

import logging

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from ..audit import Act
from ..people import sessions, throttle
from ..sign_in import accounts, entering, oidc, tries
from ..sign_in.person import Away, Person, Refused
from .sign_in import onward, refused_for_now

log = logging.getLogger(__name__)


@login_not_required
@require_POST
def provider(request: HttpRequest) -> HttpResponse:
    """Send the visitor to the provider."""
    offered()
    try:
        throttle.begin_visit(request, "provider")
        return onward(request, oidc.address_to_sign_in(request, request.POST.get("next", "")))
    except throttle.TooMany:
        return refused_for_now(request)
    except (Away, Refused) as error:
        return not_signed_in(request, error)


@login_not_required
@require_safe
def provider_callback(request: HttpRequest) -> HttpResponse:
    """Sign in whom the provider sent back. It comes by GET: so the protocol wants it. Its state works once."""
    offered()
    try:
        tried = throttle.begin_visit(request, "callback")
        person = oidc.person_of(request)
        user = accounts.account_of(person)
    except throttle.TooMany:
        return refused_for_now(request)
    except (Away, Refused) as error:
        return not_signed_in(request, error)
    tried.succeeded()
    return entered(request, person, user)


def entered(request: HttpRequest, person: Person, user: AbstractBaseUser) -> HttpResponse:
    response = entering.enter(request, user, entering.PROVIDER, person.next)
    request.session[sessions.PROVIDER] = person.to_sign_out
    return response


@csrf_exempt  # the provider itself sends it: its signature says so
@login_not_required
@require_POST
def provider_sign_out(request: HttpRequest) -> HttpResponse:
    """End the sessions that a logout token of the provider names. The provider sends it behind the browser."""
    offered()
    try:
        tried = throttle.begin_visit(request, "sign_out")
        with transaction.atomic():  # a token counts as used only if its sessions have ended
            sessions.end_by_provider(*oidc.signed_out(request, request.POST.get("logout_token", "")))
    except throttle.TooMany:
        tries.limited(request)
        return HttpResponse(status=429, headers={"Retry-After": str(throttle.WINDOW)})
    except Away as error:
        log.warning("The provider's keys could not be had to end sessions: %s", told(error))
        return HttpResponse(status=503, headers={"Retry-After": str(throttle.WINDOW)})
    except Refused as error:
        log.warning("A sign-out by the provider was refused: %s", error)
        tries.refused(request, "the logout token does not hold", act=Act.SIGN_OUT_REFUSED)
        return JsonResponse({"error": "invalid_request"}, status=400)
    tried.succeeded()
    return HttpResponse()


def offered() -> None:
    if not settings.OIDC:
        raise Http404("There is no provider here.")


def not_signed_in(request: HttpRequest, error: Exception) -> HttpResponse:
    """The page that says why not. What exactly does not hold stands in the log alone."""
    away = isinstance(error, Away)
    log.warning("Sign-in at the provider failed: %s", told(error) if away else error)
    if not away:
        tries.refused(request, "the provider's answer does not hold")
    context = {"provider": settings.OIDC, "away": away}
    return render(request, "ratings/not_signed_in.html", context, status=503 if away else 403)


def told(error: Away) -> str:
    return f"{type(error.__cause__).__name__}: {error.__cause__}"[:300]

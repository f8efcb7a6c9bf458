"""Sign-in and sign-out by the provider. See ratings/people/sign_in/oidc.py."""

import logging

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from .. import sessions, throttle
from ..audit import Act
from ..sign_in import accounts, entering, oidc, tries
from ..sign_in.answers import onward
from ..sign_in.person import Away, Cancelled, Refused

log = logging.getLogger(__name__)


@login_not_required
@require_POST
def provider(request: HttpRequest) -> HttpResponse:
    """Send the visitor to the provider."""
    require_offered()
    try:
        throttle.begin_visit(request, "provider")
        return onward(request, oidc.address_to_sign_in(request, request.POST.get("next", "")))
    except (Away, Refused) as error:
        return not_signed_in(request, error)


@login_not_required
@require_safe
def provider_callback(request: HttpRequest) -> HttpResponse:
    """Sign in the person whom the provider sent back, by a GET, as the protocol demands.

    The parameter `state` of the address works once, so that the address cannot be used again.
    """
    require_offered()
    try:
        attempt = throttle.begin_visit(request, "callback")
        person = oidc.person_of(request)
        user = accounts.account_of(person)
    except (Away, Refused) as error:
        return not_signed_in(request, error)
    attempt.uncount()
    response = entering.enter(
        request, user, entering.PROVIDER, person.next, second_factor=person.second_factor, fresh=person.fresh
    )
    request.session[sessions.PROVIDER_KEY] = person.to_sign_out
    return response


@csrf_exempt  # the provider sends it, which its signature proves
@login_not_required
@require_POST
def provider_sign_out(request: HttpRequest) -> HttpResponse:
    """End the sessions that a logout token names. The provider sends it directly, not by a browser."""
    require_offered()
    try:
        attempt = throttle.begin_visit(request, "sign_out")
        with transaction.atomic():  # a token counts as used only if its sessions have ended
            person, session = oidc.signed_out_digests(request, request.POST.get("logout_token", ""))
            sessions.end_by_provider(person, session)
    except throttle.TooMany:
        tries.limited(request)
        return HttpResponse(status=429, headers={"Retry-After": str(throttle.MINUTE)})
    except (Away, Refused) as error:
        return not_signed_out(request, error)
    attempt.uncount()
    return HttpResponse()


def require_offered() -> None:
    if not settings.OIDC:
        raise Http404("There is no such provider here.")


def not_signed_out(request: HttpRequest, error: Exception) -> HttpResponse:
    """The answer to the provider, which is a program. Only the log has the exact cause."""
    if isinstance(error, Away):
        log.warning("The provider could not be reached to end sessions: %s", cause_of(error))
        return HttpResponse(status=503, headers={"Retry-After": str(throttle.MINUTE)})
    log.warning("A sign-out by the provider was refused: %s", error)
    tries.refused(request, "the provider's request does not hold", act=Act.SIGN_OUT_REFUSED)
    return JsonResponse({"error": "invalid_request"}, status=400)


def not_signed_in(request: HttpRequest, error: Exception) -> HttpResponse:
    """The page that tells why. Only the log has the exact cause."""
    away = isinstance(error, Away)
    cancelled = isinstance(error, Cancelled)
    log.warning("Sign-in at the provider failed: %s", cause_of(error) if away else error)
    if not away:
        tries.refused(request, "cancelled at the provider" if cancelled else "the provider's answer does not hold")
    context = {"provider": settings.OIDC, "away": away, "cancelled": cancelled}
    return render(request, "ratings/not_signed_in.html", context, status=503 if away else 403)


def cause_of(error: Away) -> str:
    return f"{type(error.__cause__).__name__}: {error.__cause__}"[:300]

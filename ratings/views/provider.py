"""Sign-in and sign-out by the provider. See ratings/sign_in/oidc.py and ratings/sign_in/saml.py."""

import logging
from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from .. import sign_in
from ..audit import Act
from ..people import sessions, throttle
from ..sign_in import accounts, entering, oidc, saml, tries, ways
from ..sign_in.person import Away, Person, Refused
from .sign_in import onward, refused_for_now

log = logging.getLogger(__name__)


@login_not_required
@require_POST
def provider(request: HttpRequest) -> HttpResponse:
    """Send the visitor to the provider."""
    way = ways.provider_module()
    require_offered(way)
    try:
        throttle.begin_visit(request, "provider")
        return onward(request, way.address_to_sign_in(request, request.POST.get("next", "")))
    except throttle.TooMany:
        return refused_for_now(request)
    except (Away, Refused) as error:
        return not_signed_in(request, error)


@login_not_required
@require_safe
def provider_callback(request: HttpRequest) -> HttpResponse:
    """Sign in the person whom the provider sent back. The protocol demands a GET. Its state works once."""
    require_offered(settings.OIDC)
    return sign_in_person(request, oidc.person_of)


@csrf_exempt  # it comes from the provider's page, which its signature proves
@login_not_required
@require_POST
def saml_assertion(request: HttpRequest) -> HttpResponse:
    """A redirect to the page that signs the person in. The provider's page sends its answer here as a form."""
    require_offered(settings.SAML)
    try:
        tried = throttle.begin_visit(request, "assertion")
        key = saml.store_answer(request)
    except throttle.TooMany:
        return refused_for_now(request)
    except (Away, Refused) as error:
        return not_signed_in(request, error)
    tried.succeeded()
    return HttpResponse(status=303, headers={"Location": reverse("saml_finish", args=[key])})


@login_not_required
@require_safe
def saml_finish(request: HttpRequest, key: str) -> HttpResponse:
    """Sign in the person of an assertion, in the browser that asked for it. Its key works once."""
    require_offered(settings.SAML)
    return sign_in_person(request, partial(saml.person_of, key=key))


@login_not_required
@require_safe
def saml_metadata(request: HttpRequest) -> HttpResponse:
    require_offered(settings.SAML)
    return HttpResponse(saml.own_metadata(request), content_type="application/samlmetadata+xml")


@login_not_required
@require_safe
def saml_sign_out(request: HttpRequest) -> HttpResponse:
    """End the sessions that the provider names, and redirect there. The signed request works once."""
    require_offered(settings.SAML)
    if "SAMLResponse" in request.GET:  # the answer to a sign-out that began here
        return redirect("home")
    try:
        tried = throttle.begin_visit(request, "sign_out")
        with transaction.atomic():
            named, back = saml.signed_out(request)
            for person, session in named:
                sessions.end_by_provider(person, session)
    except throttle.TooMany:
        return refused_for_now(request)
    except (Away, Refused) as error:
        return not_signed_out(request, error)
    tried.succeeded()
    return HttpResponse(status=302, headers={"Location": back})


def sign_in_person(request: HttpRequest, person_of: Callable[[HttpRequest], Person]) -> HttpResponse:
    try:
        tried = throttle.begin_visit(request, "callback")
        person = person_of(request)
        user = accounts.account_of(person)
    except throttle.TooMany:
        return refused_for_now(request)
    except (Away, Refused) as error:
        return not_signed_in(request, error)
    tried.succeeded()
    response = entering.enter(request, user, entering.PROVIDER, person.next, second_factor=person.second_factor)
    request.session[sessions.PROVIDER] = person.to_sign_out
    return response


@csrf_exempt  # the provider sends it, which its signature proves
@login_not_required
@require_POST
def provider_sign_out(request: HttpRequest) -> HttpResponse:
    """End the sessions that a logout token names. The provider sends it directly, not by a browser."""
    require_offered(settings.OIDC)
    try:
        tried = throttle.begin_visit(request, "sign_out")
        with transaction.atomic():  # a token counts as used only if its sessions have ended
            sessions.end_by_provider(*oidc.signed_out(request, request.POST.get("logout_token", "")))
    except throttle.TooMany:
        tries.limited(request)
        return HttpResponse(status=429, headers={"Retry-After": str(throttle.WINDOW)})
    except (Away, Refused) as error:
        return not_signed_out(request, error)
    tried.succeeded()
    return HttpResponse()


def require_offered(provider: object) -> None:
    if not provider:
        raise Http404("There is no such provider here.")


def not_signed_out(request: HttpRequest, error: Exception) -> HttpResponse:
    """The answer to the provider, which is a program. Only the log has the exact cause."""
    if isinstance(error, Away):
        log.warning("The provider could not be reached to end sessions: %s", cause_of(error))
        return HttpResponse(status=503, headers={"Retry-After": str(throttle.WINDOW)})
    log.warning("A sign-out by the provider was refused: %s", error)
    tries.refused(request, "the provider's request does not hold", act=Act.SIGN_OUT_REFUSED)
    return JsonResponse({"error": "invalid_request"}, status=400)


def not_signed_in(request: HttpRequest, error: Exception) -> HttpResponse:
    """The page that tells why. Only the log has the exact cause."""
    away = isinstance(error, Away)
    log.warning("Sign-in at the provider failed: %s", cause_of(error) if away else error)
    if not away:
        tries.refused(request, "the provider's answer does not hold")
    context = {"provider": sign_in.provider(), "away": away}
    return render(request, "ratings/not_signed_in.html", context, status=503 if away else 403)


def cause_of(error: Away) -> str:
    return f"{type(error.__cause__).__name__}: {error.__cause__}"[:300]

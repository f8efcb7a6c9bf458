"""To the provider and back. See ratings/sign_in/provider.py."""

import logging

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from ..people import throttle
from ..sign_in import accounts, entering, tries
from ..sign_in.provider import ID_TOKEN, Away, Refused, address_to_sign_in, person_of
from .sign_in import onward, refused_for_now

log = logging.getLogger(__name__)


@login_not_required
@require_POST
def provider(request: HttpRequest) -> HttpResponse:
    """Send the visitor to the provider."""
    offered()
    try:
        throttle.begin_visit(request, "provider")
        return onward(request, address_to_sign_in(request, request.POST.get("next", "")))
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
        person = person_of(request)
        user = accounts.account_of(person)
    except throttle.TooMany:
        return refused_for_now(request)
    except (Away, Refused) as error:
        return not_signed_in(request, error)
    tried.succeeded()
    response = entering.enter(
        request, user, entering.PROVIDER, person.next, second_factor=person.gave_second_factor
    )
    request.session[ID_TOKEN] = person.id_token
    return response


def offered() -> None:
    if not settings.OIDC:
        raise Http404("There is no provider here.")


def not_signed_in(request: HttpRequest, error: Exception) -> HttpResponse:
    """The page that says why not. What exactly does not hold stands in the log alone."""
    away = isinstance(error, Away)
    cause = error.__cause__ if away else error
    log.warning("Sign-in at the provider failed: %s", f"{type(cause).__name__}: {cause}"[:300] if away else cause)
    if not away:
        tries.refused(request, "the provider's answer does not hold")
    context = {"provider": settings.OIDC, "away": away}
    return render(request, "ratings/not_signed_in.html", context, status=503 if away else 403)

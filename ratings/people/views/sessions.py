"""The page of one's own sessions, and how to end them."""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps

from allauth.account.adapter import get_adapter as account_adapter
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe

from .. import limits, sessions
from ..access import SignedInRequest
from ..sign_in import second_factor

SESSIONS_SHOWN = 100


@require_safe
def sessions_page(request: SignedInRequest) -> HttpResponse:
    """The list of one's open sessions, this one first."""
    valid = sessions.open_of(request.user)
    this_key = request.session.session_key
    limits_of_roles = limits.limits_of(request.user) if settings.SESSION_LIMITS else None
    # Each row: (session, its public name, whether it is this one).
    this_one = []
    others = []
    for session in valid[:SESSIONS_SHOWN]:
        # What is changed here is shown, and not saved.
        session.browser = sessions.in_words(session.browser)
        if limits_of_roles:
            _, longest = limits_of_roles
            session.expire_date = min(session.expire_date, session.signed_in_at + timedelta(seconds=longest))
        if session.pk == this_key:
            this_one.append((session, sessions.name_of(session.pk), True))
        else:
            others.append((session, sessions.name_of(session.pk), False))
    number_of_others = sum(session.pk != this_key for session in valid)
    context = {"rows": this_one + others, "number": len(valid), "others": number_of_others}
    return render(request, "ratings/sessions.html", context)


def reauthenticated(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator: the view only for people who authenticated just now. Others do so first, and come back."""

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        if second_factor.is_fresh(request):
            return view(request)
        if second_factor.can_reauthenticate(request):
            ways = account_adapter().get_reauthentication_methods(request.user)
            return redirect(ways[0]["url"] + "?" + urlencode({"next": reverse("sessions")}))
        return render(request, "ratings/show_again.html", {"provider": settings.OIDC}, status=403)

    return wrapped


@require_POST
@reauthenticated
def end_session(request: SignedInRequest) -> HttpResponse:
    """End one session."""
    if not sessions.end(request.user, request.POST.get("session", "")):
        raise Http404("You have no such session.")
    messages.success(request, gettext("That browser is signed out."))
    return redirect("sessions")


@require_POST
@reauthenticated
def end_other_sessions(request: SignedInRequest) -> HttpResponse:
    number = sessions.end_all(request.user, but=request.session.session_key)
    if number:
        said = ngettext("%(number)d other browser signed out.", "%(number)d other browsers signed out.", number)
        messages.success(request, said % {"number": number})
    else:
        messages.success(request, gettext("No other browsers signed out."))
    return redirect("sessions")

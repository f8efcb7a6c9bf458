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
from django.views.decorators.http import require_POST, require_safe

from .. import limits, sessions
from ..sign_in import second_factor

SHOWN = 100


@require_safe
def sessions_page(request: HttpRequest) -> HttpResponse:
    valid = sessions.open_of(request.user)
    mine = request.session.session_key
    own_limits = limits.limits_of(request.user) if settings.SESSION_LIMITS else None
    for session in valid if own_limits else ():
        session.expire_date = min(session.expire_date, session.signed_in_at + timedelta(seconds=own_limits[1]))
    rows = [(session, sessions.name_of(session.pk), session.pk == mine) for session in valid[:SHOWN]]
    rows.sort(key=lambda row: not row[2])
    context = {"rows": rows, "number": len(valid), "others": sum(session.pk != mine for session in valid)}
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
def end_session(request: HttpRequest) -> HttpResponse:
    """End one session."""
    if not sessions.end(request.user, request.POST.get("session", "")):
        raise Http404("You have no such session.")
    messages.success(request, "That browser is signed out.")
    return redirect("sessions")


@require_POST
@reauthenticated
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    number = sessions.end_all(request.user, but=request.session.session_key)
    messages.success(request, f"{number or 'No'} other browser{'' if number == 1 else 's'} signed out.")
    return redirect("sessions")

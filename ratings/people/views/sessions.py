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
    """The list of one's latest SESSIONS_SHOWN open sessions. This one comes first, if it is among them."""
    valid = sessions.open_of(request.user)
    this_key = request.session.session_key
    limits_of_roles = limits.limits_of(request.user) if settings.SESSION_LIMITS else None
    # Each row: (session, its public name, whether it is this one).
    rows = []
    for session in valid[:SESSIONS_SHOWN]:
        # These changes of the row are for the page only, and are not saved.
        session.browser = sessions.in_words(session.browser)
        if limits_of_roles:
            _, longest = limits_of_roles
            # The page shows the end by the stored date or by this limit, whichever comes first.
            session.expire_date = min(session.expire_date, session.signed_in_at + timedelta(seconds=longest))
        rows.append((session, sessions.name_of(session.pk), session.pk == this_key))
    rows.sort(key=lambda row: not row[2])  # puts this session first, and leaves the others in their order
    number_of_others = sum(session.pk != this_key for session in valid)
    context = {"rows": rows, "number": len(valid), "others": number_of_others}
    return render(request, "ratings/sessions.html", context)


def reauthentication_required(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator: the view only for people who showed just now who they are.

    Others must show it first, on the page of their first method: a password or a second factor. They come back to
    the list of sessions. Who has neither must sign in again, as a page says.
    """

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        if second_factor.is_fresh(request):
            return view(request)
        if second_factor.can_reauthenticate(request):
            first_method = account_adapter().get_reauthentication_methods(request.user)[0]
            return redirect(first_method["url"] + "?" + urlencode({"next": reverse("sessions")}))
        return render(request, "ratings/show_again.html", {"provider": settings.OIDC}, status=403)

    return wrapped


@require_POST
@reauthentication_required
def end_session(request: SignedInRequest) -> HttpResponse:
    """End one session."""
    if not sessions.end(request.user, request.POST.get("session", "")):
        raise Http404("You have no such session.")
    messages.success(request, gettext("That browser is signed out."))
    return redirect("sessions")


@require_POST
@reauthentication_required
def end_other_sessions(request: SignedInRequest) -> HttpResponse:
    number = sessions.end_all(request.user, but=request.session.session_key)
    if number:
        said = ngettext("%(number)d other browser signed out.", "%(number)d other browsers signed out.", number)
        messages.success(request, said % {"number": number})
    else:
        messages.success(request, gettext("No other browsers signed out."))
    return redirect("sessions")

"""How long sessions last, by role: since the last request, and since the sign-in."""

from collections.abc import Callable
from datetime import datetime

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from . import members
from .sessions import SIGNED_IN

SEEN = "seen"  # the key in a session of the time of its last request, exact to a quarter of the limit
NOTED = 60  # the most seconds between two notes of it


def limits_of(user: AbstractBaseUser) -> tuple[float, float] | None:
    """The shortest limits of the person's roles, in seconds: since the last request, and since the sign-in."""
    found = [limits for role in members.roles_of(user) if (limits := settings.SESSION_LIMITS.get(role))]
    return (min(idle for idle, _ in found), min(longest for _, longest in found)) if found else None


class SessionLimits:
    """Middleware that ends sessions. It stands before the check for a sign-in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_LIMITS and request.user.is_authenticated and (limits := limits_of(request.user)):
            self.hold(request, *limits)
        return self.get_response(request)

    def hold(self, request: HttpRequest, idle: float, longest: float) -> None:
        session, now = request.session, timezone.now()
        signed_in = datetime.fromisoformat(session[SIGNED_IN][0])
        seen = datetime.fromisoformat(session.get(SEEN, session[SIGNED_IN][0]))
        since = (now - seen).total_seconds()
        if since > idle or (now - signed_in).total_seconds() > longest:
            logout(request)
        # An open page asks by itself who is signed in: that is no sign of a person.
        elif since > min(NOTED, idle / 4) and request.path != reverse("session"):
            session[SEEN] = now.isoformat()

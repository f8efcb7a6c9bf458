"""How long sessions last, by role: since the last request, and since the sign-in."""

from datetime import datetime

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from . import members
from .sessions import SIGNED_IN

LAST_REQUEST = "seen"  # the key of that time in a session, exact to a quarter of the limit
STORE_EVERY = 60  # seconds, at most, between two updates of it


def limits_of(user: User) -> tuple[float, float] | None:
    """The shortest limits of the person's roles, in seconds: since the last request and the sign-in; or None."""
    found = [limits for role in members.roles_of(user) if (limits := settings.SESSION_LIMITS.get(role))]
    return (min(idle for idle, _ in found), min(longest for _, longest in found)) if found else None


class SessionLimits(MiddlewareMixin):
    """Middleware that ends sessions at their limits. It comes before the check for a sign-in."""

    def process_request(self, request: HttpRequest) -> None:
        if settings.SESSION_LIMITS and request.user.is_authenticated and (limits := limits_of(request.user)):
            self.end_if_over(request, *limits)

    def end_if_over(self, request: HttpRequest, idle: float, longest: float) -> None:
        session, now = request.session, timezone.now()
        signed_in = datetime.fromisoformat(session[SIGNED_IN][0])
        seen = datetime.fromisoformat(session.get(LAST_REQUEST, session[SIGNED_IN][0]))
        since = (now - seen).total_seconds()
        if since > idle or (now - signed_in).total_seconds() > longest:
            logout(request)
        # An open page asks by itself who is signed in, so that request does not show a person.
        elif since > min(STORE_EVERY, idle / 4) and request.path != reverse("session"):
            session[LAST_REQUEST] = now.isoformat()

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
from .sessions import SIGNED_IN_KEY

LAST_REQUEST_KEY = "seen"  # the key in a session for the time of the last request
SECONDS_BETWEEN_UPDATES = 60  # of that time; a quarter of the limit where that is shorter


def limits_of(user: User) -> tuple[float, float] | None:
    """The shortest limits of the person's roles, in seconds: since the last request and the sign-in; or None."""
    roles = members.roles_of(user) & settings.SESSION_LIMITS.keys()
    if not roles:
        return None
    limits = [settings.SESSION_LIMITS[role] for role in roles]
    return min(idle for idle, _ in limits), min(longest for _, longest in limits)


class SessionLimits(MiddlewareMixin):
    """Middleware that ends sessions at their limits. It comes before the check for a sign-in."""

    def process_request(self, request: HttpRequest) -> None:
        if not settings.SESSION_LIMITS or not request.user.is_authenticated:
            return
        if limits := limits_of(request.user):
            self.end_if_over(request, *limits)

    def end_if_over(self, request: HttpRequest, most_idle: float, longest: float) -> None:
        """Sign out if the last request is more than `most_idle` seconds ago, or the sign-in more than `longest`.

        Otherwise store the time of this request, though not at every request, as each time is a write.
        """
        now = timezone.now()
        signed_in_at, _browser = request.session[SIGNED_IN_KEY]
        last_request_at = request.session.get(LAST_REQUEST_KEY, signed_in_at)
        # The stored time lags behind by this interval at most, so a short limit needs a shorter one.
        seconds_between_updates = min(SECONDS_BETWEEN_UPDATES, most_idle / 4)
        idle_seconds = (now - datetime.fromisoformat(last_request_at)).total_seconds()
        signed_in_seconds = (now - datetime.fromisoformat(signed_in_at)).total_seconds()
        if idle_seconds > most_idle or signed_in_seconds > longest:
            logout(request)
        # An open page asks for "session" by itself, to know who is signed in. That is no act of the person, so it
        # must not make the session last.
        elif idle_seconds > seconds_between_updates and request.path != reverse("session"):
            request.session[LAST_REQUEST_KEY] = now.isoformat()

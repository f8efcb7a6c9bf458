"""Looking around in the sample: sign-in to its accounts without a password, only from this machine.

A local connection may still come from a stranger, through a port forwarder or a proxy without headers. A visitor
therefore needs the key that the terminal shows at each start. The first request that came through a visible proxy
ends looking around for good.
"""

import logging
import os
import re
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from secrets import compare_digest, token_urlsafe

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from ..models import Role

log = logging.getLogger(__name__)

COOKIE = "look"
# Headers that proxies and tunnels add, by their names in WSGI.
OF_PROXIES = re.compile(
    r"HTTP_(FORWARDED|VIA|CDN_LOOP|X_(FORWARDED|ORIGINAL|REAL|CLIENT|CLUSTER|PROXY|ENVOY|AMZN|AZURE|ARR|GOOG|VERCEL)"
    r"(_.*)?|X_CLOUD_TRACE_CONTEXT|(CF|FLY|TAILSCALE|AKAMAI|FASTLY)_.*|(TRUE_)?CLIENT_IP)"
)


def username(role: str) -> str:
    return f"sample-{role}"


NAMES = [username(role) for role in Role.values]


def new_key() -> None:
    """Replace the key; called at each start of the server. If nobody may look around, there is no new key."""
    key_file().unlink(missing_ok=True)
    if allowed() and get_user_model().objects.filter(username__in=NAMES).exists():
        with open(os.open(key_file(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token_urlsafe(24) + "\n")


def allowed() -> bool:
    """Whether looking around is enabled and no proxy was seen so far."""
    return settings.DEMO and not over_file().exists()


def key_file() -> Path:
    """The file with the key. It exists while looking around is possible."""
    return settings.DATA_DIR / "look-around.key"


def over_file() -> Path:
    return settings.DATA_DIR / "look-around.over"


def is_key(key: str) -> bool:
    """Whether it is the key of this server, while looking around is allowed."""
    try:
        return allowed() and compare_digest(key.encode(), key_file().read_text().strip().encode())
    except FileNotFoundError:
        return False


def is_local(request: HttpRequest) -> bool:
    """Whether the request names this machine and shows no proxy."""
    host = request.get_host().rsplit(":", 1)[0].strip("[]")
    return not proxy_trace(request) and (host == "localhost" or is_loopback(host))


def proxy_trace(request: HttpRequest) -> str:
    """The sign that a proxy forwarded the request, such as a header; "" for none."""
    if names := sorted(name for name in request.META if OF_PROXIES.fullmatch(name)):
        return "the header " + names[0].removeprefix("HTTP_").replace("_", "-").title()
    if not is_loopback(request.META.get("REMOTE_ADDR", "")):
        return "an address that is not this machine's"
    # Browsers send HTTP/1.1; nginx by default forwards with HTTP/1.0, and adds no header.
    return "HTTP/1.0" if request.META.get("SERVER_PROTOCOL") == "HTTP/1.0" else ""


def is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def has_ended_for(user: AbstractBaseUser) -> bool:
    """Whether it is an account of the sample without a password, and looking around has ended."""
    return user.get_username() in NAMES and not user.has_usable_password() and not allowed()


class Visitors(BaseBackend):
    """The authentication backend of visitors, who are signed out when looking around ends."""

    def get_user(self, user_id: int) -> AbstractBaseUser | None:
        if not allowed():
            return None
        return get_user_model().objects.filter(pk=user_id, is_active=True).first()


class OverWhenForwarded:
    """Middleware that ends looking around at the first request through a proxy, which may be a stranger's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.DEMO:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if allowed() and (proxy := proxy_trace(request)):
            reason = (
                f"A request came through a proxy or a forwarder: it had {proxy}. Nobody looks around any more."
            )
            cure = "Where no stranger comes that way, remove this file and start again."
            over_file().write_text(f"{timezone.now():%Y-%m-%d %H:%M} {reason} {cure}\n")
            key_file().unlink(missing_ok=True)
            log.warning("%s See %s", reason, over_file())
        return self.get_response(request)

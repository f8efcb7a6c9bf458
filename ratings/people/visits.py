"""Looking around in the sample: its accounts have no passwords, and links of the terminal sign in to them once."""

from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.http import HttpRequest

from ..models import Role


def username(role: str) -> str:
    return f"sample-{role}"


NAMES = [username(role) for role in Role.values]


def open_or_close() -> None:
    """Open the accounts of the sample where people may look around, else close them with sessions and tokens."""
    accounts = get_user_model().objects.filter(username__in=NAMES, password__startswith=UNUSABLE_PASSWORD_PREFIX)
    accounts.update(is_active=settings.DEMO)


def may_enter(request: HttpRequest, user: User) -> bool:
    """Whether a link of this person is good for this request: those of the sample are so on this machine only."""
    return user.get_username() not in NAMES or (settings.DEMO and is_local(request))


def is_local(request: HttpRequest) -> bool:
    """Whether the request comes from this machine and calls it so."""
    host = request.get_host().rsplit(":", 1)[0].strip("[]")
    return (host == "localhost" or _is_loopback(host)) and _is_loopback(request.META.get("REMOTE_ADDR", ""))


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False

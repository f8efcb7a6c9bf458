"""Looking around in the sample: its accounts have no passwords, and links of the terminal sign in to them once."""

from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse

from ..models import Membership, Role


def username(role: str) -> str:
    return f"sample-{role}"


SAMPLE_USERNAMES = [username(role) for role in Role.values]


def open_or_close() -> None:
    """Open the accounts of the sample where people may look around, else close them with sessions and tokens."""
    accounts = get_user_model().objects.filter(username__in=SAMPLE_USERNAMES)
    accounts.filter(password__startswith=UNUSABLE_PASSWORD_PREFIX).update(is_active=settings.DEMO)


def may_enter(request: HttpRequest, user: User) -> bool:
    """Whether a link signs this person in. Accounts of the sample are only for requests from this machine."""
    return user.get_username() not in SAMPLE_USERNAMES or (settings.DEMO and is_local(request))


def first_page(user: User) -> str:
    """Where looking around begins: at the desk, the results or the progress; "" for people of other accounts."""
    pages = {username(Role.RATER): "rate", username(Role.ANALYST): "overview", username(Role.ADMIN): "progress"}
    membership = Membership.objects.filter(user=user).select_related("collection").first()
    page = pages.get(user.get_username())
    return reverse(page, args=[membership.collection.slug]) if page and membership else ""


def is_local(request: HttpRequest) -> bool:
    """Whether the request comes from this machine, and its address names this machine as localhost."""
    host = request.get_host().rsplit(":", 1)[0].strip("[]")
    return (host == "localhost" or _is_loopback(host)) and _is_loopback(request.META.get("REMOTE_ADDR", ""))


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False

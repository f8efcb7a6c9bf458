"""What is told of tries to sign in: on the log all of them, in the audit those that no stranger can make many of.

What somebody typed as a name is never told unless it is the name of an account: it may be their password.
"""

import logging

from allauth.account.internal.flows.login import get_authentication_records
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import DatabaseError
from django.http import HttpRequest

from ..audit import Act, note
from ..people import throttle

log = logging.getLogger("idealist.sign_in")


def succeeded(request: HttpRequest, user: AbstractBaseUser) -> None:
    """Note a sign-in, and by what the person showed who they are."""
    ways = [record["method"] for record in get_authentication_records(request, user)]
    note(Act.SIGNED_IN, about=user, by=user, ways=ways)


def refused(
    request: HttpRequest, why: str, user: AbstractBaseUser | None = None, act: Act = Act.SIGN_IN_REFUSED
) -> None:
    """Tell the log of a refused try, and the audit while this minute has room, so that nobody fills it."""
    tell(request, why, user, act)
    try:
        throttle.begin_refusal()
        note(act, about=user or "an unknown name", why=why)
    except throttle.TooMany:
        pass  # the log has it
    except (DatabaseError, ConnectionError) as error:
        log.error("This refusal is on the log alone, since the audit could not be written: %s", error)


def wrong_password(sender: object, credentials: dict, request: HttpRequest | None = None, **more: object) -> None:
    """Tell of a wrong name or password. A receiver of user_login_failed."""
    if request is not None:
        users = get_user_model().objects.filter(username=credentials.get("username") or "")
        refused(request, "wrong password" if (user := users.first()) else "unknown name", user)


def limited(request: HttpRequest) -> None:
    """Tell the log alone of a try beyond the limit."""
    tell(request, "too many tries")


def tell(
    request: HttpRequest, why: str, user: AbstractBaseUser | None = None, act: Act = Act.SIGN_IN_REFUSED
) -> None:
    account = user.get_username() if user else "an unknown name"
    address = request.META.get("REMOTE_ADDR", "")
    facts = {"act": act.value, "why": why, "account": user and user.pk, "address": address}
    what = "Sign-out" if act == Act.SIGN_OUT_REFUSED else "Sign-in"
    log.warning(
        "%s refused at %s: %s, %s, from %s", what, request.path, why, account, address, extra={"event": facts}
    )

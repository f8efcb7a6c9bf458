"""Record tries to sign in: all of them in the log, and a limited number of refused ones in the audit.

A name that was typed is recorded only if it is the name of an account, because it may be a password.
"""

import logging

from allauth.account.authentication import get_authentication_records
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.http import HttpRequest

from .. import throttle
from ..audit import Act, note

log = logging.getLogger("idealist.sign_in")


def succeeded(request: HttpRequest, user: User) -> None:
    """Note a sign-in, and the means by which the person showed who they are."""
    ways = [record["method"] for record in get_authentication_records(request, user)]
    note(Act.SIGNED_IN, about=user, by=user, ways=ways)


def refused(request: HttpRequest, why: str, user: User | None = None, act: Act = Act.SIGN_IN_REFUSED) -> None:
    """Record a refused try in the log and, up to a limit per minute, in the audit, so that nobody can fill it."""
    log_refusal(request, why, user, act)
    try:
        throttle.begin_refusal()
        note(act, about=user or "an unknown name", why=why)
    except throttle.TooMany:
        pass  # it is in the log
    except DatabaseError as error:
        log.error("This refusal is only in the log, because the audit could not be written: %s", error)


def wrong_password(sender: object, credentials: dict, request: HttpRequest | None = None, **more: object) -> None:
    """Record a wrong name or password. A receiver of user_login_failed."""
    if request is not None:
        users = get_user_model().objects.filter(username=credentials.get("username") or "")
        refused(request, "wrong password" if (user := users.first()) else "unknown name", user)


def limited(request: HttpRequest) -> None:
    """Record a try beyond the limit in the log only."""
    log_refusal(request, "too many tries")


def log_refusal(request: HttpRequest, why: str, user: User | None = None, act: Act = Act.SIGN_IN_REFUSED) -> None:
    account = user.get_username() if user else "an unknown name"
    address = request.META.get("REMOTE_ADDR", "")
    facts = {"act": act.value, "why": why, "account": user and user.pk, "address": address}
    what = "Sign-out" if act == Act.SIGN_OUT_REFUSED else "Sign-in"
    log.warning(
        "%s refused at %s: %s, %s, from %s", what, request.path, why, account, address, extra={"event": facts}
    )

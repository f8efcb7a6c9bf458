"""The actor of an act: the account or token of a request, the account for which a worker acts, or a command.

A context variable, of which every thread has its own, holds a function that returns the actor. It is called only
when an act is noted, because a token is known later than its request.
"""

import os
import pwd
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import NamedTuple

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

from ...models import ApiToken
from ...models.audit import AuditEvent

Way = AuditEvent.Way


class Who(NamedTuple):
    """The actor of an act."""

    way: str
    account: int | None = None
    name: str = ""  # of the account, or of the user of the operating system
    token: str = ""  # the name of the API token, or the command of manage.py
    address: str = ""


def of_command() -> Who:
    """The user of the operating system, with the command of manage.py."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run as a number without a name
        name = str(os.getuid())
    command = sys.argv[1] if Path(sys.argv[0]).name == "manage.py" and len(sys.argv) > 1 else ""
    return Who(Way.COMMAND, name=name, token=command[:100])


def of_request(request: HttpRequest) -> Who:
    """The account of a token or a session, with the address that `config.proxies` found."""
    address = request.META.get("REMOTE_ADDR", "")[:45]
    token = getattr(request, "auth", None)
    if isinstance(token, ApiToken):
        return Who(Way.TOKEN, token.user_id, token.user.get_username(), token.name, address)
    return _of_account(Way.PAGE, getattr(request, "user", None), address)


def _of_account(way: str, user: User | None, address: str = "") -> Who:
    return Who(way, user and user.pk, user.get_username() if user else "", address=address)


_now: ContextVar[Callable[[], Who]] = ContextVar("who acts", default=of_command)


def now() -> Who:
    """The actor of this thread."""
    return _now.get()()


@contextmanager
def acting(by: Callable[[], Who]) -> Iterator[None]:
    """A context in which `by` returns the actor."""
    before = _now.set(by)
    try:
        yield
    finally:
        _now.reset(before)


def acting_for(user: User | None):
    """A context in which a worker acts for an account."""
    return acting(partial(_of_account, Way.WORKER, user))


class Requests:
    """Middleware: the actor of every act during a request is the account or token of the request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting(partial(of_request, request)):
            return self.get_response(request)

"""Who acts now: the account or token of a request, a worker for who asked it, or else a command.

A request is kept in a context variable, which every thread has for itself. It is asked only when something is
noted: a token, for one, is known later than the request.
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

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse

from ..models import ApiToken
from ..models.audit import AuditEvent

Way = AuditEvent.Way


class Who(NamedTuple):
    way: str
    account: int | None = None
    name: str = ""
    token: str = ""
    address: str = ""


def of_command() -> Who:
    """The user of the operating system, and the command of manage.py."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run as a number without a name
        name = str(os.getuid())
    command = sys.argv[1] if Path(sys.argv[0]).name == "manage.py" and len(sys.argv) > 1 else ""
    return Who(Way.COMMAND, name=name, token=command[:100])


def of_request(request: HttpRequest) -> Who:
    """The account, by token or by session. Its address is that of `config.proxies`."""
    address = request.META.get("REMOTE_ADDR", "")[:45]
    token = getattr(request, "auth", None)
    if isinstance(token, ApiToken):
        return Who(Way.TOKEN, token.user_id, token.user.get_username(), token.name, address)
    return _of_account(Way.PAGE, getattr(request, "user", None), address)


def _of_account(way: str, user: AbstractBaseUser | None, address: str = "") -> Who:
    return Who(way, user and user.pk, user.get_username() if user else "", address=address)


_now: ContextVar[Callable[[], Who]] = ContextVar("who acts", default=of_command)


def now() -> Who:
    return _now.get()()


@contextmanager
def acting(by: Callable[[], Who]) -> Iterator[None]:
    before = _now.set(by)
    try:
        yield
    finally:
        _now.reset(before)


def acting_for(user: AbstractBaseUser | None):
    """A context in which a worker does what an account asked for."""
    return acting(partial(_of_account, Way.WORKER, user))


class Requests:
    """Middleware: what is noted while a request is answered was done by it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting(partial(of_request, request)):
            return self.get_response(request)

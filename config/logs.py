"""Log lines without secrets: for people, or as JSON for programs, each with the id of its request."""

import json
import logging
import re
import unicodedata
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from secrets import token_hex

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

KEYS = re.compile(r"(/join/|/accounts/(?:link|saml/finish|forgotten/\w+)/|idl_|look=|[?&]code=)[\w~.%-]+")
HEADER = "X-Request-Id"
PLAIN = re.compile(r"[\w.:+/=-]{1,64}")  # of an id: nothing that begins another line or field
_request: ContextVar[str] = ContextVar("the id of the request", default="")


class WithoutKeys(logging.Formatter):
    """Removes the keys of invitations, links, tokens and the sample, and codes, which a reader could use.

    A message is one line: what came from outside can make no line that looks like another's. Below it stands the
    traceback, if there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        return KEYS.sub(r"\1…", super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        who = "".join(f" {name}={value}" for name, value in whose(record).items())
        return "".join(map(escaped, super().formatMessage(record) + who))


class AsJson(logging.Formatter):
    """A line of JSON without such keys. An event of the audit is a member of it."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= whose(record)
        if request := _request.get():
            line["request"] = request
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        if event := getattr(record, "event", None):
            line["event"] = event
        return KEYS.sub(r"\1…", json.dumps(line, ensure_ascii=False, default=str))


class RequestIds:
    """Middleware that gives each request an id, which its log lines and its answer have.

    It is that of the header X-Request-Id where a proxy of the operator stands before the server, else a new one.
    Logs of text have none.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if settings.LOG != "json":
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent = request.headers.get(HEADER, "") if settings.PROXIES else ""
        name = sent if PLAIN.fullmatch(sent) else token_hex(8)
        before = _request.set(name)
        try:
            response = self.get_response(request)
        finally:
            _request.reset(before)
        response[HEADER] = name
        return response


def whose(record: logging.LogRecord) -> dict[str, object]:
    """The address and account of the request that a line is about, as of one that was refused.

    Only an account that the request has read already: a log asks no database.
    """
    request = getattr(record, "request", None)
    if not isinstance(request, HttpRequest):
        return {}
    user = getattr(getattr(request, "auth", None), "user", None) or getattr(request, "_cached_user", None)
    facts = {"address": request.META.get("REMOTE_ADDR"), "account": user and user.pk}
    return {name: value for name, value in facts.items() if value}


def escaped(sign: str) -> str:
    r"""The sign; one that ends a line or steers a terminal as \n or \x1b."""
    steers = unicodedata.category(sign) in {"Cc", "Zl", "Zp"}
    return sign.encode("unicode_escape").decode() if steers else sign

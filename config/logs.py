"""Formats log lines without secrets: as text for people, or as JSON with the id of the request for programs."""

import json
import logging
import math
import re
import time
import unicodedata
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from secrets import token_hex

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

SECRETS = re.compile(r"(/join/|/shared/|/accounts/(?:link|forgotten/\w+)/|idl_|[?&]code=)[\w~.%-]+")
REQUEST_ID_HEADER = "X-Request-Id"
SECONDS_BETWEEN_OUTAGE_LINES = 60.0
VALID_ID = re.compile(r"[\w.:+/=-]{1,64}")  # without characters that could start another line or field
_request: ContextVar[str] = ContextVar("the id of the request", default="")


class TextFormatter(logging.Formatter):
    """A line of text without the keys of invitations, links, tokens and the sample, and without codes.

    A message is one line, so that a request cannot forge another line. The traceback, if there is one, follows it.
    """

    def format(self, record: logging.LogRecord) -> str:
        return SECRETS.sub(r"\1…", super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        fields = "".join(f" {name}={value}" for name, value in request_fields(record).items())
        return "".join(map(escaped, super().formatMessage(record) + fields))


class JsonFormatter(logging.Formatter):
    """A line of JSON without the keys and codes that SECRETS finds. An audit event is the member `event`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= request_fields(record)
        if request := _request.get():
            line["request"] = request
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        if event := getattr(record, "event", None):
            line["event"] = event
        return SECRETS.sub(r"\1…", json.dumps(line, ensure_ascii=False, default=str))


class UnknownHosts(logging.Filter):
    """Makes one line of a request with an unknown host name, and names the setting. Django logs a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = str(record.msg).replace("ALLOWED_HOSTS", "IDEALIST_HOSTS")
        record.exc_info = None
        return True


class Outages(logging.Filter):
    """Lets through one line a minute, without its traceback, of requests that the database or the disk failed."""

    last_line_at = -math.inf  # by time.monotonic

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged. The record of an outage gets the reason in place of its traceback."""
        from ratings.database import disk  # both are imported here, since they need the settings
        from ratings.web.failures import AWAY_ERRORS

        error = record.exc_info[1] if record.exc_info else None
        if not (isinstance(error, AWAY_ERRORS) or disk.trouble(error)):
            return True
        reason = " ".join(str(error).split())
        record.msg = f"{record.getMessage()} ({reason}). One line a minute says so."
        record.args = ()
        record.exc_info = None
        now = time.monotonic()
        if now - self.last_line_at < SECONDS_BETWEEN_OUTAGE_LINES:
            return False
        self.last_line_at = now
        return True


class RequestIds:
    """Middleware that gives each request an id, for its log lines and its response. Only for logs in JSON.

    Where there is a proxy, the id is that of the header X-Request-Id, else a new one.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if settings.LOG != "json":
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        received = request.headers.get(REQUEST_ID_HEADER, "") if settings.PROXIES else ""
        request_id = received if VALID_ID.fullmatch(received) else token_hex(8)
        token = _request.set(request_id)
        try:
            response = self.get_response(request)
        finally:
            _request.reset(token)
        response[REQUEST_ID_HEADER] = request_id
        return response


def request_fields(record: logging.LogRecord) -> dict[str, object]:
    """The address and account of the request of a log record, {} where it has none.

    An account is used only if the request has read it already: logging must not query the database.
    """
    request = getattr(record, "request", None)
    if not isinstance(request, HttpRequest):
        return {}
    token = getattr(request, "auth", None)  # of a call of the API
    user = token.user if token else getattr(request, "_cached_user", None)
    fields = {"address": request.META.get("REMOTE_ADDR"), "account": user and user.pk}
    return {name: value for name, value in fields.items() if value}


def escaped(character: str) -> str:
    r"""The character; one that ends a line or controls a terminal is escaped, such as \n and \x1b."""
    is_control = unicodedata.category(character) in {"Cc", "Zl", "Zp"}
    return character.encode("unicode_escape").decode() if is_control else character

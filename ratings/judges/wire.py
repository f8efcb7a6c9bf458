"""The chat-completions convention, which hosted models, Ollama, vLLM and llama.cpp speak. One request at a time.

Requests go through the guarded door of `ratings.importing.pull`. The key of a host is only in the server's
environment, in IDEALIST_JUDGE_KEYS; if an answer repeats it, it is removed. A key belongs to one port, because
whoever names the address of a judge could let another server of the host have it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from django.conf import settings

from ..importing import pull
from ..importing.pull.fetching import TimedOut, Unreachable, response_of
from .answers import Problem

PATH = "/chat/completions"
SECONDS = 120.0  # of one answer
LARGEST = 1_000_000  # bytes of one answer
QUOTED = 200
LONGEST_PAUSE = 300.0  # seconds, whatever a server asks for
BUSY = {408, 425, 429}
WRONG = {401, 402, 404, 405, 415}  # no call will ever do: the key, the credit, the address or the model
KEYLESS = {401, 403, 500}  # what servers answer to who sends no key; LiteLLM answers 500
NOT_SENT = {"model", "messages", "seed", "response_format", "stream", "n", "tools", "tool_choice", "functions"}


class Reply(NamedTuple):
    """An answer of the server, with the text of the model. A number is None if the server did not give it."""

    content: str
    refusal: str
    ended: str  # finish_reason
    model: str
    tokens_in: int | None
    tokens_out: int | None


class Failed(Exception):
    """There is no answer. `again`: another try may bring one, `after` so many seconds if the server asks for that.

    `wrong`: no call would work. By default calls about other pairs may work: a document can be too long for the
    model, or a filter blocks it.
    """

    def __init__(self, problem: str, detail: str, *, again=False, after: float | None = None, wrong=False) -> None:
        self.problem, self.detail, self.again, self.after = problem, detail[:300], again, after
        self.wrong = wrong
        super().__init__(detail)


@dataclass(frozen=True)
class Endpoint:
    """The address of an API, checked once, and its key."""

    place: pull.Place
    key: str = ""

    @classmethod
    def of(cls, url: str) -> "Endpoint":
        """The endpoint at `url`. Raises ValueError if requests may not go there."""
        place = pull.checked_place(url, settings.PULL_HOSTS)
        return cls(place, _key_of(place))

    def ask(self, body: Mapping[str, Any]) -> Reply:
        """The answer to one call. Raises Failed."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        target = self.place.path.rstrip("/") + PATH + (f"?{self.place.query}" if self.place.query else "")
        limits = pull.Limits(SECONDS, LARGEST, 2 * SECONDS)
        sent = json.dumps(body, ensure_ascii=False).encode()
        try:
            status, head, content = response_of(self.place, "POST", target, sent, headers, limits)
        except TimedOut as error:
            raise Failed(Problem.TIMEOUT, self._clean(str(error)), again=True) from error
        except Unreachable as error:
            raise Failed(Problem.NETWORK, self._clean(str(error)), again=True) from error
        except pull.Refused as error:
            raise Failed(Problem.NO_ANSWER, self._clean(str(error))) from error
        text = self._clean(content.decode(errors="replace"))
        if status != 200:
            asked_key = "" if self.key or status not in KEYLESS else _without_key(self.place)
            raise _failure(status, head.get("Retry-After"), f"{asked_key}: {' '.join(text[:QUOTED].split())}")
        return _reply_of(text)

    def _clean(self, text: str) -> str:
        text = text.replace("\0", "")
        return re.sub(escaped(self.key), "…", text) if self.key else text


def escaped(key: str) -> str:
    """A pattern of the key in which each character may be escaped: once or more as in JSON, in a URL, in HTML."""
    return "".join(
        ("" if c.isalnum() else r"\\{0,3}")
        + rf"(?:{re.escape(c)}|(?i:\\{{1,3}}u00{ord(c):02x}|%{ord(c):02x}|&\#(?:{ord(c)}|x{ord(c):x});))"
        for c in key
    )


def _key_of(place: pull.Place) -> str:
    """The key of a server, "" if it has none. Without a port in the setting, it is for HTTPS at port 443 alone."""
    host = _host_of(place)
    key = settings.JUDGE_KEYS.get(f"{host}:{place.port}".lower(), "")
    usual = settings.JUDGE_KEYS.get(host.lower(), "") if place.secure and place.port == 443 else ""
    return key or usual


def _host_of(place: pull.Place) -> str:
    return f"[{place.host}]" if ":" in place.host else place.host


def _without_key(place: pull.Place) -> str:
    return f", and no key was sent, as IDEALIST_JUDGE_KEYS has none for {_host_of(place)}:{place.port}"


def body_of(
    model: str, prompt: str, sampling: Mapping[str, Any], seed: int | None, schema: Mapping | None
) -> dict[str, Any]:
    """The body of a call. Every parameter is sent, as servers have different defaults."""
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], **sampling, "stream": False}
    if seed is not None:
        body["seed"] = seed
    if schema:
        named = {"name": "grade", "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def checked_sampling(sampling: Any) -> dict[str, Any]:
    """The parameters. Raises ValueError for those that a call sets itself, and for lists, objects and the like."""
    if not isinstance(sampling, dict):
        raise ValueError('The sampling parameters are no JSON object, such as {"temperature": 0}')
    checked = {}
    for name, value in sampling.items():
        if name in NOT_SENT:
            raise ValueError(f"The parameter {name!r} is set for every call. Leave it out")
        if not isinstance(value, str | int | float | bool) or isinstance(value, float) and not isfinite(value):
            raise ValueError(f"The parameter {name!r} is no text, number, true or false")
        checked[name] = _as_stored(value) if isinstance(value, float) else value
    return checked


def _as_stored(value: float) -> int | float:
    """The number as databases return it: whole numbers without an exponent, and 0 without a sign."""
    return int(value) if value.is_integer() and "e" in repr(value) else value + 0.0


def _failure(status: int, retry_after: str | None, said: str) -> Failed:
    detail = f"it answers {status}{said}"
    if status in BUSY:
        return Failed(Problem.BUSY, detail, again=True, after=_seconds(retry_after))
    if status >= 500:
        return Failed(Problem.ERROR, detail, again=True, after=_seconds(retry_after))
    if 300 <= status < 400:
        detail = f"it redirects with {status}, and redirects are not followed. Give the address of the redirect"
    return Failed(Problem.ERROR, detail, wrong=status in WRONG or status < 400)


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After in seconds; None without one, and for a date, which depends on clocks."""
    if retry_after and retry_after.isascii() and retry_after.isdecimal():
        return min(float(retry_after), LONGEST_PAUSE)
    return None


def _reply_of(text: str) -> Reply:
    """The reply in an answer. Raises Failed if it does not follow the convention."""
    try:
        answer = json.loads(text)
        choices = answer["choices"]
        if len(choices) != 1:
            raise ValueError(f"it has {len(choices)} choices, and one was asked for")
        (choice,) = choices
        message, usage = choice["message"], answer.get("usage") or {}
        content, refusal = message.get("content"), message.get("refusal") or ""
        if not isinstance(content, str | None) or not isinstance(refusal, str):
            raise ValueError("the message is no text")
        ended, model = str(choice.get("finish_reason") or ""), str(answer.get("model") or "")[:200]
        tokens = [_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
        return Reply(content or "", refusal, ended, model, *tokens)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Failed(Problem.NO_ANSWER, f"it is no chat completion ({error}): {text[:QUOTED]}") from error


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**31 else None

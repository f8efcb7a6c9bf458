"""The chat-completions convention, which hosted models, Ollama, vLLM and llama.cpp speak. One request at a time.

Requests go through the guarded door of `ratings.importing.pull`. The key of a host is only in the server's
environment, in IDEALIST_JUDGE_KEYS; if an answer repeats it, it is removed. A key belongs to one port, because
whoever names the address of a judge could let another server of the host have it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from django.conf import settings

from ..formats import strict_json
from ..importing import pull
from ..importing.pull.fetching import TimedOut, Unreachable, response_of, without_key
from .answers import Problem

COMPLETIONS_PATH = "/chat/completions"
ANSWER_SECONDS = 120.0
MOST_ANSWER_BYTES = 1_000_000
QUOTED_LENGTH = 200  # characters of an answer in messages
LONGEST_PAUSE = 300.0  # seconds, whatever a server asks for
BUSY_STATUSES = {408, 425, 429}  # the same call may work later
HOPELESS_STATUSES = {401, 402, 404, 405, 415}  # no call will do: the key, the credit, the address or the model
KEYLESS_STATUSES = {401, 403, 500}  # what servers answer to who sends no key; LiteLLM answers 500
SET_BY_CALLS = {"model", "messages", "seed", "response_format", "stream", "n", "tools", "tool_choice", "functions"}


class Reply(NamedTuple):
    """An answer of the server, with the text of the model. A number is None if the server did not give it."""

    content: str
    refusal: str
    ended: str  # finish_reason
    model: str
    tokens_in: int | None
    tokens_out: int | None


class Failed(Exception):
    """A call brought no answer. `retry`: the same call may bring one, after `pause` seconds if the server says so.

    `hopeless`: a call about any other pair would fail, too. By default it may work: a document can be too long for
    the model, or a filter blocks it.
    """

    def __init__(self, problem: str, detail: str, *, retry=False, pause: float | None = None, hopeless=False):
        self.problem, self.detail = problem, detail[:300]
        self.retry, self.pause, self.hopeless = retry, pause, hopeless
        super().__init__(detail)


@dataclass(frozen=True)
class Endpoint:
    """The address of an API, checked once, and its key."""

    place: pull.Place  # host, port, path and query of the URL
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
        target = self.place.path.rstrip("/") + COMPLETIONS_PATH
        if self.place.query:
            target += f"?{self.place.query}"
        # The total is larger than the time of a call. Otherwise a late answer would use up the total, too, and
        # raise OverLimit in place of TimedOut, after which the call is not tried again.
        limits = pull.Limits(seconds=ANSWER_SECONDS, bytes=MOST_ANSWER_BYTES, total_seconds=2 * ANSWER_SECONDS)
        json_body = json.dumps(body, ensure_ascii=False).encode()
        try:
            status, response_headers, content = response_of(
                self.place, method="POST", target=target, body=json_body, headers=headers, limits=limits
            )
        except TimedOut as error:
            raise Failed(Problem.TIMEOUT, self._clean(str(error)), retry=True) from error
        except Unreachable as error:
            raise Failed(Problem.NETWORK, self._clean(str(error)), retry=True) from error
        except pull.Refused as error:
            raise Failed(Problem.NO_ANSWER, self._clean(str(error))) from error
        text = self._clean(content.decode(errors="replace"))
        if status != 200:
            key_hint = _key_hint(self.place) if not self.key and status in KEYLESS_STATUSES else ""
            message_end = f"{key_hint}: {' '.join(text[:QUOTED_LENGTH].split())}"
            raise _failure(status, response_headers.get("Retry-After"), message_end)
        return _reply_of(text)

    def _clean(self, text: str) -> str:
        """The text without the key, and without NUL, which PostgreSQL refuses."""
        return without_key(text.replace("\0", ""), self.key)


def _key_of(place: pull.Place) -> str:
    """The key of a server, "" if it has none. Without a port in the setting, it is for HTTPS at port 443 alone."""
    host = _host_of(place)
    key = settings.JUDGE_KEYS.get(f"{host}:{place.port}".lower(), "")
    key_of_host = settings.JUDGE_KEYS.get(host.lower(), "") if place.secure and place.port == 443 else ""
    return key or key_of_host


def _host_of(place: pull.Place) -> str:
    return f"[{place.host}]" if ":" in place.host else place.host


def _key_hint(place: pull.Place) -> str:
    """The end of a message for a server that got no key."""
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
    """The sampling parameters, such as {"temperature": 0}, as they are stored.

    Raises ValueError for those that a call sets itself, and for lists, objects, null and numbers like NaN.
    """
    if not isinstance(sampling, dict):
        raise ValueError('The sampling parameters are no JSON object, such as {"temperature": 0}')
    checked = {}
    for name, value in sampling.items():
        if name in SET_BY_CALLS:
            raise ValueError(f"The parameter {name!r} is set for every call. Leave it out")
        is_infinite = isinstance(value, float) and not isfinite(value)
        if is_infinite or not isinstance(value, str | int | float | bool):
            raise ValueError(f"The parameter {name!r} is no text, number, true or false")
        # As PostgreSQL returns it, so that it is the same from both databases: PostgreSQL keeps no exponents, so
        # 1e22 becomes an int. `repr` is the number as JSON text, from which `as_stored` reads it.
        checked[name] = strict_json.as_stored(repr(value)) if isinstance(value, float) else value
    return checked


def _failure(status: int, retry_after: str | None, message_end: str) -> Failed:
    """The failure that a status other than 200 tells of. message_end: what follows the status in the message."""
    detail = f"it answers {status}{message_end}"
    if status in BUSY_STATUSES or status >= 500:
        problem = Problem.BUSY if status in BUSY_STATUSES else Problem.ERROR
        return Failed(problem, detail, retry=True, pause=_seconds(retry_after))
    if 300 <= status < 400:
        detail = f"it redirects with {status}, and redirects are not followed. Give the address of the redirect"
    return Failed(Problem.ERROR, detail, hopeless=status in HOPELESS_STATUSES or status < 400)


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
        message = choices[0]["message"]
        content = message.get("content") or ""
        refusal = message.get("refusal") or ""
        if not isinstance(content, str) or not isinstance(refusal, str):
            raise ValueError("the message is no text")
        usage = answer.get("usage") or {}
        return Reply(
            content=content,
            refusal=refusal,
            ended=str(choices[0].get("finish_reason") or ""),
            model=str(answer.get("model") or "")[:200],
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Failed(Problem.NO_ANSWER, f"it is no chat completion ({error}): {text[:QUOTED_LENGTH]}") from error


def _count(value: Any) -> int | None:
    """A count that the database can hold; None for everything else."""
    return value if type(value) is int and 0 <= value < 2**31 else None

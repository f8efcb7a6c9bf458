"""Connected engines: what a row says of an engine, made ready to ask it."""

import json
import os
import re
from pathlib import Path

from ...formats import strict_json
from ...models import AllowedHost, Engine, Query, hosts_allowed_for
from ...words import as_sentence
from .asking import Connection
from .dialects import PRESETS, Dialect
from .fetching import Limits
from .places import checked_place, listed_place

PREFIX = "IDEALIST_ENGINE_"  # of the variables that have keys: no other one can be named
VARIABLE_OF_ENGINE = rf"{PREFIX}[A-Z0-9_]+"
HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
HEADER = re.compile(rf"({HEADER_NAME}): ?([\x20-\x7e]*)")
# Set by the client itself. Another one would make a request that is cut differently by a proxy.
OWN_HEADERS = {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "content-type"}
# What is sought in an answer, with its name on pages. A path leads to each: the field f"{role}_at" of an engine.
ROLES = {
    "results": "List of results",
    "id": "Id",
    "score": "Score",
    "title": "Title",
    "text": "Text",
    "link": "Web address",
}
SECONDS, MOST_SECONDS = 15.0, 30.0  # for one try of a request; for all its tries


def connection_to(engine: Engine) -> Connection:
    """The engine, ready to be asked. Raises ValueError for a place that may not be asked, and without its key."""
    place = checked_place(engine.address, hosts_allowed_for(AllowedHost.Purpose.ENGINES))
    key = secret_in(engine.secret).split()[-1] if engine.secret else ""  # behind a scheme such as Bearer
    return Connection(place, dialect_of(engine), headers_of(engine), key)


def why_closed(engine: Engine) -> str:
    """Why the engine cannot be asked, as a sentence; "" if it can, as far as is known without asking."""
    try:
        listed_place(engine.address, hosts_allowed_for(AllowedHost.Purpose.ENGINES))
        headers_of(engine)
    except ValueError as error:
        return as_sentence(error)
    return ""


def headers_of(engine: Engine) -> dict[str, str]:
    """The headers of its requests, with the key. Raises ValueError."""
    headers = headers_in(engine.headers)
    return headers | ({engine.secret_header: secret_in(engine.secret)} if engine.secret else {})


def dialect_of(engine: Engine) -> Dialect:
    body = strict_json.loaded(engine.body) if engine.body else None
    paths = {role: getattr(engine, f"{role}_at") for role in ROLES}
    return Dialect(**paths, more=tuple(engine.more_at), body=body)


def proposed(dialect: str) -> Engine:
    """An engine of this kind that is not stored, with the usual request and places."""
    preset = PRESETS[dialect]
    body = "" if preset.dialect.body is None else json.dumps(preset.dialect.body, indent=2)
    paths = {f"{role}_at": getattr(preset.dialect, role) for role in ROLES}
    return Engine(dialect=dialect, address=preset.address, body=body, **paths)


def headers_in(text: str) -> dict[str, str]:
    """The headers in lines NAME: value. Raises ValueError."""
    headers = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if not (match := HEADER.fullmatch(line)):
            raise ValueError(f"{line!r} is not a header. Write NAME: value, such as X-Application: AB12")
        if match[1].lower() in OWN_HEADERS:
            raise ValueError(f"The header {match[1]} is set by Idealist. Leave it out")
        headers[match[1]] = match[2].strip()
    return headers


def secret_in(variable: str) -> str:
    """The value of an environment variable of the operator, or the text of the file that VARIABLE_FILE names.

    VARIABLE is the name of the variable. Raises ValueError.
    """
    if not re.fullmatch(VARIABLE_OF_ENGINE, variable):
        raise ValueError(f"The variable of a key begins with {PREFIX}")
    value = os.environ.get(variable, "").strip()
    if not value and (path := os.environ.get(f"{variable}_FILE")):
        try:
            value = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"The file of {variable}_FILE cannot be read") from error
    if not value:
        raise ValueError(f"The operator has not set {variable}, which is to have the key")
    if not re.fullmatch(r"[\x20-\x7e]+", value):
        raise ValueError(f"{variable} has a character that no header can have")
    return value


def parameters_of(query: Query, depth: int) -> dict[str, str | int]:
    """The values of the placeholders for a query."""
    return {"query": query.text, "need": query.need, "key": query.key, "depth": depth}


def limits() -> Limits:
    """The limits of one answer: a worker or a page waits for it."""
    return Limits(seconds=SECONDS, total_seconds=MOST_SECONDS)

"""The dialects of search engines: templates of requests, and paths into answers. No socket, no database."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ...formats import strict_json, values

MATCH = {"query": {"multi_match": {"query": "{query}", "fields": ["*"], "lenient": True}}, "size": "{depth}"}
# The paths that exist, or are true, only in incomplete answers: of Elasticsearch and OpenSearch, Solr, Vespa.
INCOMPLETE = (
    "timed_out",
    "_shards.failed",
    "responseHeader.partialResults",
    "root.errors",
    "root.coverage.degraded",
)
COUNT = "root.fields.totalCount"  # of Vespa, which has no list of hits where it is 0
HITS, ID = "Say where the results are with --hits", "Say where its id is with --id"
_NOTHING = object()


class Hit(NamedTuple):
    document: str
    score: float | None
    title: str
    body: str
    url: str


@dataclass(frozen=True)
class Dialect:
    """The requests and answers of one kind of engine. Without anything else it is that of Elasticsearch.

    In `body` and `parameters` {query}, {need}, {key} and {depth} are placeholders. A path consists of names
    and list indexes with dots between them; an index with a colon is the list from there on. Of several paths
    with | between them the first that exists counts.
    """

    hits: str = "hits.hits"
    id: str = "_id"
    score: str = "_score"
    title: str = "_source.title"
    text: str = "_source.body|_source.text|_source.content|_source.description"
    url: str = "_source.url"
    body: Any = field(default_factory=lambda: MATCH)  # None for GET
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    def target(self, path: str, query: str, parameters: Mapping[str, str | int]) -> str:
        """The path of a request, with the parameters of the URL and then those of the dialect."""
        added = urlencode({name: _filled(value, parameters) for name, value in self.parameters.items()})
        joined = "&".join(filter(None, [query, added]))
        return f"{path}?{joined}" if joined else path

    def content(self, parameters: Mapping[str, str | int]) -> bytes | None:
        return None if self.body is None else json.dumps(_filled(self.body, parameters)).encode()

    def read(self, answer: bytes, depth: int) -> list[Hit]:
        """The first `depth` hits. Raises ValueError that names the place of an unexpected value."""
        try:
            document = strict_json.value_in(answer.decode("utf-8-sig"), what="answer")
        except UnicodeDecodeError as error:
            raise ValueError(f"the answer is not UTF-8 at byte {error.start + 1}") from error
        for path in INCOMPLETE:
            if (value := _at(document, path)) is not _NOTHING and value:
                problem = f"the answer is incomplete: {path} is {values.quoted(value)}"
                raise ValueError(f"{problem}. Pull again once the engine is in order")
        hits = _at(document, self.hits)
        if hits is _NOTHING and _at(document, COUNT) == 0:
            return []
        if hits is _NOTHING:
            names = isinstance(document, dict) and ", ".join(map(repr, list(document)[:6]))
            shown = f"has {names}" if names else f"is {json.dumps(document):.60}"
            raise ValueError(f"the answer has nothing at {self.hits}; it {shown}. {HITS}")
        if not isinstance(hits, list):
            raise ValueError(f"at {self.hits} there is {values.quoted(hits)} and not a list. {HITS}")
        return [self._hit(hit, place) for place, hit in enumerate(hits[:depth], 1)]

    def _hit(self, hit: Any, place: int) -> Hit:
        key = _at(hit, self.id)
        if isinstance(key, int) and not isinstance(key, bool):
            key = str(key)
        if not isinstance(key, str):
            shown = "nothing" if key is _NOTHING else values.quoted(key)
            raise ValueError(f"hit {place} has {shown} at {self.id} for its id. {ID}")
        values.checked_key(key, f"id of hit {place}", values.DOCUMENT_KEY_LENGTH)
        title, text, url = (_text(hit, path) for path in (self.title, self.text, self.url))
        return Hit(key, self._score(hit, place), title, text, url)

    def _score(self, hit: Any, place: int) -> float | None:
        """The score; None if the engine returns none, as when it sorts by another field."""
        score = _at(hit, self.score)
        if score is _NOTHING:
            return None
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise ValueError(f"hit {place} has {values.quoted(score)} at {self.score}, which is not a score")
        return float(score)


def _filled(template: Any, parameters: Mapping[str, str | int]) -> Any:
    """The template with its placeholders filled. A text that is only {depth} becomes the number."""
    if isinstance(template, dict):
        return {name: _filled(value, parameters) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, parameters) for value in template]
    if not isinstance(template, str):
        return template
    if (only := re.fullmatch(r"\{(\w+)\}", template)) and only[1] in parameters:
        return parameters[only[1]]
    return re.sub(r"\{(\w+)\}", lambda match: str(parameters.get(match[1], match[0])), template)


def _at(value: Any, paths: str) -> Any:
    """The value at the first path that exists; _NOTHING if none does."""
    for path in paths.split("|"):
        inner = value
        for step in path.split("."):
            if isinstance(inner, dict):
                inner = inner.get(step, _NOTHING)
            elif isinstance(inner, list) and step.isdecimal() and int(step) < len(inner):
                inner = inner[int(step)]
            elif isinstance(inner, list) and step.endswith(":") and step[:-1].isdecimal():
                inner = inner[int(step[:-1]) :]
            else:
                inner = _NOTHING
        if inner is not _NOTHING and inner is not None:
            return inner
    return _NOTHING


def _text(hit: Any, path: str) -> str:
    """The text at a path, or several joined by newlines; "" for a value that is not a text."""
    value = _at(hit, path) if path else ""
    texts = value if isinstance(value, list) else [value]
    return "\n".join(text for text in texts if isinstance(text, str))

"""What is sent to an engine for a query, and where its answer has what we need. Pure: no socket, no database."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ..formats import strict_json, values

_NOTHING = object()


class Hit(NamedTuple):
    document: str
    score: float | None
    title: str
    body: str
    url: str


@dataclass(frozen=True)
class Shape:
    """How one kind of engine is asked, and its answer read.

    In `body` and `parameters` {query}, {need}, {key} and {depth} stand for what is asked. Paths are names and
    places with dots between them; of several with | between them the first that is there counts.
    """

    hits: str
    id: str
    score: str = ""
    title: str = ""
    text: str = ""
    url: str = ""
    body: Any = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    count: str = ""  # where an answer without hits, which then leaves their list out, has 0
    partial: tuple[str, ...] = ()  # what is true, or there, only in an answer that is not whole

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    def target(self, path: str, query: str, asked: Mapping[str, str | int]) -> str:
        """The path of a request with its parameters, after those that the URL has already."""
        own = urlencode({name: _filled(value, asked) for name, value in self.parameters.items()})
        joined = "&".join(filter(None, [query, own]))
        return f"{path}?{joined}" if joined else path

    def content(self, asked: Mapping[str, str | int]) -> bytes | None:
        return None if self.body is None else json.dumps(_filled(self.body, asked)).encode()

    def read(self, answer: bytes, depth: int) -> list[Hit]:
        """The first `depth` hits. Raises ValueError that says where the answer is not as it should be."""
        try:
            document = strict_json.loaded(answer.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ValueError(f"the answer is not UTF-8 at byte {error.start + 1}") from error
        except ValueError as error:
            raise ValueError(str(error).replace("the line is", "the answer is")) from error
        for path in self.partial:
            if (found := _at(document, path)) is not _NOTHING and found:
                said = values.shown(found)
                raise ValueError(f"the answer is not whole: {path} is {said}. Ask again when the engine is well")
        hits = _at(document, self.hits)
        if hits is _NOTHING and self.count and _at(document, self.count) == 0:
            return []
        if hits is _NOTHING:
            names = ", ".join(map(repr, list(document)[:6])) or "nothing"
            raise ValueError(f"the answer has nothing at {self.hits}; it has {names}. Say where with --hits")
        if not isinstance(hits, list):
            raise ValueError(f"at {self.hits} there is {values.shown(hits)} and no list. Say where with --hits")
        return [self._hit(hit, place) for place, hit in enumerate(hits[:depth], 1)]

    def _hit(self, hit: Any, place: int) -> Hit:
        key = _at(hit, self.id)
        if isinstance(key, int) and not isinstance(key, bool):
            key = str(key)
        if not isinstance(key, str):
            said = "nothing" if key in (_NOTHING, None) else values.shown(key)
            raise ValueError(f"hit {place} has {said} at {self.id} for its id. Say where with --id")
        values.checked_key(key, f"id of hit {place}", values.DOCUMENT_KEY_LENGTH)
        title, text, url = (_text(hit, path) for path in (self.title, self.text, self.url))
        return Hit(key, self._score(hit, place), title, text, url)

    def _score(self, hit: Any, place: int) -> float | None:
        """None where the engine gives none, as where it sorts by something else."""
        score = _at(hit, self.score) if self.score else None
        if score is _NOTHING or score is None:
            return None
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise ValueError(f"hit {place} has {values.shown(score)} at {self.score}, which is no score")
        return float(score)


_match = {"query": {"multi_match": {"query": "{query}", "fields": ["*"], "lenient": True}}, "size": "{depth}"}
_elastic = Shape(
    hits="hits.hits",
    id="_id",
    score="_score",
    title="_source.title",
    text="_source.body|_source.text|_source.content|_source.description",
    url="_source.url",
    body=_match,
    partial=("timed_out", "_shards.failed"),
)
PRESETS = {
    "elasticsearch": _elastic,
    "opensearch": _elastic,
    "solr": Shape(
        hits="response.docs",
        id="id",
        score="score",
        title="title",
        text="body|text|content|description",
        url="url",
        parameters={"q": "{query}", "rows": "{depth}", "fl": "*,score", "wt": "json"},
        partial=("responseHeader.partialResults",),
    ),
    "vespa": Shape(
        hits="root.children",
        id="fields.id|fields.documentid|id",
        score="relevance",
        title="fields.title",
        text="fields.body|fields.text|fields.content",
        url="fields.url",
        body={"yql": "select * from sources * where userQuery()", "query": "{query}", "hits": "{depth}"},
        count="root.fields.totalCount",
        partial=("root.errors", "root.coverage.degraded"),
    ),
}


def _filled(template: Any, asked: Mapping[str, str | int]) -> Any:
    """The template with what is asked in its texts. A text that is nothing but {depth} becomes the number."""
    if isinstance(template, dict):
        return {name: _filled(value, asked) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, asked) for value in template]
    if not isinstance(template, str):
        return template
    for name, value in asked.items():
        if template == f"{{{name}}}":
            return value
    return "".join(_pieces(template, asked))


def _pieces(template: str, asked: Mapping[str, str | int]) -> Iterator[str]:
    """One pass, so that a query in which {depth} stands is sent as it is."""
    at = 0
    while (start := template.find("{", at)) >= 0:
        end = template.find("}", start)
        name = template[start + 1 : end] if end > 0 else ""
        yield template[at:start]
        yield str(asked[name]) if name in asked else "{"
        at = end + 1 if name in asked else start + 1
    yield template[at:]


def _at(value: Any, paths: str) -> Any:
    """What stands at the first of the paths that leads somewhere; _NOTHING where none does."""
    for path in paths.split("|"):
        found = value
        for step in path.split("."):
            if isinstance(found, dict):
                found = found.get(step, _NOTHING)
            elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            else:
                found = _NOTHING
        if found is not _NOTHING and found is not None:
            return found
    return _NOTHING


def _text(hit: Any, path: str) -> str:
    """A text, or several one under the other; "" for what is there but is none."""
    found = _at(hit, path) if path else ""
    texts = found if isinstance(found, list) else [found]
    return "\n".join(text for text in texts if isinstance(text, str))

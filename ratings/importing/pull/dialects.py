"""How engines are asked and where their answers have the results: templates and paths. No socket, no database."""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from ...formats import strict_json, values
from ...presentation.proposal import PICTURE_NAME

PLACEHOLDERS_OF_QUERY = ("query", "need", "key")
# The paths that exist, or are true, only in incomplete answers: of Elasticsearch and OpenSearch, Solr, Vespa.
INCOMPLETE = (
    "timed_out",
    "_shards.failed",
    "responseHeader.partialResults",
    "root.errors",
    "root.coverage.degraded",
)
COUNT_OF_VESPA = "root.fields.totalCount"  # of Vespa, which has no list of hits where it is 0
CURE_OF_RESULTS, CURE_OF_ID = "Say where the results are", "Say where its id is"
NOTHING = object()
ADDRESS_NAMES = ("url", "src", "href")  # of the address in an object that stands for a picture


class Hit(NamedTuple):
    """One result. A document without a title, text or link has ""."""

    document: str
    score: float | None
    title: str
    body: str
    url: str
    fields: dict[str, Any]


@dataclass(frozen=True)
class Dialect:
    """The requests and answers of one kind of engine.

    In `body`, and in the address, {query}, {need}, {key} and {depth} are placeholders. A path consists of names
    and list indexes with dots between them; an index with a colon is the list from there on. Of several paths
    with | between them the first that exists counts.
    """

    results: str
    id: str
    score: str = ""
    title: str = ""
    text: str = ""
    link: str = ""
    more: tuple[str, ...] = ()
    body: Any = None  # JSON; None: the request is a GET

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    def content(self, parameters: Mapping[str, str | int]) -> bytes | None:
        return None if self.body is None else json.dumps(_filled(self.body, parameters)).encode()

    def read(self, answer: bytes, depth: int) -> list[Hit]:
        """The first `depth` hits. Raises ValueError that names the place of an unexpected value."""
        content = read_answer(answer)
        for path in INCOMPLETE:
            value = at(content, path)
            if value is not NOTHING and value:  # a complete answer has none there, or false, 0 or []
                problem = f"the answer is incomplete: {path} is {values.quoted(value)}"
                raise ValueError(f"{problem}. Ask again once the engine is in order")
        hits = at(content, self.results)
        if hits is NOTHING and at(content, COUNT_OF_VESPA) == 0:
            return []
        if hits is NOTHING:  # the message tells what the answer has instead: its first six names, or itself
            names = ", ".join(map(repr, list(content)[:6])) if isinstance(content, dict) else ""
            found = f"has {names}" if names else f"is {json.dumps(content):.60}"
            raise ValueError(f"the answer has nothing at {self.results}; it {found}. {CURE_OF_RESULTS}")
        if not isinstance(hits, list):
            found = values.quoted(hits)
            raise ValueError(f"at {self.results} there is {found} and not a list. {CURE_OF_RESULTS}")
        return [self._hit(hit, place) for place, hit in enumerate(hits[:depth], 1)]

    def _hit(self, hit: Any, place: int) -> Hit:
        key = at(hit, self.id)
        if isinstance(key, int) and not isinstance(key, bool):
            key = str(key)
        if not isinstance(key, str):
            shown = "nothing" if key is NOTHING else values.quoted(key)
            raise ValueError(f"hit {place} has {shown} at {self.id} for its id. {CURE_OF_ID}")
        key = values.without_blanks(key)
        values.checked_key(key, f"id of hit {place}", values.DOCUMENT_KEY_LENGTH)
        title, text, link = (_text(hit, path) for path in (self.title, self.text, self.link))
        return Hit(key, self._score(hit, place), title, text, link, self._fields(hit))

    def _score(self, hit: Any, place: int) -> float | None:
        """The score; None if the engine returns none, as when it sorts by another field."""
        score = at(hit, self.score) if self.score else NOTHING
        if score is NOTHING:
            return None
        if isinstance(score, bool) or not isinstance(score, int | float) or abs(score) > sys.float_info.max:
            raise ValueError(f"hit {place} has {values.quoted(score)} at {self.score}, which is not a score")
        return float(score)

    def _fields(self, hit: Any) -> dict[str, Any]:
        """The values at `more` by `field_name`, without those that the hit lacks."""
        found = {field_name(path): at(hit, path) for path in self.more}
        return {name: value for name, value in found.items() if value is not NOTHING}


MATCH = {"query": {"multi_match": {"query": "{query}", "fields": ["*"], "lenient": True}}, "size": "{depth}"}
ELASTICSEARCH = Dialect(
    results="hits.hits",
    id="_id",
    score="_score",
    title="_source.title|_source.name",
    text="_source.body|_source.text|_source.content|_source.description",
    link="_source.url",
    body=MATCH,
)


class Preset(NamedTuple):
    """What a form proposes for one kind of engine."""

    address: str  # an example
    dialect: Dialect


PRESETS = {
    "elasticsearch": Preset("https://search.example.org:9200/shop/_search", ELASTICSEARCH),
    "opensearch": Preset("https://search.example.org:9200/shop/_search", ELASTICSEARCH),
    "solr": Preset(
        "https://search.example.org/solr/shop/select?q={query}&rows={depth}&fl=*,score&wt=json",
        Dialect("response.docs", "id", "score", "title|name", "body|text|content|description", "url"),
    ),
    "vespa": Preset(
        "https://search.example.org/search/",
        Dialect(
            results="root.children",
            id="fields.documentid|id",
            score="relevance",
            title="fields.title",
            text="fields.body|fields.text|fields.description",
            link="fields.url",
            body={"yql": "select * from sources * where userQuery()", "query": "{query}", "hits": "{depth}"},
        ),
    ),
    "algolia": Preset(
        "https://application-dsn.algolia.net/1/indexes/shop/query",
        Dialect(
            results="hits",
            id="objectID",
            title="title|name",
            text="description|content|body",
            link="url",
            body={"query": "{query}", "hitsPerPage": "{depth}"},
        ),
    ),
    "json": Preset("https://search.example.org/search?q={query}&limit={depth}", Dialect("results", "id")),
}


def target(path: str, query: str, parameters: Mapping[str, str | int]) -> str:
    """The path and query of an address with their placeholders filled, each value with its % signs."""
    quoted = {name: quote(str(value), safe="") for name, value in parameters.items()}
    template = f"{path}?{query}" if query else path
    return re.sub(r"\{(\w+)\}", lambda match: quoted.get(match[1], match[0]), template)


def read_answer(answer: bytes) -> Any:
    """The JSON of an answer. Raises ValueError that names the byte."""
    try:
        return strict_json.value_in(answer.decode("utf-8-sig"), what="answer")
    except UnicodeDecodeError as error:
        raise ValueError(f"the answer is not UTF-8 at byte {error.start + 1}") from error


def at(value: Any, paths: str) -> Any:
    """The value at the first path that exists and is not null; NOTHING if none does.

    `paths`: with | between them, such as `hits.0.title|name`. Between the dots of a path are names of members and
    indexes of lists. An index with a colon, such as `2:`, leads to the list from there on.
    """
    for path in paths.split("|"):
        inner = value
        for step in path.split("."):
            if isinstance(inner, dict):
                inner = inner.get(step, NOTHING)
            elif isinstance(inner, list) and step.isdecimal() and int(step) < len(inner):
                inner = inner[int(step)]
            elif isinstance(inner, list) and step.endswith(":") and step[:-1].isdecimal():
                inner = inner[int(step[:-1]) :]
            else:
                inner = NOTHING  # and so after each further step
        if inner is not NOTHING and inner is not None:
            return inner
    return NOTHING


def field_name(path: str) -> str:
    """The name of a field with what is at the path: its last name, but image for image.url or image.0.url."""
    names = [name for name in path.split(".") if not name.isdecimal()] or [path]
    is_address = names[-1] in ADDRESS_NAMES and len(names) > 1 and PICTURE_NAME.search(names[-2])
    return names[-2] if is_address else names[-1]


def _filled(template: Any, parameters: Mapping[str, str | int]) -> Any:
    """The template with its placeholders filled.

    template: JSON, of which the texts at any depth are filled. A text that is one placeholder and nothing else,
    such as "{depth}", becomes the parameter itself: the number 10, not "10". Placeholders without a parameter
    stay.
    """
    if isinstance(template, dict):
        return {name: _filled(value, parameters) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, parameters) for value in template]
    if not isinstance(template, str):
        return template
    placeholder = re.fullmatch(r"\{(\w+)\}", template)
    if placeholder and placeholder[1] in parameters:
        return parameters[placeholder[1]]
    return re.sub(r"\{(\w+)\}", lambda match: str(parameters.get(match[1], match[0])), template)


def _text(hit: Any, path: str) -> str:
    """The text at a path, or several joined by newlines; "" for a value that is not a text."""
    value = at(hit, path) if path else ""
    texts = value if isinstance(value, list) else [value]
    return "\n".join(text for text in texts if isinstance(text, str))

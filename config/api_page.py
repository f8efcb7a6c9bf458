"""The page of the API, made on the server from the OpenAPI description: no script, nothing from elsewhere."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

PLAIN = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
PLAIN |= {"object": "object", "null": "null"}
# Values in examples, by the name of a member or parameter.
EXAMPLES = {"slug": "shop", "system": "bm25", "baseline": "bm25", "query": "q17", "document": "doc-93"}
EXAMPLES |= {"documents": "doc-93", "count": 1, "grade": 2, "text": "red shoes", "rater": "Ana"}
SHOWN = {"grade", "count"}  # optional members that examples show
WHERE = {"path": ", in the path", "header": ", a header", "query": ""}
TITLES = {"evaluation": "Read numbers", "import": "Bring", "record": "Read the record", "rating": "Rate"}


@dataclass(frozen=True)
class Member:
    """A parameter, or a member of a body."""

    name: str
    kind: str
    said: SafeString
    must: bool


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    anchor: str
    title: str
    said: SafeString
    scope: str
    parameters: list[Member]
    body: list[Member]
    answer: list[Member]
    status: int
    problems: list[int]
    curl: str


def groups(description: dict, site: str) -> list[tuple[str, list[Call]]]:
    """The calls under the headings of their tags. `site`: where the API is, for the examples."""
    names = [tag["name"] for tag in description["tags"]]
    found: dict[str, list[Call]] = {name: [] for name in names}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            found[operation["tags"][0]].append(call(description, site, method.upper(), path, operation))
    return [
        (TITLES[name], sorted(calls, key=lambda each: (each.path, each.method))) for name, calls in found.items()
    ]


def call(description: dict, site: str, method: str, path: str, operation: dict) -> Call:
    schemas = Schemas(description["components"]["schemas"])
    body = schema_in(operation.get("requestBody", {}))
    statuses = {int(status): answer for status, answer in operation["responses"].items()}
    good = min(statuses)
    parameters = [
        Member(
            each["name"],
            schemas.kind(each["schema"]) + WHERE[each["in"]],
            marked(each.get("description", "")),
            each["required"],
        )
        for each in operation["parameters"]
    ]
    return Call(
        method=method,
        path=path,
        anchor=operation["operationId"],
        title=operation["summary"],
        said=marked(" ".join(operation.get("description", "").split())),
        scope=scope_of(operation),
        parameters=parameters,
        body=list(schemas.members(body)) if body else [],
        answer=list(schemas.members(schema_in(statuses[good]))),
        status=good,
        problems=sorted(status for status in statuses if status != good),
        curl=curl(site, method, path, operation, schemas.example(body) if body else None),
    )


def problems(description: dict) -> list[tuple[int, str]]:
    """The description of each error status, which is the same for every call."""
    found = {
        int(status): answer["description"]
        for methods in description["paths"].values()
        for operation in methods.values()
        for status, answer in operation["responses"].items()
        if int(status) >= 400
    }
    return sorted(found.items())


def scope_of(operation: dict) -> str:
    ways = operation.get("security", [])
    return next((scope for way in ways for scopes in way.values() for scope in scopes), "")


def marked(text: str) -> SafeString:
    """Returns the text as HTML, with the parts between backticks as <code>."""
    pieces = ((["span", "code"][place % 2], piece) for place, piece in enumerate(text.split("`")) if piece)
    return format_html_join("", "<{0}>{1}</{0}>", pieces)


def schema_in(message: dict) -> dict:
    """The schema of a body or an answer, {} where it has none."""
    return next((content.get("schema", {}) for content in message.get("content", {}).values()), {})


def curl(site: str, method: str, path: str, operation: dict, body: Any) -> str:
    """The call as a shell command, with required parameters only."""
    where = re.sub(r"\{(\w+)\}", lambda found: str(EXAMPLES.get(found[1], found[1])), path)
    asked = {
        each["name"]: EXAMPLES.get(each["name"], each["name"])
        for each in operation["parameters"]
        if each["in"] == "query" and each["required"]
    }
    lines = ['curl -sS --fail-with-body -H "Authorization: Bearer $TOKEN"']
    if body is not None:
        lines += ['-H "Content-Type: application/json"', f"--data {shlex.quote(json.dumps(body))}"]
    lines += [shlex.quote(site + where + ("?" + urlencode(asked) if asked else ""))]
    return " \\\n  ".join(lines)


class Schemas:
    """JSON schemas as text, and examples of them."""

    def __init__(self, named: dict) -> None:
        self.named = named

    def known(self, schema: dict) -> dict:
        """The schema, with a reference followed."""
        return self.named[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def kind(self, schema: dict) -> str:
        """The type and its limits as text, such as “list of text, 1 to 100”."""
        schema = self.known(schema)
        if ways := schema.get("anyOf") or schema.get("oneOf"):
            return " or ".join(dict.fromkeys(self.kind(way) for way in ways))
        if "enum" in schema or "const" in schema:
            return ", ".join(str(each) for each in schema.get("enum", [schema.get("const")]))
        sort = schema.get("type", "anything")
        if sort == "array":
            words = f"list of {self.kind(schema.get('items', {}))}"
            return words + between(schema.get("minItems"), schema.get("maxItems"))
        words = {"uuid": "UUID", "date-time": "time"}.get(schema.get("format", ""), PLAIN.get(sort, sort))
        if sort == "string" and schema.get("maxLength"):
            words += between(schema.get("minLength"), schema["maxLength"]) + " characters"
        elif sort in ("integer", "number"):
            words += between(schema.get("minimum"), schema.get("maximum"))
        if (usual := schema.get("default")) not in (None, "", [], {}):
            words += f"; {json.dumps(usual, ensure_ascii=False)} if left out"
        return words

    def members(self, schema: dict, above: str = "") -> Iterator[Member]:
        """All members, nested ones too, with their path as name, such as rankings[].query."""
        schema = self.known(schema)
        for way in schema.get("anyOf", []):
            yield from self.members(way, above)
        if schema.get("type") == "array":
            yield from self.members(schema.get("items", {}), above + "[]")
        for name, inner in schema.get("properties", {}).items():
            way = f"{above}.{name}" if above else name
            must = name in schema.get("required", [])
            yield Member(way, self.kind(inner), marked(self.known(inner).get("description", "")), must)
            yield from self.members(inner, way)

    def example(self, schema: dict, name: str = "") -> Any:
        """A value that fits: of an object the required members and those in SHOWN."""
        schema = self.known(schema)
        if ways := schema.get("anyOf"):
            return self.example(ways[0], name)
        if "enum" in schema:
            return schema["enum"][0]
        sort = schema.get("type")
        if sort == "object":
            inner = schema.get("properties", {})
            shown = [each for each in inner if each in schema.get("required", []) or each in SHOWN]
            return {each: self.example(inner[each], each) for each in shown}
        if sort == "array":
            return [self.example(schema.get("items", {}), name)]
        if schema.get("format") == "uuid":
            return "6f1c2a30-5b7e-4d0f-9c1e-2a7b8d4e9f10"
        if name in EXAMPLES:
            return EXAMPLES[name]
        return schema.get("minimum", 1) if sort in ("integer", "number") else sort == "boolean" or name


def between(least: float | None, most: float | None) -> str:
    """The range as text, such as “, 1 to 200”."""
    if most is None:
        return f", {least:,.0f} or more" if least else ""
    return f", {least:,.0f} to {most:,.0f}" if least else f", up to {most:,.0f}"

"""The page of the API, made from the OpenAPI description on the server, so that it needs no script."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

TYPE_NAMES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
TYPE_NAMES |= {"object": "object", "null": "null"}
# Values in examples, by the name of the member or parameter.
EXAMPLES = {"slug": "shop", "system": "bm25", "baseline": "bm25", "query": "q17", "document": "doc-93"}
EXAMPLES |= {"documents": "doc-93", "count": 1, "grade": 2, "text": "red shoes", "rater": "Ana"}
EXAMPLE_MEMBERS = {"grade", "count"}  # optional members that examples show
LOCATIONS = {"path": ", in the path", "header": ", a header", "query": ""}
TAG_TITLES = {"evaluation": "Read numbers", "import": "Bring", "record": "Read the record", "rating": "Rate"}


@dataclass(frozen=True)
class Member:
    """A parameter of a call, or a member of its body or response."""

    name: str
    type: str
    description: SafeString
    required: bool


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    anchor: str
    title: str
    description: SafeString
    scope: str
    parameters: list[Member]
    body: list[Member]
    response: list[Member]
    status: int
    problems: list[int]
    curl: str


def groups(description: dict, site: str) -> list[tuple[str, list[Call]]]:
    """(heading, calls) of each tag. `site`: the origin that examples have, such as https://example.org."""
    names = [tag["name"] for tag in description["tags"]]
    calls_by_tag: dict[str, list[Call]] = {name: [] for name in names}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            calls_by_tag[operation["tags"][0]].append(call(description, site, method.upper(), path, operation))
    return [
        (TAG_TITLES[name], sorted(calls, key=lambda each: (each.path, each.method)))
        for name, calls in calls_by_tag.items()
    ]


def call(description: dict, site: str, method: str, path: str, operation: dict) -> Call:
    """A call of the API as the page shows it. `operation`: its entry in the OpenAPI `description`."""
    schemas = Schemas(description["components"]["schemas"])
    body = schema_in(operation.get("requestBody", {}))
    statuses = {int(status): response for status, response in operation["responses"].items()}
    success = min(statuses)
    parameters = [
        Member(
            each["name"],
            schemas.type_text(each["schema"]) + LOCATIONS[each["in"]],
            with_code(each.get("description", "")),
            each["required"],
        )
        for each in operation["parameters"]
    ]
    return Call(
        method=method,
        path=path,
        anchor=operation["operationId"],
        title=operation["summary"],
        description=with_code(" ".join(operation.get("description", "").split())),
        scope=scope_of(operation),
        parameters=parameters,
        body=list(schemas.members(body)) if body else [],
        response=list(schemas.members(schema_in(statuses[success]))),
        status=success,
        problems=sorted(status for status in statuses if status != success),
        curl=curl(site, method, path, operation, schemas.example(body) if body else None),
    )


def problems(description: dict) -> list[tuple[int, str]]:
    """(status, description) of each error status, sorted. A status has the same description for every call."""
    descriptions = {
        int(status): response["description"]
        for methods in description["paths"].values()
        for operation in methods.values()
        for status, response in operation["responses"].items()
        if int(status) >= 400
    }
    return sorted(descriptions.items())


def scope_of(operation: dict) -> str:
    """The scope that a call needs, or "" where any token is enough."""
    schemes = (scopes for security in operation.get("security", []) for scopes in security.values())
    return next((scope for scopes in schemes for scope in scopes), "")


def with_code(text: str) -> SafeString:
    """The text as HTML, with the parts between backticks as <code>."""
    parts = ((["span", "code"][place % 2], piece) for place, piece in enumerate(text.split("`")) if piece)
    return format_html_join("", "<{0}>{1}</{0}>", parts)


def schema_in(message: dict) -> dict:
    """The schema of a body or response, {} where it has none."""
    return next((content.get("schema", {}) for content in message.get("content", {}).values()), {})


def curl(site: str, method: str, path: str, operation: dict, body: Any) -> str:
    """The call as a shell command, with required parameters only."""
    url_path = re.sub(r"\{(\w+)\}", lambda match: str(EXAMPLES.get(match[1], match[1])), path)
    query = {
        each["name"]: EXAMPLES.get(each["name"], each["name"])
        for each in operation["parameters"]
        if each["in"] == "query" and each["required"]
    }
    lines = ['curl -sS --fail-with-body -H "Authorization: Bearer $TOKEN"']
    if body is not None:
        lines += ['-H "Content-Type: application/json"', f"--data {shlex.quote(json.dumps(body))}"]
    lines += [shlex.quote(site + url_path + ("?" + urlencode(query) if query else ""))]
    return " \\\n  ".join(lines)


class Schemas:
    """Describes JSON schemas in text, and makes examples of them."""

    def __init__(self, named: dict) -> None:
        self.named = named

    def resolved(self, schema: dict) -> dict:
        """The schema, or the one that it refers to."""
        return self.named[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def type_text(self, schema: dict) -> str:
        """The type and its limits as text, such as “list of text, 1 to 100”."""
        schema = self.resolved(schema)
        if alternatives := schema.get("anyOf") or schema.get("oneOf"):
            return " or ".join(dict.fromkeys(self.type_text(alternative) for alternative in alternatives))
        if "enum" in schema or "const" in schema:
            return ", ".join(str(each) for each in schema.get("enum", [schema.get("const")]))
        type_name = schema.get("type", "anything")
        if type_name == "array":
            text = f"list of {self.type_text(schema.get('items', {}))}"
            return text + range_text(schema.get("minItems"), schema.get("maxItems"))
        formats = {"uuid": "UUID", "date-time": "time"}
        text = formats.get(schema.get("format", ""), TYPE_NAMES.get(type_name, type_name))
        if type_name == "string" and schema.get("maxLength"):
            text += range_text(schema.get("minLength"), schema["maxLength"]) + " characters"
        elif type_name in ("integer", "number"):
            text += range_text(schema.get("minimum"), schema.get("maximum"))
        if (default := schema.get("default")) not in (None, "", [], {}):
            text += f"; {json.dumps(default, ensure_ascii=False)} if left out"
        return text

    def members(self, schema: dict, parent: str = "") -> Iterator[Member]:
        """Yields all members, nested ones too. The name of a member is its path, such as rankings[].query."""
        schema = self.resolved(schema)
        for alternative in schema.get("anyOf", []):
            yield from self.members(alternative, parent)
        if schema.get("type") == "array":
            yield from self.members(schema.get("items", {}), parent + "[]")
        for name, member_schema in schema.get("properties", {}).items():
            path = f"{parent}.{name}" if parent else name
            description = with_code(self.resolved(member_schema).get("description", ""))
            required = name in schema.get("required", [])
            yield Member(path, self.type_text(member_schema), description, required)
            yield from self.members(member_schema, path)

    def example(self, schema: dict, name: str = "") -> Any:
        """A value that fits the schema. An object has the required members and those in EXAMPLE_MEMBERS."""
        schema = self.resolved(schema)
        if alternatives := schema.get("anyOf"):
            return self.example(alternatives[0], name)
        if "enum" in schema:
            return schema["enum"][0]
        type_name = schema.get("type")
        if type_name == "object":
            properties, required = schema.get("properties", {}), schema.get("required", [])
            names = [each for each in properties if each in required or each in EXAMPLE_MEMBERS]
            return {each: self.example(properties[each], each) for each in names}
        if type_name == "array":
            return [self.example(schema.get("items", {}), name)]
        if schema.get("format") == "uuid":
            return "6f1c2a30-5b7e-4d0f-9c1e-2a7b8d4e9f10"
        if name in EXAMPLES:
            return EXAMPLES[name]
        return schema.get("minimum", 1) if type_name in ("integer", "number") else type_name == "boolean" or name


def range_text(minimum: float | None, maximum: float | None) -> str:
    """The range as text, such as “, 1 to 200”; "" where there is none."""
    if maximum is None:
        return f", {minimum:,.0f} or more" if minimum else ""
    return f", {minimum:,.0f} to {maximum:,.0f}" if minimum else f", up to {maximum:,.0f}"

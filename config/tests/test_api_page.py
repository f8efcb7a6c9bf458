"""The page of the API and its description: who sees them, and that all of it is there."""

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from config.api import ROOT, openapi_schema
from evaluation.judgments.rules import ADJUDICATIONS, RULES
from evaluation.measures import PROFILES
from evaluation.measures.options import CHOICES
from ratings.models import ApiToken, Role, Scope

from .test_api_access import PARAMS, TABLE, built

__all__ = ["built"]

pytestmark = pytest.mark.django_db

DOCS, DESCRIPTION = "/api/v1/docs", "/api/v1/openapi.json"
OPERATIONS = {
    (method, path.removeprefix(ROOT.rstrip("/"))): told
    for path, methods in openapi_schema(ROOT)["paths"].items()
    for method, told in methods.items()
}


@pytest.fixture
def member(world) -> Client:
    client = Client()
    client.force_login(world.collection.memberships.get(role=Role.ANALYST).user)
    return client


def test_strangers_are_sent_to_sign_in():
    asked = Client().get(DOCS)
    assert (asked.status_code, asked.url) == (302, reverse("sign_in") + "?next=" + DOCS)
    refused = Client().get(DESCRIPTION)
    assert (refused.status_code, refused["Content-Type"]) == (401, "application/problem+json")


def test_a_program_gets_the_description_with_a_token(world):
    assert world.callers["analyst"].get("/openapi.json").json()["openapi"].startswith("3.")
    wrong = Client(headers={"authorization": "Bearer idl_wrong"})
    assert wrong.get(DESCRIPTION).status_code == 401


def test_every_call_is_described():
    assert len(OPERATIONS) == len(TABLE)


def example(schema: dict, name: str = ""):
    """A value that fits the schema. A rating has a grade."""
    if "$ref" in schema:
        schema = openapi_schema(ROOT)["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return example(schema["anyOf"][0], name)
    if schema.get("type") == "object":
        names = [each for each in schema["properties"] if each in schema.get("required", []) or each == "grade"]
        return {each: example(schema["properties"][each], each) for each in names}
    if schema.get("type") == "array":
        return [example(schema["items"], name)]
    if "enum" in schema or schema.get("format") == "uuid":
        return schema.get("enum", [str(uuid4())])[0]
    return 1 if schema.get("type") in ("integer", "number") else name


def test_every_call_has_the_name_of_a_method_in_a_generated_client():
    """A name never changes: programs call it."""
    names = [told["operationId"] for told in OPERATIONS.values()]
    assert sorted(names) == sorted(set(names)) == [
        "add_night", "change_watch", "compare", "evaluate", "evaluate_machine_only", "gate_release", "gate_run",
        "get_collection", "get_fetch", "get_picture", "get_tasks", "get_token", "get_watch", "import_documents",
        "import_queries", "import_rankings", "import_ratings", "list_collections", "list_documents",
        "list_drawn_pairs", "list_engines", "list_judgments", "list_my_ratings", "list_queries", "list_ratings",
        "list_sampled_queries", "list_samples", "list_systems", "list_unjudged", "list_watches",
        "make_collection", "make_watch", "remove_watch", "save_my_ratings", "start_fetch",
    ]  # fmt: skip


def test_parameters_of_known_words_list_them(member):
    told = {
        each["name"]: each["schema"] for each in OPERATIONS["get", "/collections/{slug}/evaluation"]["parameters"]
    }
    listed = {name: schema.get("anyOf", [schema])[0].get("enum") for name, schema in told.items()}
    assert {name: words for name, words in listed.items() if words} == {
        **{name: list(words) for name, words in CHOICES.items() if name not in ("gain", "unjudged")},
        "rule": list(RULES), "adjudications": list(ADJUDICATIONS), "profile": list(PROFILES),
    }  # fmt: skip


def test_the_description_says_where_the_api_is(member):
    assert member.get(DESCRIPTION).json()["servers"] == [{"url": "http://testserver"}]


@pytest.mark.parametrize(("method", "path"), TABLE)
def test_the_scope_that_is_told_is_the_one_that_is_needed(world, method, path):
    """With all but this scope a token is refused for its lack; where none is told any token will do."""
    ((_, told),) = OPERATIONS[method, path]["security"][0].items()
    caller = world.callers["rater" if told == ["rate"] else "site"]
    ApiToken.objects.update(scopes=[scope for scope in Scope.values if scope not in told])
    address = path.format(slug=world.collection.slug, token=uuid4(), size="small", fetch=1, watch=1)
    if method == "get":
        answer = caller.get(address, **PARAMS.get(path.rpartition("/")[2], {}))
    elif method == "delete":
        answer = caller.delete(address)
    else:
        [(media_type, content)] = OPERATIONS[method, path]["requestBody"]["content"].items()
        is_text = media_type == "text/plain"
        body = "a run" if is_text else example(content["schema"])
        answer = getattr(caller, method)(f"{address}?release=sent" if is_text else address, body)
    lacks = answer.status_code == 403 and answer.json()["type"].endswith(":scope")
    assert lacks is bool(told)


def test_the_page_is_that_of_ninja_with_files_of_this_server(member):
    page = member.get(DOCS)
    sources = re.findall(r'(?:src|href)="([^"]+)"', page.content.decode())
    assert len(sources) == 5 and all(source.startswith("/static/ninja/") for source in sources)
    assert f'"url": "{DESCRIPTION}"' in page.content.decode()
    assert "connect-src 'self'" in page["Content-Security-Policy"]

"""The page of the API and its description: who sees them, that all of it is there, and that the examples fit."""

import json
import re
import shlex
from html import unescape
from uuid import uuid4

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from config.api import ROOT, openapi_schema
from config.api_page import Schemas, groups, schema_in
from ratings.models import ApiToken, Scope
from ratings.tests.calls import make_caller
from ratings.tests.cast import make_collection, make_member, make_user

from .test_api_access import PARAMS, TABLE, World

pytestmark = pytest.mark.django_db

DOCS, DESCRIPTION = "/api/v1/docs", "/api/v1/openapi.json"
OPERATIONS = {
    (method, path.removeprefix(ROOT.rstrip("/"))): told
    for path, methods in openapi_schema(ROOT)["paths"].items()
    for method, told in methods.items()
}


@pytest.fixture
def member() -> Client:
    client = Client()
    client.force_login(make_member(make_collection(), "ana", "analyst"))
    return client


def test_strangers_are_sent_to_sign_in_unless_the_operator_says_otherwise(settings):
    asked = Client().get(DOCS)
    assert (asked.status_code, asked.url) == (302, reverse("sign_in") + "?next=" + DOCS)
    refused = Client().get(DESCRIPTION)
    assert (refused.status_code, refused["Content-Type"]) == (401, "application/problem+json")
    settings.OPEN_API_DOCS = True
    assert Client().get(DOCS).status_code == Client().get(DESCRIPTION).status_code == 200


def test_a_program_gets_the_description_with_a_token():
    collection = make_collection()
    caller = make_caller(make_member(collection, "ana", "analyst"), collection, "read")
    assert caller.get("/openapi.json").json()["openapi"].startswith("3.")
    wrong = Client(headers={"authorization": "Bearer idl_wrong"})
    assert wrong.get(DESCRIPTION).status_code == 401


def test_every_call_is_on_the_page_with_all_that_it_takes_and_answers(member):
    page = unescape(member.get(DOCS).content.decode())
    assert "<script" not in page
    shown = re.findall(r'id="(\w+)">\s*<h2>', page)
    assert sorted(shown[: len(OPERATIONS)]) == sorted(told["operationId"] for told in OPERATIONS.values())
    for (method, path), told in OPERATIONS.items():
        section = page.partition(f'id="{told["operationId"]}"')[2].partition("</section>")[0]
        assert f"<b>{method.upper()}</b> {ROOT.rstrip('/')}{path}<" in section
        assert all(f"<code>{each['name']}</code>" in section for each in told["parameters"])
        for message in (told.get("requestBody", {}), *told["responses"].values()):
            schema = Schemas(openapi_schema(ROOT)["components"]["schemas"]).resolved(schema_in(message))
            if schema.get("title") != "ProblemDocument":
                assert all(f"<code>{name}</code>" in section for name in schema.get("properties", {}))
        assert all(f'href="#problem-{status}"' in section for status in told["responses"] if int(status) >= 400)


def test_the_examples_are_what_the_description_allows():
    import jsonschema  # takes two seconds, which every part of the tests would pay that reads this file

    description = openapi_schema(ROOT)
    calls = [each for _, group in groups(description, "https://ratings.example.org") for each in group]
    assert len(calls) == len(OPERATIONS) == len(TABLE)
    for each in calls:
        words = shlex.split(each.curl.replace("\\\n", ""))
        assert words[-1].startswith("https://ratings.example.org/api/v1/") and "{" not in words[-1]
        if each.body:
            told = OPERATIONS[each.method.lower(), each.path.removeprefix(ROOT.rstrip("/"))]
            schema = schema_in(told["requestBody"]) | {"components": description["components"]}
            jsonschema.validate(json.loads(words[words.index("--data") + 1]), schema)


@pytest.mark.parametrize(("method", "path"), TABLE)
def test_the_scope_that_is_told_is_the_one_that_is_needed(method, path):
    """With all but this scope a token is refused for its lack; where none is told any token will do."""
    ((_, told),) = OPERATIONS[method, path]["security"][0].items()
    world, of_rater = World(), told == ["rate"]
    owner = world.rater.user if of_rater else make_user("root", is_superuser=True)
    caller = make_caller(owner, world.collection if of_rater else None, "rate" if of_rater else "read")
    ApiToken.objects.update(scopes=[scope for scope in Scope.values if scope not in told])
    address = path.format(slug=world.collection.slug, token=uuid4(), size="small")
    if method == "get":
        answer = caller.get(address, **PARAMS.get(path.rpartition("/")[2], {}))
    else:
        schema = schema_in(OPERATIONS[method, path]["requestBody"])
        answer = caller.post(address, Schemas(openapi_schema(ROOT)["components"]["schemas"]).example(schema))
    lacks = answer.status_code == 403 and answer.json()["type"].endswith(":scope")
    assert lacks is bool(told)


def test_no_script_of_the_library_is_served():
    assert finders.find("ninja/swagger-ui-bundle.js") is None

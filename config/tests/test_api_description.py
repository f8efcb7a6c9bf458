"""The description of the API keeps its word: schemathesis makes calls of it, valid and not, and reads the answers.

IDEALIST_API_CASES says how many of either kind for each call that reads; the suite makes a few. Of those with a
body, which take a hundred times as long to make, there are a quarter.
"""

import os
import zlib
from collections import Counter

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from config.api import openapi_schema
from config.wsgi import application
from ratings.desk import queue
from ratings.models import Role
from ratings.people import throttle
from ratings.tests.calls import ROOT, make_caller
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_ranking, make_rater, make_user

from .test_api_access import TABLE

# One database shows as much as two: what depends on it has tests of its own.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CASES = int(os.environ.get("IDEALIST_API_CASES", "2"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
NOBODY = 401


@pytest.fixture(autouse=True)
def one_connection():
    """The server closes connections between requests. That of the test must stay open, as with Django's client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def keys(monkeypatch) -> dict[str, str]:
    """The key that may make a call, by the last part of its path; "" for all others."""
    monkeypatch.setattr(throttle, "allows_call", lambda *args: True)
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "abcd")
    make_ranking(collection, "dense", "q1", "dcba")
    rater = make_rater(collection, "rater")
    pair = make_pair(collection, "q1", "a", wanted=3)
    queue.save(rater, pair, queue.Submission(grade=grade(collection, "2")))
    make_member(collection, "admin", Role.ADMIN)
    site = make_caller(make_user("root", is_superuser=True), None, "read", "import", "manage")
    own = make_caller(rater.user, collection, "rate")
    return {"": site.key, "tasks": own.key, "my-ratings": own.key}


def chance(of: object) -> int:
    """0 to 99, the same in every run."""
    return zlib.crc32(repr(of).encode("utf-8", "replace")) % 100


def known(case):
    """Of ten calls nine ask for what is there: names that are made up are rightly never found."""
    if case.path_parameters and "slug" in case.path_parameters and chance((case.body, case.query)) < 90:
        case.path_parameters["slug"] = "hills"
    for name in ("system", "baseline"):
        if isinstance(case.query, dict) and name in case.query and chance(case.query) < 67:
            case.query[name] = "bm25"
    return case


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize(("method", "path"), TABLE)
def test_the_answers_are_as_described(keys, method, path, mode):
    load_all_checks()
    schema = schemathesis.openapi.from_dict(openapi_schema(f"{ROOT}/"))
    schema.app = application
    operation, key = schema[f"{ROOT}{path}"][method], keys.get(path.rpartition("/")[2], keys[""])
    if mode == GenerationMode.NEGATIVE and path in ("/token",):
        return  # it takes nothing that could be wrong
    seen = Counter()

    @settings(
        max_examples=CASES if method == "get" else max(1, CASES // 4),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=mode).map(known))
    def conforms(case):
        headers = {name: value for name, value in (case.headers or {}).items() if name != "Authorization"}
        case.headers = headers | {
            "Authorization": f"Bearer {key}",
            "Host": "localhost",
            "Accept-Encoding": "identity",
        }
        answer = case.call()
        seen[answer.status_code] += 1
        assert answer.status_code != NOBODY
        checks = CHECKS + [negative_data_rejection] * (mode == GenerationMode.NEGATIVE)
        case.validate_response(answer, checks=checks)

    conforms()
    print("cases", method, path, mode.value, sum(seen.values()), dict(seen))

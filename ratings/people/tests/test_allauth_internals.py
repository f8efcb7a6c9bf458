"""What is used of allauth beyond its public names does what sign-in needs of it."""

import re
from pathlib import Path

import pytest
from allauth.account.authentication import get_authentication_records
from allauth.account.models import Login
from allauth.account.stages import LoginStageController
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.test import RequestFactory

from ratings.people import allauth_internals
from ratings.people.sign_in.second_factor import Stage
from ratings.tests.cast import make_user

# Nothing here depends on which database it is.
pytestmark = pytest.mark.django_db


@pytest.fixture
def request_of_anna():
    request = RequestFactory().get("/")
    request.session, request.user = SessionStore(), AnonymousUser()
    return request


def test_a_record_says_how_and_for_whom(request_of_anna):
    anna, boris = make_user("anna"), make_user("boris")
    allauth_internals.record_authentication(request_of_anna, anna, "link", reauthenticated=True)
    [record] = get_authentication_records(request_of_anna, anna)
    assert (record["method"], record["reauthenticated"], type(record["at"])) == ("link", True, float)
    assert get_authentication_records(request_of_anna, boris) == []


def test_a_sign_in_that_was_not_finished_is_cleared_with_its_records(request_of_anna):
    anna = make_user("anna")
    allauth_internals.record_authentication(request_of_anna, anna, "password")
    login = Login(user=anna)
    LoginStageController(request_of_anna, login).set_current(Stage.key)
    request_of_anna.session["account_login"] = login.serialize()
    assert LoginStageController.enter(request_of_anna, Stage.key)
    allauth_internals.clear_login(request_of_anna)
    assert LoginStageController.enter(request_of_anna, Stage.key) is None
    assert get_authentication_records(request_of_anna, anna) == []


def test_a_count_that_is_given_back_makes_room():
    def count():
        facts = {"app": "test", "action": "try", "config": {"try": "2/60s/key"}, "limit_get": True, "key": "anna"}
        return allauth_internals.consume(None, **facts)

    first, _, third = count(), count(), count()
    assert third is None
    first.rollback()
    assert count() and not count()


def test_only_one_module_uses_names_that_are_not_public():
    root = Path(__file__).parents[3]
    files = [file for app in ("config", "evaluation", "ratings") for file in (root / app).rglob("*.py")]
    uses = re.compile(r"^\s*(from|import) allauth\.[\w.]*internal", re.MULTILINE)
    found = {file.name for file in files if "tests" not in file.parts and uses.search(file.read_text())}
    assert found == {"allauth_internals.py"}

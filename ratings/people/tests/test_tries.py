"""Tries to sign in: what the audit and the log have of those that succeed and of those that do not."""

import logging

import pytest
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse

from ratings.models.audit import AuditEvent
from ratings.people import throttle
from ratings.people.audit import Act
from ratings.tests import clocks
from ratings.tests.cast import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

RIGHT = "a pass phrase"


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    return clocks.stopped(monkeypatch, 4_000_000)


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.WARNING, "idealist.sign_in")
    return caplog


def sign_in(name: str, password: str, address: str = "192.0.2.7", client: Client | None = None) -> int:
    client = client or Client()
    return client.post(
        reverse("sign_in"), {"username": name, "password": password}, REMOTE_ADDR=address
    ).status_code


def events() -> list[tuple]:
    named = [Act.SIGNED_IN, Act.SIGN_IN_REFUSED]
    rows = AuditEvent.objects.filter(act__in=named).order_by("pk")
    return [(row.act, row.about, row.address, row.detail) for row in rows]


def test_a_sign_in_is_noted_with_its_way_and_address():
    make_user("anna")
    assert sign_in("anna", RIGHT) == 302
    assert events() == [("signed_in", "anna", "192.0.2.7", {"ways": ["password"]})]


def test_a_refused_one_is_noted_without_what_was_typed(lines):
    make_user("anna")
    sign_in("anna", "Secret-1")
    sign_in("Secret-2", "Secret-3")  # a password in the place of the name
    assert events() == [
        ("sign_in.refused", "anna", "192.0.2.7", {"why": "wrong password"}),
        ("sign_in.refused", "an unknown name", "192.0.2.7", {"why": "unknown name"}),
    ]
    assert "wrong password, anna, from 192.0.2.7" in lines.text and "Secret" not in lines.text
    assert lines.records[0].event["why"] == "wrong password"


def test_nobody_fills_the_audit_from_many_addresses(lines):
    for number in range(throttle.NOTED_REFUSALS + 5):
        sign_in(f"name-{number}", "wrong", f"192.0.2.{number}")
    assert len(events()) == throttle.NOTED_REFUSALS
    assert lines.text.count("Sign-in refused") == throttle.NOTED_REFUSALS + 5


def test_a_try_beyond_the_limit_is_on_the_log_alone(lines):
    make_user("anna")
    statuses = [sign_in("anna", "wrong") for _ in range(7)]
    assert statuses == [200] * 5 + [429] * 2 and len(events()) == 5
    assert lines.text.count("too many tries") == 2


def test_a_wrong_answer_to_the_question_who_it_is_is_noted():
    client, anna = Client(), make_user("anna")
    client.force_login(anna)
    client.post(reverse("account_reauthenticate"), {"password": "wrong"})
    (event,) = events()
    assert event[:2] == ("sign_in.refused", "anna")


def test_an_audit_that_cannot_be_written_is_told_and_the_answer_stays(monkeypatch, lines):
    def away(*args, **more):
        raise DatabaseError("disk is full")

    monkeypatch.setattr("ratings.people.sign_in.tries.note", away)
    assert sign_in("anna", "wrong") == 200
    assert "only in the log, because the audit could not be written: disk is full" in lines.text

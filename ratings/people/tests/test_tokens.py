"""Tokens: their page, the command, what they may, how often they may call, and that no key is kept."""

from datetime import timedelta
from io import StringIO
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.cache import caches
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.logs import TextFormatter
from ratings.copies import person
from ratings.models import ApiToken, Collection, Role
from ratings.people import erasure, throttle, tokens
from ratings.tests import clocks
from ratings.tests.calls import Caller, make_caller
from ratings.tests.cast import make_collection, make_member, make_rater, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    return make_collection()


@pytest.fixture
def clock(monkeypatch):
    return clocks.stopped(monkeypatch, 2_000_000)


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def form(**changes) -> dict:
    return {"name": "nightly", "collection": "hills", "scopes": ["read"], "days": "30"} | changes


# The page


def test_a_key_is_shown_once_and_works(collection):
    client = signed_in(make_member(collection, "ana", Role.ANALYST))
    made = client.post(reverse("make_token"), form())
    key = made.context["key"]
    assert key in made.content.decode() and "no-store" in made["Cache-Control"]
    assert key not in client.get(reverse("tokens")).content.decode()
    answer = Caller(key).get("/token").json()
    assert (answer["name"], answer["scopes"], answer["collection"]) == ("nightly", ["read"], "hills")


def test_no_table_keeps_the_key_and_the_export_does_not_know_it(collection):
    user = make_member(collection, "ana", Role.ANALYST)
    _, key = tokens.make(user, collection, name="nightly", scopes=["read"], days=7)
    rows = repr([list(model.objects.values()) for model in apps.get_models()])
    export = "".join(person.export(user))
    assert "nightly" in rows and key not in rows
    assert '"name": "nightly"' in export and key not in export and tokens.hash_of(key) not in export


def test_nobody_makes_a_token_that_can_do_more_than_they_may(collection):
    client = signed_in(make_member(collection, "ana", Role.ANALYST))
    refused = client.post(reverse("make_token"), form(scopes=["read", "import"]))
    assert refused.status_code == 400  # the page does not even offer it
    rater = make_rater(make_collection("sea"), "ana2").user
    make_member(collection, "ana2", Role.ADMIN)
    said = signed_in(rater).post(reverse("make_token"), form(collection="sea", scopes=["read"]))
    assert said.status_code == 400
    assert "You may not read there; you may rate." in said.content.decode()
    assert signed_in(rater).post(reverse("make_token"), form(collection="*")).status_code == 400
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    "wrong", [{"days": "0"}, {"days": "367"}, {"name": " "}, {"scopes": []}, {"collection": "x"}]
)
def test_a_form_that_is_wrong_comes_back_with_what_is_wrong(collection, wrong):
    client = signed_in(make_member(collection, "ana", Role.ANALYST))
    page = client.post(reverse("make_token"), form(**wrong))
    assert page.status_code == 400
    assert page.context["form"].errors.keys() == wrong.keys()


@pytest.mark.parametrize("days", ["1", "366"])
def test_a_token_lasts_a_day_or_a_leap_year(collection, days):
    client = signed_in(make_member(collection, "ana", Role.ANALYST))
    assert client.post(reverse("make_token"), form(days=days)).status_code == 200
    token = ApiToken.objects.get()
    assert (token.expires_at - token.created_at).days == int(days)


def test_a_revoked_token_works_no_more_and_the_list_says_so(collection):
    user = make_member(collection, "ana", Role.ANALYST)
    caller, client = make_caller(user, collection, "read"), signed_in(user)
    assert caller.get("/token").status_code == 200
    page = client.post(reverse("revoke_token", args=[ApiToken.objects.get().pk]), follow=True).content.decode()
    assert "the token no longer works" in page and "revoked on" in page
    assert caller.get("/token").status_code == 401


def test_nobody_revokes_the_token_of_another(collection):
    make_caller(make_member(collection, "ana", Role.ANALYST), collection, "read")
    other = signed_in(make_member(collection, "boss", Role.ADMIN))
    assert other.post(reverse("revoke_token", args=[ApiToken.objects.get().pk])).status_code == 404
    assert ApiToken.objects.get().revoked_at is None


def test_erasing_a_person_takes_their_tokens(collection):
    rater = make_rater(collection, "ana")
    make_rater(make_collection("sea"), "boris")
    make_member(Collection.objects.get(slug="sea"), "ana", Role.ANALYST)
    make_caller(rater.user, collection, "rate")
    erasure.erase(rater)
    assert not ApiToken.objects.exists()


# The command


def made_by_command(*arguments) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("create_token", *arguments, stdout=out, stderr=err)
    return out.getvalue().strip(), err.getvalue()


def test_the_command_prints_a_key_that_works(collection):
    make_member(collection, "boss", Role.ADMIN)
    key, said = made_by_command("hills", "boss", "--scope", "read", "--scope", "import", "--days", "3")
    assert key.startswith("idl_") and "It can read, import until" in said
    assert Caller(key).get("/token").json()["scopes"] == ["read", "import"]


def test_the_command_makes_tokens_for_all_collections_for_superusers_only(collection):
    make_user("root", is_superuser=True)
    key, _ = made_by_command("*", "root", "--scope", "manage", "--scope", "read")
    assert Caller(key).get("/collections/hills/systems").status_code == 200
    make_member(collection, "boss", Role.ADMIN)
    with pytest.raises(CommandError, match="boss may not read in all collections"):
        made_by_command("*", "boss", "--scope", "read")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("hills", "nobody", "--scope", "read"), "There is no account 'nobody'"),
        (("nowhere", "boss", "--scope", "read"), "There is no collection 'nowhere'"),
        (("hills", "boss", "--scope", "rate"), "boss may not rate in hills"),
        (("hills", "boss", "--scope", "read", "--days", "0"), "A token lasts 1 to 366 days"),
    ],
)
def test_the_command_says_what_is_wrong(collection, arguments, said):
    make_member(collection, "boss", Role.ADMIN)
    with pytest.raises(CommandError, match=said):
        made_by_command(*arguments)


# What is written of it


def test_no_error_repeats_the_key_that_was_sent(collection, caplog):
    caller = make_caller(make_member(collection, "ana", Role.ANALYST), collection, "read")
    key = caller.key
    for answer in (
        caller.get("/collections/nowhere"),
        caller.get("/collections", key=key),
        caller.get("/collections", cursor=key),
        caller.post("/collections", {"slug": key}),
        caller.post("/collections/hills/queries", {"queries": [{"key": key}], key: 1}),
        Caller(f"{key}x").get("/token"),
    ):
        assert answer.status_code >= 400
        assert key not in answer.content.decode().replace(f"/{key}", "")
    assert not [record for record in caplog.records if key in TextFormatter().format(record)]


@pytest.mark.both_databases
def test_last_use_is_written_once_a_minute(collection, monkeypatch):
    token, _ = tokens.make(
        make_member(collection, "ana", Role.ANALYST), collection, name="x", scopes=["read"], days=1
    )
    now = timezone.now()
    for seconds, written in ((0, 0), (59, 0), (61, 61)):
        token.refresh_from_db()
        moment = now + timedelta(seconds=seconds)
        monkeypatch.setattr(tokens, "timezone", SimpleNamespace(now=lambda moment=moment: moment))
        tokens.record_use(token)
        token.refresh_from_db()
        assert token.last_used_at == now + timedelta(seconds=written)


def test_a_database_that_lets_nobody_write_can_still_be_read(collection, monkeypatch, clock):
    caller = make_caller(make_member(collection, "ana", Role.ANALYST), collection, "read")

    def locked(*args, **kwargs):
        raise OperationalError("database is locked")

    monkeypatch.setattr("django.db.models.query.QuerySet.update", locked)
    monkeypatch.setattr(type(caches["default"]), "set", lambda *args, **kwargs: None)
    assert caller.get("/collections/hills/systems").status_code == 200


# How often


def test_a_token_has_its_calls_in_a_minute_and_then_is_told_to_wait(collection, clock, monkeypatch):
    monkeypatch.setattr(throttle, "CALLS_PER_TOKEN", 20)
    user = make_member(collection, "ana", Role.ANALYST)
    caller, other = make_caller(user, collection, "read"), make_caller(user, collection, "read")
    clock.now += 15
    assert [caller.get("/token").status_code for _ in range(21)] == [200] * 20 + [429]
    answer = caller.get("/token")
    assert (answer["Retry-After"], answer["Content-Type"]) == ("60", "application/problem+json")
    assert other.get("/token").status_code == 200
    clock.now += throttle.MINUTE
    assert caller.get("/token").status_code == 200


def test_who_tries_keys_is_told_to_wait_and_who_has_one_is_not(collection, clock):
    caller = make_caller(make_member(collection, "ana", Role.ANALYST), collection, "read")
    tried = [Caller("idl_guess").get("/token").status_code for _ in range(61)]
    assert tried == [401] * 60 + [429]
    assert caller.get("/token").status_code == 200

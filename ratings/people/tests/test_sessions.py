"""Where people are signed in, who ends it, and what a change of password ends."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.management.commands import changepassword
from django.contrib.sessions.backends.base import UpdateError
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratings.models import Role, Session
from ratings.people import members, sessions, throttle
from ratings.tests import clocks
from ratings.tests.calls import make_caller
from ratings.tests.cast import make_collection, make_member, make_rater, make_user

pytestmark = pytest.mark.django_db

RIGHT, NEW = "a pass phrase", "another long phrase"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    return clocks.stopped(monkeypatch, 3_000_000)


def browser(username: str, agent: str = FIREFOX) -> Client:
    client = Client(headers={"user-agent": agent})
    assert client.post(reverse("sign_in"), {"username": username, "password": RIGHT}).status_code == 302
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("password_change")).status_code == 200


def changed(client: Client, old: str = RIGHT, new: str = NEW) -> int:
    sent = {"old_password": old, "new_password1": new, "new_password2": new}
    return client.post(reverse("password_change"), sent).status_code


# One's own


def test_who_signed_in_a_while_ago_shows_once_more_who_they_are_before_ending_sessions(monkeypatch):
    make_user("anna")
    here, elsewhere = browser("anna"), browser("anna", "curl/8")
    monkeypatch.setattr("ratings.people.sign_in.second_factor.REAUTHENTICATION_TIMEOUT", -1)
    name = next(row[1] for row in here.get(reverse("sessions")).context["rows"] if not row[2])
    for asked, sent in [("end_session", {"session": name}), ("end_other_sessions", {})]:
        response = here.post(reverse(asked), sent)
        assert response.url == reverse("account_reauthenticate") + "?next=%2Faccounts%2Fsessions%2F"
        assert is_signed_in(elsewhere)
    former = here.session.session_key
    assert here.post(response.url, {"password": "wrong"}).status_code == 200
    assert here.session.session_key == former
    assert here.post(response.url, {"password": RIGHT}).url == reverse("sessions")
    assert here.session.session_key != former and not Session.objects.filter(pk=former).exists()
    monkeypatch.undo()
    here.post(reverse("end_other_sessions"))
    assert is_signed_in(here) and not is_signed_in(elsewhere)


def test_who_has_nothing_to_show_signs_in_anew_before_ending_sessions():
    anna, client = make_user("anna"), Client()
    anna.set_unusable_password()
    anna.save()
    client.force_login(anna)
    assert client.post(reverse("end_other_sessions")).status_code == 403


@pytest.mark.both_databases
def test_people_see_where_they_are_signed_in_and_end_one_of_them():
    make_user("anna")
    here, elsewhere = browser("anna"), browser("anna", "curl/8")
    page = here.get(reverse("sessions"))
    shown = {row[0].browser: row for row in page.context["rows"]}
    assert {name: row[2] for name, row in shown.items()} == {"Firefox on Linux": True, "another program": False}
    html = page.content.decode()
    assert not any(session.pk in html for session in Session.objects.all())
    end = here.post(reverse("end_session"), {"session": shown["another program"][1]})
    assert end.status_code == 302
    assert is_signed_in(here) and not is_signed_in(elsewhere)


def test_all_others_are_ended_at_once_and_nobody_elses():
    make_user("anna")
    make_user("boris")
    here, others, boris = browser("anna"), [browser("anna") for _ in range(3)], browser("boris")
    here.post(reverse("end_other_sessions"))
    assert is_signed_in(here) and is_signed_in(boris)
    assert not any(map(is_signed_in, others))


def test_nobody_ends_a_session_of_somebody_else():
    make_user("anna")
    make_user("boris")
    anna, boris = browser("anna"), browser("boris")
    for name in (sessions.name_of(anna.session.session_key), anna.session.session_key, "", "é"):
        assert boris.post(reverse("end_session"), {"session": name}).status_code == 404
    assert is_signed_in(anna)


@pytest.mark.both_databases
def test_who_signs_out_has_no_session_and_those_that_are_over_are_forgotten():
    user = make_user("anna")
    browser("anna").post(reverse("sign_out"))
    assert not Session.objects.exists()
    browser("anna")
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert sessions.open_of(user) == []
    browser("anna")
    assert Session.objects.count() == 1


def test_an_ended_session_is_not_kept_by_a_request_that_is_under_way():
    user = make_user("anna")
    client = browser("anna")
    store = sessions.SessionStore(client.session.session_key)
    assert store["signed_in"]
    sessions.end_all(user)
    store["other"] = 1
    with pytest.raises(UpdateError):
        store.save()
    assert not Session.objects.exists()


# The old password


def test_the_old_password_can_be_guessed_five_times_a_minute(clock):
    make_user("anna")
    client = browser("anna")
    assert [changed(client, f"guess {i}") for i in range(6)] == [200] * 5 + [429]
    assert changed(client) == 429
    clock.now += throttle.MINUTE
    assert changed(client) == 302


def test_another_browser_or_a_lost_cookie_gives_no_more_guesses(clock):
    make_user("anna")
    one, other = browser("anna"), browser("anna")
    assert [changed(one, "guess") for _ in range(5)] == [200] * 5
    del one.cookies[throttle.DEVICE_COOKIE]
    assert (changed(one, "guess"), changed(other, "guess")) == (429, 429)


def test_a_new_password_that_is_too_weak_uses_up_no_guess(clock):
    make_user("anna")
    client = browser("anna")
    assert [changed(client, RIGHT, "short") for _ in range(8)] == [200] * 8
    assert changed(client) == 302


# What a change of password ends


@pytest.fixture
def anna():
    return make_member(make_collection(), "anna", Role.ANALYST)


def on_the_page(user) -> None:
    assert changed(browser(user.username)) == 302


def by_command(user) -> None:
    command = changepassword.Command(stdout=StringIO(), stderr=StringIO())
    command._get_pass = lambda *args: NEW
    call_command(command, user.username)


@pytest.mark.both_databases
@pytest.mark.parametrize("change", [on_the_page, by_command])
def test_a_change_of_password_ends_sessions_and_tokens_however_it_comes(anna, change):
    boris = make_member(anna.memberships.get().collection, "boris", Role.ANALYST)
    mine = make_caller(anna, anna.memberships.get().collection, "read")
    others = make_caller(boris, anna.memberships.get().collection, "read")
    before = browser("anna")
    assert mine.get("/token").status_code == 200
    change(anna)
    assert mine.get("/token").status_code == 401
    assert others.get("/token").status_code == 200
    assert not is_signed_in(before)
    assert not Session.objects.filter(pk=before.session.session_key).exists()
    client = Client()
    assert client.post(reverse("sign_in"), {"username": "anna", "password": NEW}).status_code == 302


def test_who_changed_the_password_stays_signed_in_in_one_session(anna):
    client, former = browser("anna"), browser("anna")
    assert changed(client) == 302
    assert is_signed_in(client) and not is_signed_in(former)
    (session,) = sessions.open_of(anna)
    assert session.browser == "Firefox on Linux"


@pytest.mark.both_databases
def test_a_better_hash_of_the_same_password_ends_nothing(anna, settings):
    make_caller(anna, anna.memberships.get().collection, "read")
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher", *settings.PASSWORD_HASHERS]
    before = anna.password
    browser("anna")
    anna.refresh_from_db()
    assert anna.password != before
    assert anna.api_tokens.get().revoked_at is None


# Admins


@pytest.mark.both_databases
def test_an_admin_signs_a_member_out_everywhere():
    collection = make_collection()
    rater, dora = make_rater(collection, "anna"), make_member(collection, "dora", Role.ADMIN)
    anna, admin = [browser("anna") for _ in range(2)], browser("dora")
    page = admin.get(reverse("rater", args=["hills", rater.pk])).content.decode()
    address = reverse("end_sessions", args=["hills", collection.memberships.get(user=rater.user).pk])
    assert address in page
    admin.post(address)
    assert not any(map(is_signed_in, anna))
    assert is_signed_in(admin)
    assert dora.sessions.count() == 1


def test_who_is_stopped_is_signed_out_but_only_by_admins_of_a_collection_of_theirs():
    rater = make_rater(make_collection(), "anna")
    client = browser("anna")
    members.deactivate(rater)
    assert not is_signed_in(client)
    members.reactivate(rater)
    client = browser("anna")
    members.remove(rater.collection.memberships.get(user=rater.user))
    members.deactivate(rater)
    assert is_signed_in(client)

"""Tries to sign in: how many a minute, for whom, and that nobody is kept out by others."""

import re
import threading
import time
from contextlib import nullcontext, suppress
from unittest.mock import Mock

import pytest
from allauth.core.internal import ratelimit
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.cache import cache, caches
from django.test import Client, RequestFactory
from django.urls import reverse

from ratings.people import throttle
from ratings.tests import clocks
from ratings.tests.cast import make_user
from ratings.tests.races import race

pytestmark = pytest.mark.django_db

RIGHT = "a pass phrase"


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    return clocks.stopped(monkeypatch, 1_000_000)


def tried(username: str, password: str = "wrong", client: Client | None = None, **facts) -> int:
    sent = {"username": username, "password": password}
    return (client or Client()).post(reverse("sign_in"), sent, **facts).status_code


def test_the_sixth_try_for_an_account_in_a_minute_is_refused_even_with_the_right_password(clock):
    make_user("anna")
    assert [tried("anna", REMOTE_ADDR=f"10.0.0.{i}") for i in range(5)] == [200] * 5
    assert tried("anna", RIGHT, REMOTE_ADDR="10.0.0.9") == 429
    clock.now += throttle.MINUTE
    assert tried("anna", RIGHT, REMOTE_ADDR="10.0.0.9") == 302


def test_beyond_the_limit_no_password_is_checked_and_the_page_tells_nothing_of_it(clock, monkeypatch):
    anna = make_user("anna")
    [tried("anna") for _ in range(5)]
    here = Client()
    here.force_login(anna)
    change = {"new_password1": "another long phrase", "new_password2": "another long phrase"}
    [here.post(reverse("password_change"), {"old_password": "wrong"} | change) for _ in range(5)]
    checked = []
    monkeypatch.setattr("django.contrib.auth.models.User.check_password", lambda *_: checked.append(1) or True)
    csrf = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')
    for client, address, sent in [
        (Client(), reverse("sign_in"), {"username": "anna", "password": ""}),
        (here, reverse("password_change"), {"old_password": ""} | change),
    ]:
        field = "password" if "password" in sent else "old_password"
        answers = [client.post(address, sent | {field: given}) for given in (RIGHT, "wrong")]
        assert [answer.status_code for answer in answers] == [429, 429]
        assert len({csrf.sub("", answer.content.decode()) for answer in answers}) == 1
    assert not checked


def test_the_twenty_first_try_from_an_address_is_refused_whatever_the_name(clock):
    make_user("anna")
    assert [tried(f"name{i}") for i in range(20)] == [200] * 20
    assert tried("anna", RIGHT) == 429
    assert tried("anna", RIGHT, REMOTE_ADDR="10.0.0.9") == 302


def test_who_signs_in_rightly_uses_up_no_try(clock):
    """Thirty people in one room, behind one address, at nine in the morning."""
    for i in range(30):
        make_user(f"name{i}")
    assert {tried(f"name{i}", RIGHT) for i in range(30)} == {302}


def test_a_browser_that_is_known_is_not_kept_out_by_a_stranger(clock):
    make_user("anna")
    known = Client()
    assert tried("anna", RIGHT, known) == 302
    known.post(reverse("sign_out"))
    assert [tried("anna", REMOTE_ADDR="10.0.0.9") for _ in range(6)] == [200] * 5 + [429]
    assert tried("anna", RIGHT, known) == 302
    # It is no way round the limit: the browser has its own five.
    known.post(reverse("sign_out"))
    assert [tried("anna", "wrong", known) for _ in range(6)] == [200] * 5 + [429]


def test_a_browser_that_is_known_is_not_kept_out_by_who_shares_its_address(clock):
    make_user("anna")
    known = Client()
    assert tried("anna", RIGHT, known) == 302
    known.post(reverse("sign_out"))
    assert [tried(f"name{i}") for i in range(21)] == [200] * 20 + [429]
    assert tried("anna", RIGHT) == 429
    assert tried("anna", RIGHT, known) == 302
    known.post(reverse("sign_out"))
    # For another account the same browser is a stranger's.
    assert tried("boris", RIGHT, known) == 429


def test_a_browser_is_known_for_its_own_account_only(clock):
    make_user("anna")
    make_user("boris")
    client = Client()
    tried("boris", RIGHT, client)
    client.post(reverse("sign_out"))
    for _ in range(5):
        tried("anna", REMOTE_ADDR="10.0.0.9")
    assert tried("anna", RIGHT, client) == 429
    assert tried("boris", RIGHT, client) == 302


def test_a_browser_of_a_look_alike_is_a_stranger_s(clock):
    """Names that are the same when folded are two accounts, and who has one could guess at the other."""
    make_user("strasse")
    make_user("straße")
    client = Client()
    assert tried("straße", RIGHT, client) == 302
    client.post(reverse("sign_out"))
    assert [tried("strasse", "wrong", client) for _ in range(5)] == [200] * 5
    assert tried("strasse", REMOTE_ADDR="10.0.0.9") == 429  # they counted against the account


def test_a_forged_cookie_is_no_known_browser(clock):
    make_user("anna")
    for _ in range(5):
        tried("anna")
    client = Client()
    client.cookies[throttle.DEVICE_COOKIE] = "WyJhIiwiYiJd:forged:signature"
    assert tried("anna", RIGHT, client) == 429


def test_a_name_in_other_letters_is_the_same_account_to_the_count(clock):
    spellings = ["anna", "Anna", " anna ", "ANNA", "ａｎｎａ", "anna"]
    assert [tried(name) for name in spellings] == [200] * 5 + [429]


def test_known_and_unknown_names_get_the_same_answer_after_the_same_work(clock, monkeypatch):
    make_user("anna")
    hashed = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(
        MD5PasswordHasher, "encode", lambda *args, **kwargs: hashed.append(1) or encode(*args, **kwargs)
    )
    answers, work = [], []
    for name in ("anna", "nobody"):
        hashed.clear()
        client = Client()
        page = client.post(reverse("sign_in"), {"username": name, "password": "wrong"}).content.decode()
        answers.append(page.replace(name, "NAME").replace(client.cookies["csrftoken"].value, ""))
        work.append(len(hashed))
    assert work == [1, 1]
    assert without_tokens(answers[0]) == without_tokens(answers[1])
    for name in ("anna", "nobody"):
        assert [tried(name, REMOTE_ADDR="10.0.0.9") for _ in range(5)] == [200] * 4 + [429]


def without_tokens(page: str) -> list[str]:
    return [line for line in page.splitlines() if "csrfmiddlewaretoken" not in line]


def test_behind_a_proxy_people_are_told_apart_by_what_it_adds(clock, settings):
    settings.PROXIES = 1
    for i in range(21):
        # What the visitor writes into the header themselves stands before what the proxy adds.
        status = tried(f"name{i}", HTTP_X_FORWARDED_FOR=f"10.9.9.{i}, 192.0.2.1")
    assert status == 429
    assert tried("other", HTTP_X_FORWARDED_FOR="10.9.9.9, 192.0.2.2") == 200


@pytest.mark.parametrize("visitor", ["192.0.2.1:{}", "[2001:db8::1]:{}", "2001:db8::{}"])
def test_a_port_makes_no_new_address(clock, settings, visitor):
    settings.PROXIES = 1
    answers = [tried(f"name{i}", HTTP_X_FORWARDED_FOR=visitor.format(4711 + i)) for i in range(25)]
    assert answers == [200] * 20 + [429] * 5


def test_visitors_of_ipv4_are_told_apart_on_a_server_of_both_families(clock):
    answers = [tried(f"name{i}", REMOTE_ADDR="::ffff:192.0.2.1") for i in range(21)]
    assert answers[-1] == 429
    assert tried("other", REMOTE_ADDR="::ffff:192.0.2.2") == 200


def test_an_ipv6_network_is_one_address(clock):
    answers = [tried(f"name{i}", REMOTE_ADDR=f"2001:db8:0:1::{i:x}") for i in range(21)]
    assert answers[-1] == 429
    assert tried("other", REMOTE_ADDR="2001:db8:0:2::1") == 200


def test_neither_names_nor_addresses_are_kept(clock, monkeypatch):
    looked = Mock(wraps=cache.set)
    monkeypatch.setattr(ratelimit.cache, "set", looked, raising=False)
    tried("canary-name", REMOTE_ADDR="203.0.113.77")
    kept = (call.args for call in looked.call_args_list)
    assert all("canary" not in repr(each) and "203.0.113" not in repr(each) for each in kept)
    assert looked.called


@pytest.mark.django_db(transaction=True)
def test_of_twelve_tries_at_once_five_get_through(clock):
    assert race_of_tries() == 5


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_of_the_cache_more_get_through(clock, monkeypatch):
    """The twin of the test above: all have looked how many there were before anybody writes one more."""
    barrier, get = threading.Barrier(12), type(caches["default"]).get

    def looked(self, key, *arguments, **facts):
        found = get(self, key, *arguments, **facts)
        if ":account:" in key:
            with suppress(threading.BrokenBarrierError):
                barrier.wait(timeout=5)
        return found

    monkeypatch.setattr(type(caches["default"]), "get", looked)
    monkeypatch.setattr(ratelimit, "cache_lock", lambda key: nullcontext(True))
    assert race_of_tries() > 5


def race_of_tries() -> int:
    """How many of twelve tries that start together are let through."""
    requests = [RequestFactory().post("/", REMOTE_ADDR=f"10.0.0.{i}") for i in range(12)]
    return sum(isinstance(got, throttle.Try) for got in race(requests, lambda r: throttle.begin(r, "anna")))


@pytest.mark.both_databases
def test_a_count_that_is_locked_is_waited_for(clock, monkeypatch):
    make_user("anna")
    assert signed_in_after_a_kill(monkeypatch) == 302
    monkeypatch.setattr(ratelimit, "CACHE_LOCK_WAIT_TIMEOUT", 1)
    assert signed_in_after_a_kill(monkeypatch) == 429


def signed_in_after_a_kill(monkeypatch) -> int:
    """What Anna is answered whose address was being counted when the server was killed, a moment ago."""
    locks = []
    ends = time.monotonic() + 1.3
    add = cache.add

    def locked(key: str, *arguments, **facts) -> bool:
        """The lock of the other, until it expires."""
        locks.append(key)
        return time.monotonic() > ends and add(key, *arguments, **facts)

    with monkeypatch.context() as patch:
        patch.setattr(caches["default"], "add", locked)
        status = tried("anna", RIGHT)
    assert locks
    return status


@pytest.mark.both_databases
def test_the_admin_has_no_door_of_its_own(clock):
    """Django's admin has a page to sign in, which would count no tries."""
    make_user("dora", is_superuser=True)
    client = Client()
    asked = client.post("/admin/login/", {"username": "dora", "password": RIGHT})
    assert asked.url.startswith(reverse("sign_in")) and "_auth_user_id" not in client.session
    page = client.get("/admin/", follow=True)
    assert page.redirect_chain[-1][0].startswith(reverse("sign_in"))
    client.post(page.redirect_chain[-1][0], {"username": "dora", "password": RIGHT, "next": "/admin/"})
    assert client.get("/admin/").status_code == 200

"""The pages of accounts, for superusers: rights with their guards, links to sign in, the end of an account."""

import re

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from ratings.desk import queue
from ratings.models import ApiToken, Assignment, AuditEvent, Membership, Role, Session, SuperuserByGroup
from ratings.people import tokens
from ratings.people.access import may_make
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rater, make_user, signed_in
from ratings.tests.races import race

pytestmark = pytest.mark.django_db


@pytest.fixture
def root() -> Client:
    return signed_in(make_user("root", is_superuser=True))


def found(user):
    """The account as it is stored, without what the object remembers of permissions."""
    return get_user_model().objects.get(pk=user.pk)


def save(client: Client, user, *ticks: str, email: str = "", **more):
    sent = {"email": email, **dict.fromkeys(ticks, "on")} | more
    return client.post(reverse("save_account", args=[user.pk]), sent)


def acts() -> list[tuple[str, str, dict]]:
    events = AuditEvent.objects.exclude(act__in=["signed_in", "sessions.ended"]).order_by("pk")
    return [(event.act, event.about, event.detail) for event in events]


def test_accounts_are_found_by_name_and_by_address(root):
    make_user("anna", email="anna@example.org")
    make_user("boris", is_active=False)
    for words, names in [("", ["anna", "boris", "root"]), ("NN", ["anna"]), ("example", ["anna"]), ("zz", [])]:
        page = root.get(reverse("accounts"), {"q": words})
        assert [account.username for account in page.context["page"]] == names
    assert root.get(reverse("accounts"), {"q": "\x00"}).status_code == 400


def test_an_account_is_closed_and_opened_again(root):
    collection = make_collection()
    anna = make_rater(collection, "anna").user
    make_pair(collection)
    queue.claim(anna.raters.get(), 1)
    here = signed_in(anna)
    _, key = tokens.make(anna, collection, name="mine", scopes=["rate"], days=7)
    assert save(root, anna).status_code == 302
    assert not Session.objects.filter(user=anna).exists() and tokens.valid_token(key) is None
    assert Assignment.objects.get().state == Assignment.State.OPEN
    assert here.get(reverse("password_change")).status_code == 302
    save(root, anna, "is_active", email="anna@example.org")
    assert found(anna).is_active and found(anna).email == "anna@example.org"
    told = [(act, detail) for act, about, detail in acts() if about == "anna" and act == "account"]
    assert told == [("account", {"is_active": False}), ("account", {"email": True, "is_active": True})]


def test_a_superuser_is_made_and_taken_whatever_a_group_gave(root):
    anna = make_user("anna")
    save(root, anna, "is_active", "is_superuser")
    assert signed_in(anna).get(reverse("accounts")).status_code == 200
    SuperuserByGroup.objects.create(user=anna)
    save(root, anna, "is_active")
    assert not found(anna).is_superuser and not SuperuserByGroup.objects.exists()
    assert [act for act, *_ in acts()] == ["superuser", "superuser.ended"]


def test_the_right_to_make_collections_comes_and_goes(root):
    anna = make_user("anna")
    for ticks, may in [(["may_make"], True), (["may_make"], True), ([], False)]:
        save(root, anna, "is_active", *ticks)
        assert may_make(found(anna)) == may
    assert acts() == [("account", "anna", {"may_make": True}), ("account", "anna", {"may_make": False})]


@pytest.mark.parametrize("ticks", [["is_active"], ["is_superuser"], []])
def test_the_last_superuser_who_can_sign_in_stays(root, ticks):
    user = get_user_model().objects.get()
    closed = make_user("closed", is_superuser=True, is_active=False)
    assert save(root, user, *ticks).status_code == 400
    assert found(user).is_superuser and found(user).is_active and acts() == []
    save(root, closed, "is_active", "is_superuser")  # the cure
    assert save(root, user, *ticks).status_code == 302
    assert not (found(user).is_superuser and found(user).is_active)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_two_superusers_cannot_take_the_right_from_each_other():
    users = [make_user(name, is_superuser=True) for name in ("root", "boss")]
    clients = [signed_in(user) for user in users]
    race([(clients[0], users[1]), (clients[1], users[0])], lambda pair: save(*pair, "is_active"))
    assert get_user_model().objects.filter(is_superuser=True).count() == 1


def test_a_link_sets_a_password_once_and_stays_in_no_page(root, settings):
    anna = make_user("anna")
    page = root.post(reverse("make_password_link", args=[anna.pk])).content.decode()
    link = re.search(r"http://testserver(/accounts/forgotten/[^<]+)", page)[1]
    assert "/forgotten/" not in root.get(reverse("account", args=[anna.pk])).content.decode()
    client, sent = Client(), {"new_password1": "a long phrase", "new_password2": "a long phrase"}
    client.post(client.get(link).url, sent)
    assert found(anna).check_password("a long phrase")
    assert client.get(link).status_code == 200  # void
    settings.PASSWORDS = False
    assert root.post(reverse("make_password_link", args=[anna.pk])).status_code == 404


def test_a_second_factor_is_removed_and_sessions_end(root):
    anna = make_user("anna")
    Authenticator.objects.create(user=anna, type="totp", data={})
    signed_in(anna)
    root.post(reverse("remove_second_factor", args=[anna.pk]))
    assert not Authenticator.objects.exists() and not Session.objects.filter(user=anna).exists()


def test_an_account_that_nothing_needs_is_deleted_with_its_name(root):
    anna = make_user("quirina")
    times = {"created_at": anna.date_joined, "expires_at": anna.date_joined}
    ApiToken.objects.create(user=anna, name="t", key_hash="x", **times)
    signed_in(anna).post(reverse("sign_out"))
    save(root, anna, "is_active", "may_make")
    assert root.post(reverse("delete_account", args=[anna.pk])).status_code == 302
    assert not get_user_model().objects.filter(username="quirina").exists() and not ApiToken.objects.exists()
    assert "quirina" not in repr(list(AuditEvent.objects.values())) and acts()[-1][0] == "rater.erased"


def test_an_account_that_something_needs_is_not_deleted(root):
    collection = make_collection()
    needed = [make_member(collection, "vera", Role.ANALYST), make_user("boss", is_superuser=True)]
    needed.append(make_rater(collection, "anna").user)
    dora = make_member(collection, "dora", Role.ADMIN)
    adjudicate(make_pair(collection), grade(collection, "1"), reason="clear", actor=dora)
    Membership.objects.filter(user__username__in=["anna", "dora"]).delete()
    for user in [*needed, dora]:
        page = root.get(reverse("account", args=[user.pk]))
        assert page.context["needed"]
        assert root.post(reverse("delete_account", args=[user.pk])).url == reverse("account", args=[user.pk])
    assert get_user_model().objects.count() == 5

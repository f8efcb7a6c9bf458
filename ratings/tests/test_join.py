"""The page of an invitation: what it shows, who gets in by it, and that its key stays with its owner."""

import logging
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.logs import TextFormatter
from ratings.models import Invitation, Membership, Role
from ratings.people import members as people

from . import clocks
from .cast import make_collection, make_member, make_rater, make_user

pytestmark = pytest.mark.django_db

PASSWORD = "four quiet green hills"


class World:
    """A collection, an invitation to it as a rater, and a visitor who has its link."""

    def __init__(self, role: str = Role.RATER) -> None:
        self.collection = make_collection()
        self.collection.description = "Pages about hills."
        self.collection.save()
        self.invitation, self.key = people.invite(self.collection, ["anna"], role=role, days=7, by=None)[0]
        self.address = reverse("join", args=[self.key])
        self.client = Client()

    def post(self, **sent):
        return self.client.post(self.address, sent)

    def members(self) -> dict[str, str]:
        rows = Membership.objects.filter(collection=self.collection)
        return dict(rows.values_list("user__username", "role"))


@pytest.fixture
def world() -> World:
    return World()


def signed_in(client: Client) -> str | None:
    """The name of the account that the client is signed in with."""
    pk = client.session.get("_auth_user_id")
    return pk and get_user_model().objects.get(pk=pk).username


def test_the_page_tells_what_one_joins_and_as_what_and_changes_nothing(world):
    text = world.client.get(world.address).content.decode()
    for said in ("Hills", "invited as a rater"):
        assert said in text
    assert people.is_open(Invitation.objects.get())
    assert not world.members()


@pytest.mark.parametrize("role", Role.values)
def test_who_will_rate_is_not_told_what_the_description_may_say_of_systems(role):
    world = World(role)
    text = world.client.get(world.address).content.decode()
    assert ("Pages about hills." in text) == (role != Role.RATER)


def test_a_superuser_is_told_that_they_cannot_rate(world):
    world.client.force_login(make_user("root", is_superuser=True))
    page = world.client.get(world.address).content.decode()
    assert "Rate with another account" in page and "Join as" not in page
    answer = world.post(by="me")
    assert answer.status_code == 409 and "Rate with another account" in answer.content.decode()
    assert not world.members() and people.is_open(Invitation.objects.get())


def test_at_most_two_fields_which_take_a_paste_and_a_password_manager(world):
    text = world.client.get(world.address).content.decode()
    for form in text.split("<form")[1:]:
        assert form.split("</form>")[0].count('type="text"') <= 1
    assert 'autocomplete="new-password"' in text
    assert 'autocomplete="current-password"' in text
    assert "onpaste" not in text


def test_a_new_person_is_led_to_the_desk_with_a_name_and_a_password(world):
    response = world.post(by="new", username="anna", password=PASSWORD)
    assert response.url == reverse("rate", args=["hills"])
    assert world.members() == {"anna": "rater"}
    assert signed_in(world.client) == "anna"
    assert Client().login(username="anna", password=PASSWORD)
    assert world.client.get(response.url).status_code == 200


def test_an_analyst_is_led_to_the_results():
    world = World(Role.ANALYST)
    assert world.post(by="new", username="anna", password=PASSWORD).url == reverse("overview", args=["hills"])


def test_who_has_an_account_joins_with_it(world):
    make_user("boris")
    response = world.post(by="account", username="boris", password="a pass phrase")
    assert response.url == reverse("rate", args=["hills"])
    assert world.members() == {"boris": "rater"}
    assert signed_in(world.client) == "boris"


def test_who_is_signed_in_joins_with_one_press_and_a_second_press_is_the_same(world):
    world.client.force_login(make_user("boris"))
    assert "Join as boris" in world.client.get(world.address).content.decode()
    for _ in range(2):
        assert world.post(by="me").url == reverse("rate", args=["hills"])
    assert world.members() == {"boris": "rater"}


def test_nobody_joins_with_an_account_that_the_page_did_not_name(world):
    """The page was opened before somebody signed in in another tab."""
    world.client.force_login(make_user("boris"))
    response = world.post(by="new", username="anna", password=PASSWORD)
    assert response.status_code == 409
    assert "Join as boris" in response.content.decode()
    assert not world.members()
    assert not get_user_model().objects.filter(username="anna").exists()


def test_who_was_signed_out_meanwhile_is_told(world):
    response = world.post(by="me")
    assert response.status_code == 409
    assert "You were signed out" in response.content.decode()


def test_a_member_keeps_their_role_and_the_link_stays_for_whom_it_was_meant(world):
    dora = make_member(world.collection, "dora", Role.ADMIN)
    world.client.force_login(dora)
    assert "You are a member already" in world.client.get(world.address).content.decode()
    assert world.post(by="me").status_code == 409
    assert world.members() == {"dora": "admin"}
    assert people.is_open(Invitation.objects.get())


@pytest.mark.parametrize(
    "sent, told",
    [
        ({"username": "annabella", "password": "annabella1"}, "too similar"),
        ({"username": "anna", "password": "password"}, "too common"),
        ({"username": "anna", "password": "q7"}, "too short"),
        ({"username": "an na", "password": PASSWORD}, "valid username"),
        ({"username": "ANNA2", "password": PASSWORD}, "Somebody has this name already"),
        ({"username": "äNNA", "password": PASSWORD}, "Somebody has this name already"),
        ({"username": "", "password": ""}, "required"),
    ],
)
def test_a_weak_password_or_a_taken_name_is_refused_with_its_reason(world, sent, told):
    make_user("anna2")
    make_user("Änna")
    response = world.post(by="new", **sent)
    assert response.status_code == 400
    assert told in response.content.decode()
    assert PASSWORD not in response.content.decode()  # a page never holds a password
    assert not world.members()
    assert people.is_open(Invitation.objects.get())


def test_used_withdrawn_expired_and_unknown_links_get_one_and_the_same_page(world):
    def page(key: str) -> tuple[int, str]:
        response = Client().get(reverse("join", args=[key]))
        return response.status_code, response.content.decode()

    unknown = page("x" * 43)
    assert unknown[0] == 404
    assert "Ask the admin who sent it to you" in unknown[1]
    now = timezone.now()
    for changed in ({"accepted_at": now}, {"withdrawn_at": now}, {"expires_at": now - timedelta(seconds=1)}):
        fresh = {"accepted_at": None, "withdrawn_at": None, "expires_at": now + timedelta(days=1)}
        Invitation.objects.update(**fresh | changed)
        assert page(world.key) == unknown
        assert Client().post(world.address, {"by": "new"}).status_code == 404
    assert "Hills" not in unknown[1]


def test_a_key_with_signs_that_no_key_has_is_unknown_and_no_error(world):
    for key in ("%00", "é", "a" * 3_000, "' or 1=1"):
        assert Client().get(reverse("join", args=[key])).status_code == 404


def test_the_names_on_the_page_cannot_carry_a_script(world):
    world.collection.name = world.collection.description = "<script>alert(1)</script>"
    world.collection.save()
    assert "<script>alert" not in world.client.get(world.address).content.decode()


def test_the_page_leaks_its_address_to_no_other_page_and_to_no_store(world):
    refused = [world.post(by="new"), world.post(by="account", username="x")]
    for response in (world.client.get(world.address), *refused):
        assert response["Referrer-Policy"] == "strict-origin"
        assert "no-store" in response["Cache-Control"]
        assert world.key not in response.content.decode()


def test_the_key_is_in_no_line_of_a_log(world, caplog):
    """Django notes refused requests with their address; what is printed goes through the formatter."""
    Client(enforce_csrf_checks=True).post(world.address, {"by": "new"})
    people.withdraw(world.invitation)
    world.client.get(world.address)
    assert len(caplog.records) == 2
    plain = [logging.Formatter().format(record) for record in caplog.records]
    assert all(world.key in line for line in plain)  # else the test would prove nothing
    for record in caplog.records:
        printed = TextFormatter().format(record)
        assert world.key not in printed
        assert "/join/…" in printed


def test_the_log_is_printed_by_that_formatter(settings):
    handlers = {name for logger in settings.LOGGING["loggers"].values() for name in logger.get("handlers", [])}
    handlers |= set(settings.LOGGING["root"]["handlers"])
    formatters = {settings.LOGGING["handlers"][name]["formatter"] for name in handlers}
    classes = {settings.LOGGING["formatters"][name].get("class") for name in formatters}
    assert classes == {"config.logs.TextFormatter"}


def test_where_the_database_is_busy_nothing_is_saved_and_the_page_says_so(world, monkeypatch):
    def busy(*args, **kwargs):
        raise OperationalError("database is locked")

    monkeypatch.setattr(people, "sign_up", busy)
    response = world.post(by="new", username="anna", password=PASSWORD)
    assert response.status_code == 503
    assert "nothing was saved" in response.content.decode()


def test_passwords_cannot_be_tried_here_without_end_either(world, monkeypatch):
    clocks.stopped(monkeypatch, 1_000_000)
    make_user("boris")
    wrong = [world.post(by="account", username="boris", password=f"wrong {i}") for i in range(5)]
    assert {response.status_code for response in wrong} == {400}
    response = world.post(by="account", username="boris", password="a pass phrase")
    assert response.status_code == 429
    assert "Wait a minute" in response.content.decode()
    assert not world.members()


def test_who_joins_as_an_admin_finds_the_people():
    world = World(Role.ADMIN)
    assert world.post(by="new", username="dora", password=PASSWORD).status_code == 302
    assert world.client.get(reverse("people", args=["hills"])).status_code == 200


def test_a_rater_who_comes_by_the_link_again_is_led_to_the_desk(world):
    world.post(by="new", username="anna", password=PASSWORD)
    assert world.client.get(world.address).url == reverse("rate", args=["hills"])
    stranger = Client()
    stranger.force_login(make_rater(make_collection("sea"), "boris").user)
    assert stranger.get(world.address).status_code == 404

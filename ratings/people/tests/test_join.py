"""The page of an invitation: what it shows, who gets in by it, and that its key stays with its owner."""

import logging
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.logs import TextFormatter
from ratings.models import Invitation, Membership, Rater, Role
from ratings.people import members
from ratings.tests import clocks
from ratings.tests.cast import make_collection, make_member, make_rater, make_user
from ratings.tests.cast import signed_in as signed_in_as

pytestmark = pytest.mark.django_db

PASSWORD = "four quiet green hills"


class World:
    """A collection, an invitation to it as a rater, and a visitor who has its link."""

    def __init__(self, role: str = Role.RATER, name: str = "anna") -> None:
        self.collection = make_collection()
        self.collection.description = "Pages about hills."
        self.collection.save()
        self.invitation, self.key = members.invite(self.collection, [name], role=role, days=7, by=None)[0]
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


@pytest.mark.parametrize("role", Role.values)
def test_who_will_rate_is_not_told_what_the_description_may_say_of_systems(role):
    world = World(role)
    text = world.client.get(world.address).content.decode()
    assert "Hills" in text and ("Pages about hills." in text) == (role != Role.RATER)
    assert members.is_open(Invitation.objects.get()) and not world.members()


def test_three_fields_at_most_which_take_a_paste_and_a_password_manager(world):
    text = world.client.get(world.address).content.decode()
    assert text.count('type="text"') == 2 and text.count('type="password"') == 1
    assert 'autocomplete="new-password"' in text and "onpaste" not in text
    assert 'autocomplete="current-password"' in world.client.get(reverse("sign_in")).content.decode()


def test_a_superuser_cannot_rate(world):
    world.client.force_login(make_user("root", is_superuser=True))
    assert "Join as" not in world.client.get(world.address).content.decode()
    assert world.post(by="me").status_code == 409
    assert not world.members() and members.is_open(Invitation.objects.get())


def test_a_new_person_is_led_to_the_desk_with_a_name_and_a_password(world):
    response = world.post(by="new", username="anna", password=PASSWORD)
    assert response.url == reverse("rate", args=["hills"])
    assert world.members() == {"anna": "rater"}
    assert signed_in(world.client) == "anna"
    assert Client().login(username="anna", password=PASSWORD)
    assert world.client.get(response.url).status_code == 200
    # By the link once more she comes to the desk, and nobody else does.
    assert world.client.get(world.address).url == response.url
    stranger = Client()
    stranger.force_login(make_rater(make_collection("sea"), "boris").user)
    assert stranger.get(world.address).status_code == 404


@pytest.mark.parametrize(
    ("written", "name", "username"),
    [
        ("Frida Kahlo", "Frida Kahlo", "frida.kahlo"),
        ("Frida Kahlo <f.k@example.org>", "Frida Kahlo", "frida.kahlo"),
        ("f.k@example.org", "", "f.k"),
        ("<f.k@example.org>", "", "f.k"),
        ("Żółć (team 2)", "Żółć (team 2)", "żółć.team.2"),
    ],
)
def test_names_are_proposed_from_what_the_admin_wrote_and_are_valid(written, name, username):
    world = World(name=written)
    form = world.client.get(world.address).context["new"]
    assert (form["name"].value(), form["username"].value()) == (name, username)
    proposed = {field: form[field].value() for field in ("name", "username")}
    assert world.post(by="new", password=PASSWORD, **proposed).status_code == 302
    assert signed_in(world.client) == username
    assert Rater.objects.get().name == (name or username)


def test_a_first_and_a_last_name_are_no_error_in_either_field(world):
    assert world.post(by="new", name=" Frida  Kahlo ", username="Frida  K", password=PASSWORD).status_code == 302
    assert Client().login(username="Frida K", password=PASSWORD)
    rater = Rater.objects.get()
    assert rater.name == "Frida Kahlo"
    admin = signed_in_as(make_member(world.collection, "admin", Role.ADMIN))
    people = admin.get(reverse("people", args=["hills"])).content.decode()
    assert "Frida Kahlo</a>" in people
    page = admin.get(reverse("rater", args=["hills", rater.pk])).content.decode()
    assert 'Signs in as <b dir="auto">Frida K</b>' in page


def test_two_people_of_one_name_are_told_apart(world):
    world.post(by="new", name="Frida Kahlo", username="frida", password=PASSWORD)
    _, key = members.invite(world.collection, ["another"], role=Role.RATER, days=7, by=None)[0]
    sent = {"by": "new", "name": "Frida Kahlo", "username": "frida2", "password": PASSWORD}
    assert Client().post(reverse("join", args=[key]), sent).status_code == 302
    first, second = Rater.objects.order_by("pk").values_list("name", flat=True)
    assert first == "Frida Kahlo" and second.startswith("Frida Kahlo (account ")


def test_a_refused_form_keeps_what_was_typed(world):
    make_user("frida")
    response = world.post(by="new", name="Frida K.", username="frida", password=PASSWORD)
    page = response.content.decode()
    assert response.status_code == 400 and 'value="Frida K."' in page and 'value="frida"' in page
    assert "Somebody has this username already." in page


@pytest.mark.parametrize(("role", "name"), [(Role.ANALYST, "overview"), (Role.ADMIN, "people")])
def test_others_are_led_to_the_results_and_have_the_pages_of_their_role(role, name):
    world = World(role)
    assert world.post(by="new", username="anna", password=PASSWORD).url == reverse("overview", args=["hills"])
    assert world.client.get(reverse(name, args=["hills"])).status_code == 200


def test_who_is_signed_in_joins_with_one_press_and_a_second_press_is_the_same(world):
    world.client.force_login(make_user("boris"))
    assert "Join as boris" in world.client.get(world.address).content.decode()
    for _ in range(2):
        assert world.post(by="me").url == reverse("rate", args=["hills"])
    assert world.members() == {"boris": "rater"}


def test_nobody_joins_with_an_account_that_the_page_did_not_name(world):
    """The page was opened before somebody signed in in another tab, or out."""
    assert world.post(by="me").status_code == 409
    world.client.force_login(make_user("boris"))
    response = world.post(by="new", username="anna", password=PASSWORD)
    assert response.status_code == 409 and "Join as boris" in response.content.decode()
    assert not world.members()
    assert not get_user_model().objects.filter(username="anna").exists()


def test_a_member_keeps_their_role_and_the_link_stays_for_whom_it_was_meant(world):
    world.client.force_login(make_member(world.collection, "dora", Role.ADMIN))
    assert world.client.get(world.address).status_code == 200
    assert world.post(by="me").status_code == 409
    assert world.members() == {"dora": "admin"}
    assert members.is_open(Invitation.objects.get())


def test_a_weak_password_or_a_taken_name_is_refused(world):
    make_user("anna2")
    make_user("Änna")
    weak = ("annabella", "annabella1"), ("anna", "password"), ("anna", "q7"), ("", "")
    for username, password in (*weak, *((name, PASSWORD) for name in ("an/na", "ANNA2", "äNNA"))):
        response = world.post(by="new", username=username, password=password)
        assert response.status_code == 400
        assert PASSWORD not in response.content.decode()  # a page never holds a password
    assert not world.members() and members.is_open(Invitation.objects.get())


def test_used_withdrawn_expired_and_unknown_links_get_one_and_the_same_page(world):
    def page(key: str) -> tuple[int, str]:
        response = Client().get(reverse("join", args=[key]))
        return response.status_code, response.content.decode()

    unknown = page("x" * 43)
    assert unknown[0] == 404 and "Hills" not in unknown[1]
    now = timezone.now()
    for changed in ({"accepted_at": now}, {"withdrawn_at": now}, {"expires_at": now - timedelta(seconds=1)}):
        fresh = {"accepted_at": None, "withdrawn_at": None, "expires_at": now + timedelta(days=1)}
        Invitation.objects.update(**fresh | changed)
        assert page(world.key) == unknown
        assert Client().post(world.address, {"by": "new"}).status_code == 404
    for key in ("%00", "é", "a" * 3_000, "' or 1=1"):  # which no key has
        assert page(key)[0] == 404


def test_the_page_leaks_its_address_to_no_other_page_and_to_no_store(world):
    for response in (world.client.get(world.address), world.post(by="new")):
        assert response["Referrer-Policy"] == "strict-origin"
        assert "no-store" in response["Cache-Control"]
        assert world.key not in response.content.decode()


def test_the_key_is_in_no_line_of_a_log(world, caplog):
    """Django notes refused requests with their address; what is printed goes through the formatter."""
    Client(enforce_csrf_checks=True).post(world.address, {"by": "new"})
    members.withdraw(world.invitation)
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


def test_names_cannot_be_tried_here_without_end(world, monkeypatch):
    """The answer tells which names are taken."""
    clocks.stopped(monkeypatch, 1_000_000)
    answers = [world.post(by="new", username="boris", password="weak") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [429]
    assert answers[-1]["Referrer-Policy"] == "strict-origin"  # the page's address has the key
    assert not world.members()

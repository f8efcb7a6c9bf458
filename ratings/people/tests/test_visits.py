"""Looking around in the sample: by links of the terminal, on this machine, while the sample is on."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from ratings.collection import sample
from ratings.models import Collection, Role, Scope
from ratings.people import tokens, visits
from ratings.tests.cast import make_member

pytestmark = pytest.mark.django_db

HERE = {"host": "127.0.0.1:8000"}


@pytest.fixture(scope="module")
def loaded(standing) -> None:
    sample.load_on_first_start()


@pytest.fixture(autouse=True)
def here(loaded, settings, tmp_path) -> None:
    settings.DATA_DIR, settings.DEMO = tmp_path, True
    sample.prepare()


def links(*roles: str) -> list[str]:
    """The addresses that the command prints, without the site."""
    out = StringIO()
    call_command("sign_in_link", *map(visits.username, roles), site="http://127.0.0.1:8000/", stdout=out)
    return [line.removeprefix("http://127.0.0.1:8000") for line in out.getvalue().split()]


def visitor(role: str = "admin") -> Client:
    client = Client(headers=HERE)
    (link,) = links(role)
    assert client.post(link).status_code == 302
    return client


def name_of(client: Client) -> str:
    return client.get(reverse("session")).json()["name"]


def test_each_link_leads_into_one_role_once():
    client, roles = Client(headers=HERE), ("rater", "analyst", "admin")
    for role, link in zip(roles, links(*roles), strict=True):
        assert f"sample-{role}" in client.get(link).content.decode()
        assert name_of(client) == ""
        assert client.post(link).status_code == 302
        assert name_of(client) == f"sample-{role}"
        client.post(reverse("sign_out"))
        assert client.post(link).status_code == 404


@pytest.mark.parametrize(
    ("host", "facts"),
    [
        ("ratings.example.org", {}),
        ("127.0.0.1.example.org", {}),
        ("127.0.0.1:8000", {"REMOTE_ADDR": "10.0.0.9"}),
        ("127.0.0.1:8000", {"REMOTE_ADDR": ""}),  # a socket of a proxy
    ],
)
def test_elsewhere_than_on_this_machine_no_link_leads_in(settings, host, facts):
    settings.ALLOWED_HOSTS = ["*"]
    (link,) = links("admin")
    stranger = Client(headers={"host": host}, **facts)
    assert stranger.get(link).status_code == stranger.post(link).status_code == 404
    assert Client(headers=HERE).post(link).status_code == 302  # it is not used up


def test_a_visitor_needs_no_second_factor_and_an_account_beside_the_sample_does(settings):
    settings.SECOND_FACTOR = {"admin"}
    overview = reverse("overview", args=[Collection.objects.get().slug])
    assert visitor().get(overview).status_code == 200
    other = Client(headers=HERE)
    other.force_login(make_member(Collection.objects.get(), "ada", Role.ADMIN))
    assert other.get(overview)["Location"] == reverse("mfa_index")


def test_where_it_is_off_nobody_is_in_and_no_token_of_a_visitor_opens(settings):
    client, (link,) = visitor(), links("rater")
    user = client.get("/").context["user"]
    _, opens = tokens.make(user, Collection.objects.get(), name="nightly", scopes=[Scope.READ], days=1)
    assert tokens.valid_token(opens)
    settings.DEMO = False
    sample.prepare()  # the next start, which is for others
    assert tokens.valid_token(opens) is None
    assert name_of(client) == ""
    assert Client(headers=HERE).post(link).status_code == 404
    settings.DEMO = True
    sample.prepare()
    assert visitor("rater")


def test_a_start_and_each_command_after_it_print_a_link_for_each_role(settings):
    for settings.DEMO in (True, False):  # a command has not the setting that a start gives the server
        out = StringIO()
        call_command("sign_in_link", sample=True, stdout=out)
        assert [line.split()[1] for line in out.getvalue().splitlines()[1:]] == ["rater", "analyst", "admin"]


def test_where_the_sample_is_closed_or_others_are_served_the_command_says_how_to_look_around(settings):
    settings.FOR_OTHERS = True
    with pytest.raises(CommandError, match="IDEALIST_DATA=another-folder python3 run.py"):
        call_command("sign_in_link", sample=True)
    settings.FOR_OTHERS = settings.DEMO = False
    sample.prepare()  # a start with --host
    with pytest.raises(CommandError, match="To look around, start another server"):
        call_command("sign_in_link", sample=True)


@pytest.mark.parametrize(("role", "page"), [("rater", "rate"), ("analyst", "overview"), ("admin", "progress")])
def test_looking_around_begins_where_the_role_works(role, page):
    client = Client(headers=HERE)
    (link,) = links(role)
    assert client.post(link).url == reverse(page, args=[sample.SLUG])


def test_the_admin_of_the_sample_may_make_a_collection_and_the_others_may_not():
    status = {
        role: visitor(role).get(reverse("new_collection")).status_code for role in ("admin", "analyst", "rater")
    }
    assert status == {"admin": 200, "analyst": 404, "rater": 404}

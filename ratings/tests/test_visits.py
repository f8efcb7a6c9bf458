"""Looking around in the sample: with the key of the terminal, from this machine, until a stranger may be there."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from ratings import sample
from ratings.models import Collection, Role, Scope
from ratings.people import tokens, visits
from ratings.tests.cast import make_member

pytestmark = pytest.mark.django_db

HERE = {"host": "127.0.0.1:8000"}
AS_ADMIN = "/look-around/admin/"


@pytest.fixture(scope="module")
def loaded(standing) -> None:
    sample.load_on_first_start()


@pytest.fixture(autouse=True)
def here(loaded, settings, tmp_path) -> None:
    settings.DATA_DIR, settings.DEMO = tmp_path, True
    sample.prepare()


def key() -> str:
    return visits.key_file().read_text().strip()


def visitor(**facts) -> Client:
    """A browser that opened the link of the terminal."""
    client = Client(headers=HERE, **facts)
    assert client.get("/", {"look": key()}).status_code == 302
    return client


def name_of(client: Client) -> str:
    return client.get(reverse("session")).json()["name"]


def test_with_the_key_one_looks_around_in_each_role_and_the_address_does_not_keep_it():
    client = Client(headers=HERE)
    answer = client.get("/", {"look": key()})
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert answer.cookies[visits.COOKIE]["httponly"] and answer.cookies[visits.COOKIE]["samesite"] == "Lax"
    for role in ("rater", "analyst", "admin"):
        assert client.post(reverse("look_around", args=[role])).status_code == 302
        assert name_of(client) == f"sample-{role}"
        client.post(reverse("sign_out"))
    assert client.post(reverse("look_around", args=["owner"])).status_code == 404
    assert client.get(AS_ADMIN).status_code == 405


def test_a_visitor_needs_no_second_factor_and_an_account_beside_the_sample_does(settings):
    settings.SECOND_FACTOR = {"admin"}
    client = visitor()
    client.post(AS_ADMIN)
    overview = reverse("overview", args=[Collection.objects.get().slug])
    assert client.get(overview).status_code == 200
    other = Client(headers=HERE)
    other.force_login(make_member(Collection.objects.get(), "ada", Role.ADMIN))
    assert other.get(overview)["Location"] == reverse("mfa_index")


@pytest.mark.parametrize("look", [None, "", "a" * 32, "clé"])
def test_who_comes_through_a_bare_forwarder_lacks_the_key(look):
    """Nothing in such a request shows where it comes from."""
    client = Client(headers=HERE)
    page = client.get("/", {} if look is None else {"look": look}, follow=True).content.decode()
    assert "Look around as" not in page and "/?look=" in page
    assert client.post(AS_ADMIN).status_code == 404
    assert visits.allowed()


def test_each_start_has_another_key():
    browser, before = visitor(), key()
    sample.prepare()
    assert key() != before
    assert browser.post(AS_ADMIN).status_code == 404
    assert visits.key_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "facts",
    [
        *({f"HTTP_{name}": "203.0.113.9"} for name in ("FORWARDED", "VIA", "X_FORWARDED_FOR", "X_FORWARDED_HOST")),
        *({f"HTTP_{name}": "203.0.113.9"} for name in ("X_REAL_IP", "CF_CONNECTING_IP", "CF_RAY", "CDN_LOOP")),
        *({f"HTTP_{name}": "203.0.113.9"} for name in ("X_ORIGINAL_HOST", "FLY_CLIENT_IP", "TRUE_CLIENT_IP")),
        {"REMOTE_ADDR": "10.0.0.9"},
        {"REMOTE_ADDR": ""},  # a socket of a proxy
        {"SERVER_PROTOCOL": "HTTP/1.0"},  # nginx as it comes
    ],
)
def test_the_first_trace_of_a_proxy_ends_it_for_good_for_who_is_in_already(facts, caplog):
    inside = visitor()
    inside.post(AS_ADMIN)
    assert name_of(inside) == "sample-admin"
    stranger = Client(headers=HERE, **facts)
    stranger.cookies = inside.cookies  # even where a stranger had all that a visitor has
    assert name_of(stranger) == ""
    assert name_of(inside) == ""
    assert inside.post(AS_ADMIN).status_code == 404
    assert "Nobody looks around" in caplog.text
    sample.prepare()  # also after another start
    assert not visits.key_file().exists()
    assert "/?look=" not in Client(headers=HERE).get("/").content.decode()


def test_what_a_browser_sends_is_no_trace():
    client = visitor()
    usual = {"x-requested-with": "x", "x-csrftoken": "y", "sec-fetch-site": "none", "connection": "keep-alive"}
    client.get("/", headers={**usual, "origin": "http://127.0.0.1:8000", "upgrade-insecure-requests": "1"})
    assert visits.allowed()


def test_by_another_name_nobody_looks_around(settings):
    client = visitor()
    settings.ALLOWED_HOSTS = ["*"]
    assert client.post(AS_ADMIN, headers={"host": "ratings.example.org"}).status_code == 404


def test_where_it_is_off_nobody_is_in_and_no_token_of_a_visitor_opens(settings):
    client = visitor()
    client.post(AS_ADMIN)
    user = client.get("/").context["user"]
    _, opens = tokens.make(user, Collection.objects.get(), name="nightly", scopes=[Scope.READ], days=1)
    assert tokens.valid_token(opens)
    settings.DEMO = False  # the next start is for others
    assert tokens.valid_token(opens) is None
    assert name_of(client) == ""
    assert client.post(AS_ADMIN).status_code == 404


def test_no_account_of_the_sample_has_a_password_or_all_power():
    accounts = get_user_model().objects.filter(username__in=visits.NAMES)
    assert len(accounts) == 3
    assert not any(account.has_usable_password() or account.is_superuser for account in accounts)


def test_without_the_switch_there_is_no_sample(settings):
    Collection.objects.all().delete()
    settings.DEMO = False
    sample.prepare()
    assert not Collection.objects.exists() and not visits.key_file().exists()


def test_an_installation_without_the_sample_has_no_key():
    Collection.objects.all().delete()
    get_user_model().objects.filter(username__in=visits.NAMES).delete()
    Collection.objects.create(slug="own", name="Own")
    sample.prepare()
    assert not visits.key_file().exists()

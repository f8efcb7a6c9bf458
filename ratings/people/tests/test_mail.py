"""Mail: invitations and forgotten passwords, and nothing of it where no server is set."""

import re
from html import unescape
from smtplib import SMTPException
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from ratings.models import Invitation, Role
from ratings.people import mail, members, throttle
from ratings.tests import clocks
from ratings.tests.cast import make_collection, make_member, make_user

pytestmark = pytest.mark.django_db

OLD, NEW = "a pass phrase", "four quiet green hills"


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    return clocks.stopped(monkeypatch, 1_000_000)


@pytest.fixture
def server(settings):
    settings.MAIL = {"EMAIL_HOST": "mail.example.org"}
    settings.ALLOWED_HOSTS, settings.HTTPS = ["ratings.example.org", "testserver"], True
    settings.SITES = [f"https://{host}" for host in settings.ALLOWED_HOSTS]


def invited(names: str):
    make_member(make_collection(), "admin", Role.ADMIN)
    client = Client()
    client.force_login(get_user_model().objects.get(username="admin"))
    sent = {"names": names, "role": "rater", "days": "7"}
    return client.post(reverse("invite", args=["hills"]), sent).content.decode()


def test_an_invitation_goes_to_its_address_and_its_link_to_nobody_else(server, mailoutbox):
    page = invited("anna@example.org\nboris")
    assert [mail.to for mail in mailoutbox] == [["anna@example.org"]]
    link = re.search(r"https://ratings.example.org/join/\S+", mailoutbox[0].body)[0]
    assert link not in page and page.count("/join/") > 0
    joined = Client()
    sent = {"by": "new", "username": "anna", "password": NEW}
    assert joined.post(urlsplit(link).path, sent).status_code == 302
    assert get_user_model().objects.get(username="anna").email == "anna@example.org"


def test_without_a_server_all_links_are_shown_and_nothing_is_sent(mailoutbox):
    page = invited("anna@example.org\nboris")
    assert page.count("http://testserver/join/") >= 2
    assert not mailoutbox and not Invitation.objects.filter(mailed=True).exists()
    link = re.search(r"/join/[\w-]+/", page)[0]
    Client().post(link, {"by": "new", "username": "anna", "password": NEW})
    assert get_user_model().objects.get(username="anna").email == ""


@pytest.mark.parametrize(
    ("name", "to"), [("boris", ""), ("b@example.org", "b@example.org"), ("Boris <b@example.org>", "b@example.org")]
)
def test_a_link_is_copied_or_opens_a_mail_of_the_admin_themselves(name, to):
    page = invited(name)
    link = re.search(r"http://testserver/join/[\w-]+/", page)[0]
    mailto = urlsplit(unescape(re.search(r'href="(mailto:[^"]+)"', page)[1]))
    parts = parse_qs(mailto.query, strict_parsing=True)
    assert (unquote(mailto.path), parts["subject"]) == (to, ["An invitation to Idealist"])
    assert "invited to Hills: you grade" in parts["body"][0] and f"\r\n{link}\r\n" in parts["body"][0]
    assert re.search(rf'<button[^>]* data-copies="{link}"[^>]* hidden>Copy</button>', page)
    assert "+" not in mailto.query  # mail programs show it


@pytest.mark.parametrize("error", [SMTPException("no"), ConnectionRefusedError("no")])
def test_what_cannot_be_sent_is_shown(server, monkeypatch, error):
    def fails(self, **options):
        raise error

    monkeypatch.setattr(EmailMessage, "send", fails)
    assert invited("anna@example.org").count("/join/") > 0
    assert not Invitation.objects.filter(mailed=True).exists()


def test_a_name_of_several_lines_makes_no_header(server, mailoutbox):
    assert mail.send("anna@example.org", "Hills\nBcc: boris@example.org", "text")
    assert mailoutbox[0].subject == "Hills Bcc: boris@example.org"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Hills 2.0, part of lamps.", "Hills 2.0, part of lamps."),
        ("You won: www.evil.example", "hills"),
        ("https://evil.example/x", "hills"),
        ("evil。example", "hills"),
        ("Write to a@b", "hills"),
    ],
)
def test_an_admin_writes_no_address_into_mail(server, mailoutbox, name, told):
    hills = make_collection()
    hills.name = name
    hills.save()
    mail.send_invitations([(members.invite(hills, ["a@example.org"], role="rater", days=7, by=None)[0][0], "/x/")])
    assert f"invited to {told}: you grade" in mailoutbox[0].body and name not in mailoutbox[0].subject


# Forgotten passwords


def asked(address: str, **facts):
    return Client().post(reverse("forgotten_password"), {"email": address}, **facts)


def answered(link: str, **facts) -> int:
    """The status of the form behind the link, sent by a new browser."""
    client = Client()
    form = client.get(link, follow=True, **facts).request["PATH_INFO"]
    return client.post(form, {"new_password1": NEW, "new_password2": NEW}, **facts).status_code


def test_no_stranger_keeps_others_from_setting_a_password(clock):
    make_user("anna")
    for number in range(30):
        answered(f"/accounts/forgotten/xx/{number}/", REMOTE_ADDR="10.0.0.9")
    assert answered("/accounts/forgotten/xx/yy/", REMOTE_ADDR="10.0.0.9") == 429
    assert answered(mail.password_link(get_user_model().objects.get()), REMOTE_ADDR="10.0.0.8") == 302


def test_a_room_full_of_people_sets_passwords_in_one_minute(clock):
    for number in range(throttle.TRIES_PER_ADDRESS + 1):
        assert answered(mail.password_link(make_user(f"anna{number}"))) == 302


def worked() -> None:
    """Do what waits for the worker."""
    for row in DBTaskResult.objects.filter(task_path=mail.send_reset.module_path):
        mail.send_reset.call(*row.args_kwargs["args"], **row.args_kwargs["kwargs"])


@pytest.mark.both_databases
def test_a_forgotten_password_is_set_by_the_link_once(server, mailoutbox):
    make_user("anna", email="anna@example.org")
    assert asked("Anna@example.org").status_code == 302
    assert not mailoutbox  # the worker sends it
    worked()
    link = re.search(r"https://ratings.example.org(/accounts/forgotten/\S+)", mailoutbox[0].body)[1]
    client = Client()
    page = client.get(link, follow=True)
    form = page.redirect_chain[-1][0]
    sent = {"new_password1": NEW, "new_password2": NEW}
    assert client.post(form, sent).url == reverse("sign_in")
    assert client.get(reverse("session")).json()["name"] == ""  # it signs nobody in
    assert get_user_model().objects.get().check_password(NEW)
    assert "been used, or is older" in Client().get(link, follow=True).content.decode()


def test_an_unknown_address_gets_the_same_answer_and_no_mail(server, mailoutbox):
    make_user("anna", email="anna@example.org")
    make_user("berta", email="berta@example.org").set_unusable_password()
    known, unknown = asked("anna@example.org"), asked("nobody@example.org")
    assert (known.status_code, known.url) == (unknown.status_code, unknown.url)
    get_user_model().objects.filter(username="anna").update(is_active=False)
    worked()
    assert not mailoutbox


def test_requests_are_counted_by_address_of_both_kinds(server, clock):
    statuses = [asked("anna@example.org", REMOTE_ADDR=f"10.0.0.{i}").status_code for i in range(6)]
    assert statuses == [302] * 5 + [429]
    clocks.cache.clear()
    statuses = []
    for minute in range(5):  # five a minute are twenty a day
        clock.now += throttle.MINUTE
        statuses += [asked("anna@example.org", REMOTE_ADDR=f"10.0.{minute}.{i}").status_code for i in range(5)]
    assert statuses == [302] * throttle.MAILS_A_DAY + [429] * 5
    clocks.cache.clear()
    statuses = [asked(f"name{i}@example.org").status_code for i in range(throttle.TRIES_PER_ADDRESS + 1)]
    assert statuses == [302] * throttle.TRIES_PER_ADDRESS + [429]


@pytest.mark.parametrize(("passwords", "there"), [(True, True), (False, False)])
def test_without_passwords_or_mail_there_is_no_such_page(settings, server, passwords, there):
    settings.PASSWORDS, settings.OIDC = passwords, {"name": "Example ID"}
    assert Client().get(reverse("forgotten_password")).status_code == (200 if there else 404)
    assert ("Forgotten password" in Client().get(reverse("sign_in")).content.decode()) == there
    settings.MAIL = {}
    assert Client().get(reverse("forgotten_password")).status_code == 404

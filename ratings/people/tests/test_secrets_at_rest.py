"""Secrets of second factors in the database: what it has, other keys, and what came from former versions."""

import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from ratings.people.sign_in.second_factor import unreadable
from ratings.people.sign_in.secrets_at_rest import ENCRYPTED_MARK, Unreadable, decrypt, encrypt
from ratings.tests.cast import make_user

pytestmark = pytest.mark.django_db

SECRET = "JBSWY3DPEHPK3PXP"
FORMER, OTHER = (
    "former key of at least fifty random signs 0123456789",
    "x" * 20 + "another key of fifty signs 0123456",
)


@pytest.fixture
def app():
    cache.clear()  # of codes that another test used
    return TOTP.activate(make_user("anna"), SECRET).instance


def sign_in(code: str) -> str:
    client = Client()
    client.post(reverse("sign_in"), {"username": "anna", "password": "a pass phrase"})
    client.post(reverse("mfa_authenticate"), {"code": code})
    return client.get(reverse("session")).json()["name"]


def right_code() -> str:
    if time.time() % 30 > 26:
        time.sleep(30 - time.time() % 30)  # so that it still holds when it is given
    return format_hotp_value(hotp_value(SECRET, int(time.time()) // 30))


def test_the_database_has_no_secret_and_the_code_signs_in(app):
    app.refresh_from_db()
    assert app.data["secret"].startswith(ENCRYPTED_MARK) and SECRET not in app.data["secret"]
    assert sign_in("000000") == "" and sign_in(right_code()) == "anna"


def test_two_texts_of_one_secret_differ_and_a_changed_one_is_refused():
    one, other = encrypt(SECRET), encrypt(SECRET)
    assert one != other and decrypt(one) == decrypt(other) == SECRET
    with pytest.raises(Unreadable):
        decrypt(one[:-6] + ("A" if one[-6] != "A" else "B") + one[-5:])


def test_factors_of_a_lost_key_are_counted(app, settings):
    Authenticator.objects.create(user=make_user("boris"), type="webauthn", data={"name": "a key without a secret"})
    RecoveryCodes.activate(app.user)
    assert unreadable() == 0
    former, settings.SECRET_KEY = settings.SECRET_KEY, OTHER
    assert unreadable() == 2
    settings.SECRET_KEY_FALLBACKS = [former]
    assert unreadable() == 0


def test_a_former_key_reads_and_the_next_use_makes_it_needless(app, settings):
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = FORMER, [settings.SECRET_KEY]
    assert sign_in(right_code()) == "anna"
    settings.SECRET_KEY_FALLBACKS = []
    app.refresh_from_db()
    assert decrypt(app.data["secret"]) == SECRET


def test_without_the_key_no_code_is_right_and_no_page_breaks(app, settings, caplog):
    RecoveryCodes.activate(app.user)
    settings.SECRET_KEY = OTHER
    assert sign_in(right_code()) == ""
    assert "by the command remove_second_factor" in caplog.text
    client = Client()
    client.force_login(app.user)
    client.post(reverse("account_reauthenticate"), {"password": "a pass phrase"})
    for name in ("mfa_index", "mfa_reauthenticate"):
        assert client.get(reverse(name)).status_code in {200, 302}

"""What the environment says of sign-in, and what is refused."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import sign_in

ISSUER = {"IDEALIST_OIDC_ISSUER": "https://id.example.org/"}
CLIENT = ISSUER | {"IDEALIST_OIDC_CLIENT": "idealist", "IDEALIST_OIDC_SECRET": "secret"}
WRONG = [
    ("provider", {"IDEALIST_OIDC_ISSUER": "http://id.example.org"}, "begins with https://"),
    ("provider", {"IDEALIST_OIDC_ISSUER": "id.example.org"}, "begins with https://"),
    ("provider", ISSUER, "IDEALIST_OIDC_CLIENT is missing"),
    ("provider", CLIENT | {"IDEALIST_OIDC_SECRET": " "}, "IDEALIST_OIDC_SECRET is missing"),
    ("provider", CLIENT | {"IDEALIST_OIDC_SCOPES": "email"}, "lacks openid"),
    ("roles_of_groups", {"IDEALIST_OIDC_ROLES": "raters"}, "IDEALIST_OIDC_ROLES has 'raters'"),
    ("roles_of_groups", {"IDEALIST_OIDC_ROLES": "raters=shop:owner"}, "'raters=shop:owner'"),
    ("roles_of_groups", {"IDEALIST_OIDC_ROLES": "it=shop:superuser"}, "'it=shop:superuser'"),
    ("roles_of_groups", {"IDEALIST_OIDC_ROLES": "it=admin"}, "'it=admin'"),
    ("roles_with_second_factor", {"IDEALIST_SECOND_FACTOR": "admin,owner"}, "IDEALIST_SECOND_FACTOR has 'owner'"),
    ("second_factor_at_provider", {"IDEALIST_OIDC_SECOND_FACTOR": "1"}, "write the values of acr or amr"),
    ("session_limits", {"IDEALIST_SESSIONS": "admin=30"}, "IDEALIST_SESSIONS has 'admin=30'"),
    ("session_limits", {"IDEALIST_SESSIONS": "admin=0m/1h"}, "IDEALIST_SESSIONS has"),
    ("session_limits", {"IDEALIST_SESSIONS": "owner=1m/1h"}, "IDEALIST_SESSIONS has"),
    ("mail", {"IDEALIST_MAIL": "mail.example.org"}, "IDEALIST_MAIL is not the address"),
    ("mail", {"IDEALIST_MAIL": "smtp://mail.example.org:port"}, "IDEALIST_MAIL is not the address"),
    ("mail", {"IDEALIST_MAIL": "smtp://mail.example.org"}, "IDEALIST_MAIL_FROM is ''"),
]
ROLES = "CN=a,OU=b=shop:rater; it=superuser;\nCN=a,OU=b=news:admin"


def of(monkeypatch, name: str, environment: dict):
    for setting, value in environment.items():
        monkeypatch.setenv(setting, value)
    return getattr(sign_in, name)()


@pytest.mark.parametrize(("name", "environment", "said"), WRONG)
def test_what_is_wrong_is_refused_with_words(monkeypatch, name, environment, said):
    with pytest.raises(ImproperlyConfigured, match=".") as refused:
        of(monkeypatch, name, environment)
    assert said in str(refused.value)


def test_what_is_right_is_understood(monkeypatch):
    found = of(monkeypatch, "provider", CLIENT)
    assert found["issuer"] == "https://id.example.org" and found["scopes"] == ["openid", "profile", "email"]
    roles = {"CN=a,OU=b": [("shop", "rater"), ("news", "admin")], "it": [("", "superuser")]}
    assert of(monkeypatch, "roles_of_groups", {"IDEALIST_OIDC_ROLES": ROLES}) == roles
    assert of(monkeypatch, "roles_with_second_factor", {"IDEALIST_SECOND_FACTOR": "admin, superuser"}) == {
        "admin",
        "superuser",
    }
    limits = {"admin": (1800, 43_200), "rater": (86_400, 1_209_600)}
    assert of(monkeypatch, "session_limits", {"IDEALIST_SESSIONS": "admin=30m/12h, rater=1d/14d"}) == limits
    mail = of(
        monkeypatch,
        "mail",
        {"IDEALIST_MAIL": "smtp+tls://me:a%40b@mail.example.org", "IDEALIST_MAIL_FROM": "me@example.org"},
    )
    assert (mail["EMAIL_PORT"], mail["EMAIL_USE_TLS"], mail["EMAIL_HOST_PASSWORD"]) == (587, True, "a@b")


def test_a_provider_on_this_machine_needs_no_tls(monkeypatch):
    assert of(monkeypatch, "provider", CLIENT | {"IDEALIST_OIDC_ISSUER": "http://localhost:8080/realms/x"})


def test_by_default_there_is_nothing(monkeypatch):
    assert (sign_in.provider(), sign_in.roles_of_groups(), sign_in.session_limits()) == (None, {}, {})
    assert (sign_in.roles_with_second_factor(), sign_in.mail()) == (frozenset(), {})


def test_values_of_a_second_factor_at_the_provider(monkeypatch):
    name = "second_factor_at_provider"
    assert of(monkeypatch, name, {"IDEALIST_OIDC_SECOND_FACTOR": "mfa, otp urn:two"}) == {"mfa", "otp", "urn:two"}
    assert of(monkeypatch, name, {"IDEALIST_OIDC_SECOND_FACTOR": "0"}) == frozenset()

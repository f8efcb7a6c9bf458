"""Settings of sign-in from the environment: provider, roles of groups, second factors, sessions and mail."""

import os
import re
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

COLLECTION_ROLES = ("rater", "analyst", "admin")
ROLES = (*COLLECTION_ROLES, "superuser")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SECONDS = {"m": 60, "h": 3600, "d": 86_400}
MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def provider() -> dict | None:
    """The OpenID Connect provider, or None where no issuer is set."""
    issuer = text("IDEALIST_OIDC_ISSUER").rstrip("/")
    if not issuer:
        return None
    if not is_safe(urlsplit(issuer)):
        raise ImproperlyConfigured(
            f"IDEALIST_OIDC_ISSUER is {issuer!r}; write an address that begins with https://."
        )
    for name in ("IDEALIST_OIDC_CLIENT", "IDEALIST_OIDC_SECRET"):
        if not text(name):
            raise ImproperlyConfigured(f"{name} is missing; IDEALIST_OIDC_ISSUER needs it.")
    scopes = text("IDEALIST_OIDC_SCOPES", "openid profile email").split()
    if "openid" not in scopes:
        raise ImproperlyConfigured(
            "IDEALIST_OIDC_SCOPES lacks openid; write it first, as in openid profile email."
        )
    return {
        "issuer": issuer,
        "client": text("IDEALIST_OIDC_CLIENT"),
        "secret": text("IDEALIST_OIDC_SECRET"),
        "name": text("IDEALIST_OIDC_NAME", "your organisation"),
        "scopes": scopes,
        "groups_claim": text("IDEALIST_OIDC_GROUPS_CLAIM", "groups"),
    }


def is_safe(address: SplitResult) -> bool:
    return address.scheme == "https" or (address.scheme == "http" and address.hostname in LOOPBACK)


def roles_of_groups() -> dict[str, list[tuple[str, str]]]:
    """{group: its roles as (slug of the collection, role)}; the slug is "" for superusers."""
    roles: dict[str, list[tuple[str, str]]] = {}
    for line in re.split(r"[;\n]", text("IDEALIST_OIDC_ROLES")):
        if not line.strip():
            continue
        # The name of a group may contain = and :, as in CN=raters,OU=search.
        group, _, value = (part.strip() for part in line.rpartition("="))
        slug, _, role = value.rpartition(":")
        # Roles are those in a collection; a superuser is one everywhere.
        is_role = role in COLLECTION_ROLES if slug else role == "superuser"
        if not (group and is_role):
            raise ImproperlyConfigured(
                f"IDEALIST_OIDC_ROLES has {line.strip()!r}; write group=collection:role or group=superuser, "
                "with a semicolon between two. Roles are rater, analyst and admin."
            )
        roles.setdefault(group, []).append((slug, role))
    return roles


def roles_with_second_factor() -> frozenset[str]:
    roles = frozenset(part.strip() for part in text("IDEALIST_SECOND_FACTOR").split(",") if part.strip())
    if wrong := sorted(roles - {*ROLES}):
        raise ImproperlyConfigured(f"IDEALIST_SECOND_FACTOR has {wrong[0]!r}; the roles are {', '.join(ROLES)}.")
    return roles


def second_factor_at_provider() -> frozenset[str]:
    """The values by which a provider states that it asked for a second factor."""
    values = frozenset(text("IDEALIST_OIDC_SECOND_FACTOR").replace(",", " ").split()) - {"0"}
    if "1" in values:
        raise ImproperlyConfigured(
            "IDEALIST_OIDC_SECOND_FACTOR is 1; write the values of acr or amr with which the provider says that "
            "it asked for a second factor, as in mfa,otp,hwk. One that says nothing is not trusted."
        )
    return values


def session_limits() -> dict[str, tuple[float, float]]:
    """{role: (seconds of idleness, seconds since the sign-in) after which sessions end}"""
    limits: dict[str, tuple[float, float]] = {}
    for part in text("IDEALIST_SESSIONS").replace(",", " ").split():
        role, _, times = part.partition("=")
        # Two numbers above 0, each with its unit.
        match = re.fullmatch(r"(0*[1-9]\d*)([mhd])/(0*[1-9]\d*)([mhd])", times)
        if role not in ROLES or not match:
            raise ImproperlyConfigured(
                f"IDEALIST_SESSIONS has {part!r}; write role=idle/longest, as in admin=30m/12h, "
                f"with a comma between two. The roles are {', '.join(ROLES)}; m, h and d are units."
            )
        idle, idle_unit, longest, longest_unit = match.groups()
        limits[role] = (int(idle) * SECONDS[idle_unit], int(longest) * SECONDS[longest_unit])
    return limits


def mail() -> dict:
    """Django's settings of mail, from the address of an SMTP server; {} where none is set."""
    address = text("IDEALIST_MAIL")
    if not address:
        return {}
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None  # without a scheme, so that it is refused below
    if parts.scheme not in MAIL_PORTS or not parts.hostname:
        raise ImproperlyConfigured(
            "IDEALIST_MAIL is not the address of a mail server; write smtp+tls://user:password@host:587, "
            "or smtps:// for TLS from the start, or smtp:// for none."
        )
    sender = text("IDEALIST_MAIL_FROM")
    if "@" not in sender:
        raise ImproperlyConfigured(f"IDEALIST_MAIL_FROM is {sender!r}; write the address that mail comes from.")
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port or MAIL_PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",  # STARTTLS, after a connection without TLS
        "EMAIL_USE_SSL": parts.scheme == "smtps",  # TLS from the start
        "EMAIL_TIMEOUT": 10,
        "DEFAULT_FROM_EMAIL": sender,
    }

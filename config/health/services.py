"""The checks of what other programs do for this one: store of files, cache, mail and provider; and of backups."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import requests
from django.conf import settings
from django.core.cache import caches
from django.core.files.storage import storages
from django.core.mail import get_connection

from config.backup import schedule
from ratings.people.mail import FAILED
from ratings.sign_in import saml
from ratings.sign_in.oidc import fetched
from ratings.sign_in.person import Away, Refused

from .modes import Problem

BUCKET = "config.machines.bucket.Bucket"
DISCOVERY = "/.well-known/openid-configuration"
SOON = timedelta(days=30)


def store() -> Iterator[Problem]:
    """Whether the store of files answers, where it is not a folder."""
    if settings.STORAGES["uploads"]["BACKEND"] != BUCKET:
        return
    try:
        storages["uploads"].look()
    except FileNotFoundError:
        cure = "Make it, with keys that may list, read, write and delete in it, or correct STORAGE_URL."
        yield Problem("The store of files has no bucket of this name.", cure)
    except OSError as error:
        yield Problem(str(error), "Start it, or correct STORAGE_URL and the keys in AWS_ACCESS_KEY_ID.")


def tries() -> Iterator[Problem]:
    """Whether tries to sign in can be counted: without that nobody signs in."""
    try:
        caches["tries"].get("whether-it-answers")
    except Exception as error:  # each cache has errors of its own
        said = f"Tries to sign in cannot be counted: {error or type(error).__name__}"
        table = settings.CACHES["tries"]["BACKEND"].endswith(".DatabaseCache")
        cure = "Make its table: python3 run.py manage prepare" if table else "Start the cache of CACHE_URL."
        yield Problem(said, cure)


def mail() -> Iterator[Problem]:
    """Whether the mail server lets this one in, where there is one."""
    if not settings.MAIL:
        return
    server = get_connection(timeout=4)
    try:
        server.open()
        server.close()
    except FAILED as error:
        yield Problem(f"The mail server does not let us in: {error}", "Start it, or correct IDEALIST_MAIL.")


def provider() -> Iterator[Problem]:
    """Whether the provider of sign-in answers, where there is one, and how long its certificates hold."""
    if settings.SAML:
        yield from saml_provider()
    if not settings.OIDC:
        return
    issuer = settings.OIDC["issuer"]
    cure = (
        "Start it, or correct IDEALIST_OIDC_ISSUER. Meanwhile python3 run.py manage sign_in_link lets people in."
    )
    try:
        named = str(fetched(issuer + DISCOVERY).get("issuer")).rstrip("/")
    except (requests.RequestException, ValueError, AttributeError) as error:
        yield Problem(f"The provider of sign-in does not answer as one: {error}", cure)
        return
    if named != issuer:
        yield Problem(f"The provider of sign-in calls itself {named}, not {issuer}.", cure)


def saml_provider() -> Iterator[Problem]:
    """Whether the metadata can be had and used, and whether it and a certificate hold for another month."""
    cure = (
        "Correct IDEALIST_SAML_METADATA, or give it what the provider publishes today. Meanwhile"
        " python3 run.py manage sign_in_link lets people in."
    )
    try:
        found = saml.metadata()
    except Away as error:
        yield Problem(f"The provider's metadata cannot be had: {error.__cause__}", cure)
        return
    except Refused as error:
        yield Problem(f"Nobody can sign in at the provider: {error}.", cure)
        return
    soon = datetime.now(UTC) + SOON
    last = max(each.not_valid_after_utc for each in found.certificates)
    if last < soon:
        said = f"The provider's last certificate to sign ends on {last:%Y-%m-%d}. Its signatures are taken on."
        yield Problem(said, "Ask the provider for the next one, and take its metadata anew.")
    if found.ends and found.ends < soon and "://" not in settings.SAML["metadata"]:
        yield Problem(
            f"The provider's metadata holds until {found.ends:%Y-%m-%d}, and nobody signs in then.", cure
        )


def backups() -> Iterator[Problem]:
    """Whether the worker makes the backups that are asked for."""
    if wrong := schedule.overdue_problem():
        yield Problem(wrong, "Read it there, make room in IDEALIST_BACKUPS, and see that a worker runs.")

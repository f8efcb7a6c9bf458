"""The checks of services that Idealist uses (store of files, cache, mail), and of backups."""

from collections.abc import Iterator
from typing import NamedTuple

from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import storages
from django.core.mail import get_connection

from ratings.copies import schedule
from ratings.people.mail import MAIL_ERRORS

BUCKET_BACKEND = "config.machines.bucket.Bucket"
CACHE_IN_DATABASE = settings.CACHES["default"]["BACKEND"].endswith(".Table")


class Problem(NamedTuple):
    wrong: str  # a sentence that says what is wrong
    cure: str  # what the operator does about it


def store() -> Iterator[Problem]:
    """Whether the store of files, where it is a bucket, answers."""
    if settings.STORAGES["uploads"]["BACKEND"] != BUCKET_BACKEND:
        return
    try:
        storages["uploads"].check_bucket()
    except FileNotFoundError:
        cure = "Make it, with keys that may list, read, write and delete in it, or correct STORAGE_URL."
        yield Problem("The store of files has no bucket of this name.", cure)
    except OSError as error:
        yield Problem(str(error), "Start it, or correct STORAGE_URL and the keys in AWS_ACCESS_KEY_ID.")


def shared_cache() -> Iterator[Problem]:
    """Whether tries to sign in can be counted, without which nobody can sign in."""
    try:
        cache.get("whether-it-answers")
    except Exception as error:  # each cache has its own classes of errors
        cure = "See the log of the server."
        if CACHE_IN_DATABASE:
            cure = f"Make its table: {settings.PROGRAM} manage prepare"
        yield Problem(f"Tries to sign in cannot be counted: {error or type(error).__name__}", cure)


def mail() -> Iterator[Problem]:
    """Whether the mail server, where there is one, accepts a connection."""
    if not settings.MAIL:
        return
    server = get_connection(timeout=4)
    try:
        server.open()
        server.close()
    except MAIL_ERRORS as error:
        yield Problem(f"The mail server refuses the connection: {error}", "Start it, or correct IDEALIST_MAIL.")


def backups() -> Iterator[Problem]:
    """Whether the worker makes backups as often as IDEALIST_BACKUP_EVERY says."""
    if settings.FOR_OTHERS and not settings.BACKUP_EVERY:  # FOR_OTHERS: TLS, hosts or a database are set
        cure = "Set IDEALIST_BACKUP_EVERY=24, and IDEALIST_BACKUPS to a folder on another disk."
        yield Problem("Others are served, and nobody makes backups.", cure)
    try:
        problem = schedule.overdue_problem()
    except OSError as error:
        yield Problem(
            f"The backups cannot be read: {error}", "Correct IDEALIST_BACKUPS, or open it to this account."
        )
        return
    if problem:
        yield Problem(problem, "Read the worker’s log, make room in IDEALIST_BACKUPS, and see that it runs.")

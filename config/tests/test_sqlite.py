"""The transactions of one process take turns at SQLite's one writer, and none keeps the turn."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.backends.sqlite3 import base

from config.sqlite.base import DatabaseWrapper
from ratings.models import Collection

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has many writers"),
]


def in_thread(act: Callable):
    """What `act` returns, done in another thread with a connection of its own."""

    def run():
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def write(slug: str = "other") -> None:
    with transaction.atomic():
        Collection.objects.create(slug=slug, name=slug)


@pytest.fixture
def impatient(monkeypatch) -> None:
    """Who has to wait gives up at once."""
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.05)


def test_a_transaction_has_the_turn_until_it_is_committed():
    with transaction.atomic():
        assert connection.write_lock.locked()
        with transaction.atomic():
            pass
        assert connection.write_lock.locked()
    assert not connection.write_lock.locked()


def test_a_transaction_that_is_rolled_back_passes_the_turn_on():
    write()
    with pytest.raises(IntegrityError):
        write()
    assert not connection.write_lock.locked()


def test_a_connection_that_is_closed_in_a_transaction_passes_the_turn_on():
    with transaction.atomic():
        connection.close()
    assert not connection.write_lock.locked()
    write()


def test_a_commit_that_fails_keeps_the_turn_until_it_is_rolled_back():
    def defer() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE child (parent INTEGER REFERENCES ratings_collection DEFERRABLE INITIALLY DEFERRED)"
            )
            cursor.execute("INSERT INTO child VALUES (77)")

    with pytest.raises(IntegrityError), transaction.atomic():
        defer()
    assert not connection.write_lock.locked()
    write()


def test_who_waits_for_too_long_is_told_that_it_is_locked(impatient):
    with transaction.atomic(), pytest.raises(OperationalError, match="database is locked"):
        in_thread(write)
    in_thread(write)
    assert Collection.objects.count() == 1


def test_another_process_that_writes_leaves_the_turn_free(impatient):
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    connection.close()  # the next connection has the short timeout
    with pytest.raises(OperationalError, match="database is locked"):
        write()
    assert not connection.write_lock.locked()
    other.execute("ROLLBACK")
    other.close()
    write()


def written(count: int = 200) -> int:
    """How many of so many transactions, in eight threads, find nobody else at work when they ask SQLite."""

    def one(number: int) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")  # fail instead of sleeping
        try:
            write(str(number))
        except OperationalError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(one, range(count)))


def test_nobody_has_to_sleep_and_ask_again():
    assert written() == Collection.objects.count() == 200


def test_without_turns_they_would_find_each_other_at_work(monkeypatch):
    plain = base.DatabaseWrapper._start_transaction_under_autocommit
    monkeypatch.setattr(DatabaseWrapper, "_start_transaction_under_autocommit", plain)
    assert written() < 200

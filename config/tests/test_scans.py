"""No page and no act reads the rows of all collections for those of one, as SQLite compiles its statements."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.urls import reverse

from config.tests.test_access import ACTORS, TABLE, World
from ratings.models import Assignment, Document, MachineGrade, Pair, Query, Ranking, Rating, RatingEvent

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.same_everywhere,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL scans tables as small as those of tests"),
]
# Their rows are as many as the work in all collections.
LARGE = {
    model._meta.db_table
    for model in (Assignment, Document, MachineGrade, Pair, Query, Ranking, Rating, RatingEvent)
}


def scanned(program: list[tuple], tables: dict[int, str]) -> set[str]:
    """The large tables that a compiled statement goes through, by the page at which each table or index begins.

    The plan in words is not enough: it names a table by its alias, and two tables of a statement may share one.
    """
    opened = {cursor: tables.get(page) for _, operation, cursor, page, *_ in program if operation == "OpenRead"}
    return {opened.get(row[2]) for row in program if row[1] in ("Rewind", "Last")} & LARGE


@contextmanager
def scans_noted(scans: dict[str, str]) -> Iterator[None]:
    """Note the large tables that statements of the block scan, each with one of these."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rootpage, tbl_name FROM sqlite_master")
        tables = dict(cursor.fetchall())

    def explained(execute: Callable, sql: str, params, many: bool, context: dict):
        if sql.startswith(("SELECT", "WITH", "UPDATE", "DELETE")) and not many:
            execute(f"EXPLAIN {sql}", params, many, context)
            scans.update(dict.fromkeys(scanned(context["cursor"].cursor.fetchall(), tables), sql))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        yield


@pytest.fixture(scope="module")
def world(standing) -> World:
    return World()


# Each address with a person who reads there or may act.
WHO = {
    name: next(actor for actor, status in zip(ACTORS[1:], statuses[1:], strict=True) if status in (200, 302))
    for name, (_, statuses) in TABLE.items()
    if {200, 302} & set(statuses[1:])
}


@pytest.mark.parametrize("name", WHO)
def test_no_page_and_no_act_scans_the_rows_of_all_collections(world, name):
    method, _ = TABLE[name]
    scans = {}
    with scans_noted(scans):
        address = reverse(name, kwargs=world.arguments(name))
        assert getattr(world.client(WHO[name]), method)(address, world.data(name)).status_code in (200, 302)
    assert scans == {}


def test_a_scan_is_noted():
    scans = {}
    with scans_noted(scans):
        list(Rating.objects.filter(comment="a comment"))
        list(Rating.objects.filter(pk=1))
        list(Pair.objects.filter(ratings__comment="a comment", pk__gt=0))
    assert scans.keys() == {"ratings_rating"}

"""Which statements go through a table that all collections share, as SQLite compiles them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate

import pytest
from django.db import connection

from ratings.models import Assignment, Document, MachineGrade, Pair, Query, Ranking, Rating, RatingEvent

only_sqlite = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="PostgreSQL scans tables as small as those of tests"
)
# Their rows are as many as the work in all collections.
LARGE = {
    model._meta.db_table
    for model in (Assignment, Document, MachineGrade, Pair, Query, Ranking, Rating, RatingEvent)
}
# A record of 20 collections: rows of its tables; rows that share a value of a column, one where none is named.
ROWS = {model._meta.db_table: rows for model, rows in ((Query, 20_000), (Document, 500_000), (Pair, 200_000))}
SHARING = {
    "query_id": 10,
    "document_id": 2,
    "pair_id": 5,
    "rater_id": 2_000,
    "grade_id": 10_000,
    "system_id": 1_000,
    "job_id": 10_000,
    "version_id": 10_000,
    "run_id": 10_000,
    "state": 500_000,
    "round": 1_000,
    "depth": 10_000,
    "leased_until": 10,
    "actor_id": 1_000_000,
    "undoes_id": 500_000,  # most events undo none
}
SHARING_MORE = {Assignment._meta.db_table: {"rater_id": 100_000}}  # of the few who did most


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


@contextmanager
def analyzed(when_large: bool) -> Iterator[None]:
    """SQLite knows nothing of the tables, or what an operator's ANALYZE of a large record tells it."""
    if not when_large:
        yield
        return
    rows = list(_statistics())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.executemany("DELETE FROM sqlite_stat1 WHERE tbl = %s", [(table,) for table in LARGE])
        cursor.executemany("INSERT INTO sqlite_stat1 VALUES (%s, %s, %s)", rows)
        cursor.execute("ANALYZE sqlite_master")  # reads it
        yield
        cursor.execute("DELETE FROM sqlite_stat1")
        cursor.execute("ANALYZE sqlite_master")


def _statistics() -> Iterator[tuple[str, str, str]]:
    """(table, index, its rows and how many share the values of its first columns), as ANALYZE writes them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tbl_name, name FROM sqlite_master WHERE type = 'index'")
        for table, index in [row for row in cursor.fetchall() if row[0] in LARGE]:
            cursor.execute("SELECT name FROM pragma_index_info(%s)", [index])
            columns = [name for (name,) in cursor.fetchall()]
            cursor.execute('SELECT "unique" FROM pragma_index_list(%s) WHERE name = %s', [table, index])
            (is_unique,) = cursor.fetchone()
            rows = ROWS.get(table, 1_000_000)
            sharing = {"collection_id": rows // 20, **SHARING, **SHARING_MORE.get(table, {})}
            of_one = [sharing.get(column, 1) for column in columns]
            if is_unique and columns != ["undoes_id"]:
                of_one[-1] = 1
            yield table, index, " ".join(map(str, [rows, *accumulate(of_one, min)]))

"""Every page that an analyst, an admin or a rater opens, on a large record and on the sample.

20 collections of 50 systems x 1,000 queries x 100 results: 100 million results, and a million ratings by 500
raters. Each page is asked for twice: first with nothing in the cache, and again. The sample is measured first, in
the same process, so that what is imported late is there. A statement of SQL that takes longer than 50 ms is
printed, on PostgreSQL with its plan.
"""

import argparse
import logging
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from bench._engines import measure_each, prepared
from bench._rounds import seconds, shown

RECORD, SMALL = (20, 50, 1_000, 100, 25), (2, 5, 50, 20, 4)
TIMES, PLUS = 3, 0.3  # a page may take so many times as long as on the sample, and so many seconds
SLOW_STATEMENT = 0.05  # seconds
SLOWEST = 10
LONGEST = 500  # characters of a line that are printed
ADMIN = "pages-admin"
STEPPED = ("overview", "compare", "agreement")  # pages that come step by step


class Look(NamedTuple):
    """What a page took, in seconds: with nothing in the cache, and again."""

    first: float
    again: float
    size: int  # bytes


class Slow(NamedTuple):
    """A slow statement."""

    path: str
    took: float
    sql: str
    params: tuple


def addresses(collection) -> dict[str, str]:
    """The addresses of a collection that are read, by name, with the first query, system and rater."""
    from django.urls import NoReverseMatch, URLPattern, get_resolver, reverse

    firsts = {
        "query": collection.queries.order_by("pk"),
        "system": collection.systems.order_by("pk"),
        "rater": collection.raters.order_by("pk"),
        "document": collection.documents.order_by("pk"),
        "member": collection.memberships.order_by("pk"),
    }
    found = {}
    for pattern in get_resolver().url_patterns:
        for each in getattr(pattern, "url_patterns", [pattern]):
            if not isinstance(each, URLPattern) or not each.name or "<slug:slug>" not in str(each.pattern):
                continue
            of = next((rows for word, rows in firsts.items() if each.name.startswith(word)), None)
            given = {"slug": collection.slug}
            if of is not None and "<int:pk>" in str(each.pattern) and (row := of.first()):
                given["pk"] = row.pk
            try:
                found[each.name] = reverse(each.name, kwargs=given | (each.default_args or {}))
            except NoReverseMatch:
                continue
    steps = {f"{name}, {step}": f"{found[name]}?step={step}" for name in STEPPED for step in ("means", "all")}
    return found | steps


def looked_at(client, path: str, collection, slow: list[Slow]) -> Look | None:
    """What the page takes; None where it is not read there, such as the address of an act."""
    collection.touch()  # as an import does: what was kept of the collection is of no use any more
    took = []
    for _ in range(2):
        with watched(path, slow):
            begun = time.perf_counter()
            response = client.get(path)
            body = b"".join(response) if response.streaming else response.content
            took.append(time.perf_counter() - begun)
        if response.status_code != 200:
            return None
    return Look(*took, len(body))


@contextmanager
def watched(path: str, slow: list[Slow]) -> Iterator[None]:
    """Note the slow statements of a block."""
    from django.db import connection

    def wrapper(execute: Callable, sql: str, params, many: bool, context: dict):
        begun = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            took = time.perf_counter() - begun
            if took > SLOW_STATEMENT:
                slow.append(Slow(path, took, sql, params))

    with connection.execute_wrapper(wrapper):
        yield


def looks(client, paths: dict[str, str], collection, slow: list[Slow], rounds: int) -> dict[str, Look]:
    """The median look at each page that is read."""
    found = {}
    for name, path in paths.items():
        several = [looked_at(client, path, collection, slow) for _ in range(rounds)]
        if None not in several:
            found[name] = Look(*(statistics.median(column) for column in zip(*several, strict=True)))
    return found


def measured(engine: str, chosen: argparse.Namespace) -> None:
    prepared()
    logging.disable(logging.WARNING)  # addresses of acts refuse to be read
    from django.contrib.auth import get_user_model
    from django.test import Client, override_settings

    from bench._record import Size, fill
    from ratings import sample

    size = Size(*(SMALL if chosen.small else RECORD))
    little = sample.load()
    took, large = seconds(lambda: fill(size))
    print(f"**{engine}**: {size}; made in {took:.0f} s\n", flush=True)
    admin = get_user_model().objects.create_superuser(ADMIN, password="a pass phrase")
    raters = [collection.raters.filter(user__isnull=False).first() for collection in (little, large)]
    table, slow = [], []
    with override_settings(ALLOWED_HOSTS=["*"], STORAGES=plain_static()):
        client = Client()
        client.force_login(admin)
        rounds = chosen.rounds
        on_sample = looks(client, addresses(little) | everywhere(), little, [], rounds)
        on_large = looks(client, addresses(large) | everywhere(), large, slow, rounds)
        table += [(name, on_sample.get(name), look) for name, look in on_large.items()]
        if raters[1]:
            client.force_login(raters[1].user)
            paths = {name: path for name, path in addresses(large).items() if name in ("rate", "my_ratings")}
            table += [(name, None, look) for name, look in looks(client, paths, large, slow, rounds).items()]
    print_table(table)
    print_statements(slow, engine)


def everywhere() -> dict[str, str]:
    """The pages that belong to no collection."""
    from django.urls import reverse

    return {name: reverse(name) for name in ("home", "archives", "audit", "my_data", "sessions")}


def plain_static() -> dict:
    from django.conf import settings

    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    return {**settings.STORAGES, "staticfiles": plain}


def print_table(table: list[tuple[str, Look | None, Look]]) -> None:
    """Print the slowest pages, and those that are too slow beside the sample."""
    slowest = sorted(table, key=lambda row: -max(row[2].first, row[2].again))
    slowest = [row for place, row in enumerate(slowest) if place < SLOWEST or late(*row[1:])]
    print("| page | sample, first | again | large, first | again | KB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, small, large in slowest:
        before = ("", "") if small is None else (shown(small.first), shown(small.again))
        print(
            f"| {' | '.join([name, *before, shown(large.first), shown(large.again)])} | {large.size // 1000:,} |"
        )
    within = sum(not late(small, large) for _, small, large in table)
    print(f"\n- {within} of {len(table)} pages within {TIMES} x the sample + {PLUS} s, first and again")


def late(small: Look | None, large: Look) -> bool:
    """Whether a page takes too long beside that of the sample."""
    return small is not None and any(large[place] > TIMES * small[place] + PLUS for place in (0, 1))


def print_statements(slow: list[Slow], engine: str) -> None:
    from django.db import connection

    print(f"\nStatements above {SLOW_STATEMENT * 1000:.0f} ms:")
    worst: dict[str, Slow] = {}
    for each in slow:
        if each.sql not in worst or each.took > worst[each.sql].took:
            worst[each.sql] = each
    for each in sorted(worst.values(), key=lambda each: -each.took):
        print(f"\n- {shown(each.took)}, {each.path}\n  {each.sql[:LONGEST]}")
        if engine == "PostgreSQL" and each.sql.lstrip().upper().startswith(("SELECT", "WITH")):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {each.sql}", each.params)
                print("".join(f"    {line[:LONGEST]}\n" for (line,) in cursor.fetchall()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=1, help="looks at each page, of which the median counts (1)")
    parser.add_argument("--small", action="store_true", help="a small record, to check that everything works")
    measure_each(parser, "bench.pages", measured, "Django", "pandas", "scipy", "psycopg")


if __name__ == "__main__":
    main()

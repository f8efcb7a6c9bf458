"""64 raters who save at once in one collection, where commits are slow: against 64 collections.

The database sleeps at each commit, as a disk or a replica far away would make it wait. A third side raises one
number of the collection in each save, so that every save waits for the commit of the one before it.
"""

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from multiprocessing import get_context

from bench._engines import measure_each, prepared
from bench._rounds import arguments, goal

RATERS, PROCESSES = 64, 4
SECONDS, A_CLAIM = 4, 20
PAIRS = 120  # for each rater in a turn, more than one can save
MANY, ONE, IN_LINE = "64 collections", "one collection", "one collection with a number that each save raises"
SLOW_COMMIT = """
CREATE FUNCTION slow_commit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(0.005); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON ratings_ratingevent DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION slow_commit();
"""


def set_up() -> None:
    """Django in a process of the pool; its database is there already."""
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()


def raters_of(slug: str, count: int, pairs: int) -> list[int]:
    from bench import _round
    from bench._people import made_raters

    collection = _round.made(slug, raters=0, pairs=pairs, wanted=1)
    return [rater.pk for rater in made_raters(collection, (f"{slug}-rater{place}" for place in range(count)))]


def saves(until: float, in_line: bool, rater_id: int) -> int:
    """How many ratings the rater saves until then, each as soon as the one before it is stored."""
    from django.db import connection, transaction
    from django.db.models import F

    from ratings import queue
    from ratings.models import Collection, Rater

    rater = Rater.objects.select_related("collection").get(pk=rater_id)
    said = queue.Submission(grade=rater.collection.grades.first())
    number = Collection.objects.filter(pk=rater.collection_id)
    count, held = 0, []
    while time.time() < until:
        held = held or queue.claim(rater, A_CLAIM)
        with transaction.atomic() if in_line else nullcontext():
            queue.save(rater, held.pop(0), said)
            if in_line:
                number.update(version=F("version") + 1)
        count += 1
    connection.close()
    return count


def of_process(until: float, in_line: bool, raters: Sequence[int]) -> int:
    with ThreadPoolExecutor(len(raters)) as pool:
        return sum(pool.map(partial(saves, until, in_line), raters))


def a_second(pool: ProcessPoolExecutor, seconds: float, raters: Sequence[int], *, in_line: bool) -> float:
    until = time.time() + seconds
    shares = [raters[place::PROCESSES] for place in range(PROCESSES)]
    return sum(pool.map(partial(of_process, until, in_line), shares)) / seconds


def measured(engine: str, chosen: argparse.Namespace) -> None:
    if engine == "SQLite":
        print("SQLite has one writer at a time: give --postgres URL", flush=True)
        return
    prepared()
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(SLOW_COMMIT)
    rounds, seconds = (1, 1) if chosen.small else (chosen.rounds, SECONDS)
    found = {name: [] for name in (MANY, ONE, IN_LINE)}
    with ProcessPoolExecutor(PROCESSES, get_context("spawn"), set_up) as pool:
        for turn in range(rounds + 1):
            many = [pk for place in range(RATERS) for pk in raters_of(f"many-{turn}-{place}", 1, PAIRS)]
            one, in_line = (raters_of(f"{name}-{turn}", RATERS, RATERS * PAIRS) for name in ("one", "line"))
            for name, raters in ((MANY, many), (ONE, one), (IN_LINE, in_line)):
                rate = a_second(pool, seconds, raters, in_line=name == IN_LINE)
                if turn:  # the first one connects and prepares statements
                    found[name].append(rate)
    told(found)


def told(found: dict[str, list[float]]) -> None:
    print("| 64 raters in | saves a second | least | most | / 64 collections |\n|---|---:|---:|---:|---:|")
    for name, rates in found.items():
        ratios = statistics.median(rate / many for rate, many in zip(rates, found[MANY], strict=True))
        row = (statistics.median(rates), min(rates), max(rates))
        print(f"| {name} | {' | '.join(f'{rate:.0f}' for rate in row)} | {ratios:.2f} |")
        if name == ONE:
            of_one = ratios
    print("\n" + goal("one collection / 64 collections, saves a second", of_one, ">= 0.80"), flush=True)


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    measure_each(parser, "bench.crowd", measured, "Django", "psycopg")


if __name__ == "__main__":
    main()

"""Claims of ten pairs with a million open ratings, against a thousand, and against a bare SELECT.

Each claim is by a rater who has just rated something, and is given back before the next, unmeasured. "New query":
a rater who comes to a query. The bare SELECT reads ten rows by the index of the order from a random point. A
database is made for each size.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from bench._engines import engines
from bench._rounds import arguments, goal, machine

SIZES = {"a thousand": 1_000, "a million": 1_000_000}
SMALL = {"a thousand": 1_000, "ten thousand": 10_000}
WANTED, DOCUMENTS, BATCH, RATERS = 2, 50, 10, 20
NEW = "new query"
DRAWN = 5  # documents of each query in the first round
GOALS = {"SQLite": "<= 30", "PostgreSQL": "<= 20"}  # ms, of the slowest of twenty


def fill(assignments: int):
    """A collection with so many open assignments: two of each pair, 50 pairs a query, five of them in a round.

    By SQL, to be there soon. Who claims reads the round of an assignment alone.
    """
    from django.db import connection

    from bench._people import made_raters
    from ratings.models import UNDRAWN, Collection, Document, Grade, Query

    pairs = assignments // WANTED
    collection = Collection.objects.create(slug="bench", name="Bench")
    Grade.objects.create(collection=collection, value=1)
    Document.objects.bulk_create(Document(collection=collection, key=f"d{i}") for i in range(DOCUMENTS))
    queries = (Query(collection=collection, key=f"q{i}", text=f"q{i}") for i in range(pairs // DOCUMENTS))
    Query.objects.bulk_create(queries, batch_size=1_000)
    made_raters(collection, (f"rater{i}" for i in range(RATERS)))
    sqlite = connection.vendor == "sqlite"
    token = "lower(hex(randomblob(16)))" if sqlite else "gen_random_uuid()"
    lot = "abs(random() % 2147483647)" if sqlite else "floor(random() * 2147483647)::int"
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO ratings_pair (query_id, document_id, token, wanted, depth, born)"
            f" SELECT q.id, d.id, {token}, {WANTED}, 0, 0 FROM ratings_query q CROSS JOIN ratings_document d"
        )
        for _ in range(WANTED):
            cursor.execute(
                "INSERT INTO ratings_assignment"
                " (pair_id, query_id, collection_id, state, extra, depth, lot, turn, round)"
                f" SELECT p.id, p.query_id, %s, 'open', {'0' if sqlite else 'false'}, 1 + p.id %% {DOCUMENTS},"
                f" {lot}, 0, CASE WHEN p.id %% {DOCUMENTS // DRAWN} = 0 THEN 1 ELSE {UNDRAWN} END"
                " FROM ratings_pair p",
                [collection.pk],
            )
        cursor.execute("ANALYZE")
    return collection


def claims(order: str, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of claims and of bare SELECTs, in turns."""
    from bench._people import made_raters
    from ratings.desk import queue
    from ratings.models import HAS_ROUND, Assignment, Collection, Grade, Rater

    is_new = order == NEW
    order = "query" if is_new else order
    Collection.objects.update(order=order)
    raters, grade, chance = list(Rater.objects.select_related("collection")), Grade.objects.get(), random.Random(7)
    took, bare = [], []
    for number in range(rounds):
        rater = raters[number % RATERS]
        (first,) = queue.claim(rater)
        queue.save(rater, first, queue.Submission(grade=grade))
        if is_new:
            (rater,) = made_raters(rater.collection, [f"new{Rater.objects.count()}"])
        took.append(milliseconds(lambda rater=rater: queue.claim(rater, BATCH)))
        queue.stop(rater)
        line = Assignment.objects.waiting().filter(lot__gte=chance.randrange(2**31)).order_by("lot")
        line = {
            "query": line.filter(query=first.pair.query_id),
            "depth": line.filter(collection=rater.collection_id, depth=1),
            "random": line.filter(HAS_ROUND, collection=rater.collection_id, round=1),
            "decisive": line.filter(collection=rater.collection_id, round=1, query=first.pair.query_id),
        }[order]
        bare.append(milliseconds(lambda line=line: list(line.values_list("pk")[:BATCH])))
    return took, bare


def milliseconds(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return (time.perf_counter() - begun) * 1_000


def of_twenty(times: list[float]) -> float:
    """What one in twenty takes longer than."""
    return statistics.quantiles(times, n=20)[-1]


def measured(name: str, rounds: int) -> None:
    """A line an order: this size in this database, and the times in milliseconds, to be read by a program."""
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    fill({**SIZES, **SMALL}[name.partition(": ")[2]])
    for order in ("query", NEW, "depth", "random", "decisive"):
        claims(order, RATERS)  # what is cold stays out
        took, bare = claims(order, rounds)
        times = statistics.median(took), of_twenty(took), statistics.median(bare), of_twenty(bare)
        print(json.dumps([order, *times]), flush=True)


def compared(engine: str, words: str, lines: list[str], least: dict[tuple[str, str], float]) -> None:
    """Lines of the table. `least`: what half of the claims take at the first size, by engine and order."""
    for order, *times in map(json.loads, lines):
        half, slow, bare, slow_bare = times
        base = least.setdefault((engine, order), half)
        figures = [half, slow, bare, slow_bare, half / base, half / bare]
        print(f"| {engine}: {words} | {order} | {' | '.join(f'{figure:.2f}' for figure in figures)} |", flush=True)
        if words == max(SIZES, key=SIZES.get):
            reached = goal(f"{engine}, {order}: 95 % of claims, ms", slow, GOALS[engine])
            print(reached, end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.set_defaults(rounds=200)
    parser.add_argument("--postgres", metavar="URL", default=os.environ.get("DATABASE_URL"), help="a server, too")
    parser.add_argument("--one", help="only this: as in 'SQLite: a million'")
    chosen = parser.parse_args()
    if chosen.one and os.environ.get("IDEALIST_BENCH_CLAIMS"):
        return measured(chosen.one, chosen.rounds)
    sizes, least = SMALL if chosen.small else SIZES, {}
    print(machine(chosen.rounds, "Django", "psycopg"))
    print(f"ms to claim {BATCH}: half of all take less, 95 % take less; and a bare SELECT\n")
    ratios = f"/ {min(sizes, key=sizes.get)} | / SELECT"
    print(f"| open ratings | order | claim p50 | claim p95 | SELECT p50 | SELECT p95 | {ratios} |")
    print(f"|---|---|{'---:|' * 6}", flush=True)
    for words in sizes:
        with engines(chosen.postgres) as found:
            for engine, environment in found.items():
                name = f"{engine}: {words}"
                if chosen.one not in (None, name):
                    continue
                command = [sys.executable, "-P", "-m", "bench.claims", *sys.argv[1:], "--one", name]
                environment = {**os.environ, **environment, "IDEALIST_BENCH_CLAIMS": "1"}
                done = subprocess.run(command, check=False, env=environment, stdout=subprocess.PIPE, text=True)
                if done.returncode:
                    raise SystemExit(f"{name}: not measured")
                compared(engine, words, done.stdout.splitlines(), least)
    return None


if __name__ == "__main__":
    main()

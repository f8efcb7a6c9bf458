"""A million results from a file to where everybody sees them, and raters who save meanwhile.

Each round imports the file into a collection of its own, in which nothing is known but the queries. Beside it the
same lines go into a bare table without a key, as fast as the database takes them (COPY, or executemany in one
transaction), and into one through Django's bulk_create. A rater in a process of their own saves all the while.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench._engines import on_each_engine
from bench._rounds import Side, arguments, goal, machine, measure, ratio, table

QUERIES, DEPTH, SYSTEMS, DOCUMENTS = 100, 1_000, 10, 100_000
PAIRS = 3_000  # that the rater can rate
PAUSE = 0.02  # seconds between two saves
WAIT = "300"  # milliseconds, that a save may take


def write_run(path: Path, systems: int) -> int:
    with path.open("w") as file:
        for system in range(systems):
            for query in range(QUERIES):
                first = (system * 7919 + query * 104_729) % DOCUMENTS
                for rank in range(1, DEPTH + 1):
                    document = (first + rank * 31) % DOCUMENTS
                    file.write(f"q{query} Q0 document-{document} {rank} {1000 - rank / 8:.3f} system{system}\n")
    return systems * QUERIES * DEPTH


def lines(path: Path) -> Iterator[tuple]:
    with path.open() as file:
        for line in file:
            query, _, document, rank, score, system = line.split()
            yield query, document, int(rank), float(score), system


def new_collection(slug: str):
    from ratings.models import Collection, Query

    collection = Collection.objects.create(slug=slug, name=slug)
    Query.objects.bulk_create(Query(collection=collection, key=f"q{i}", text=f"query {i}") for i in range(QUERIES))
    return collection


def sides(path: Path) -> list[Side]:
    from django.db import connection, models, transaction

    from ratings import intake
    from ratings.formats.source import opened

    class Result(models.Model):
        query, document, system = (models.CharField(max_length=200) for _ in range(3))
        rank = models.IntegerField()
        score = models.FloatField()

        class Meta:
            app_label = "ratings"
            db_table = "result_by_django"

    with connection.schema_editor() as editor:
        editor.create_model(Result)
    names = iter(range(1_000_000))
    columns = "query text, document text, rank integer, score double precision, system text"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE result ({columns})")

    def ours(collection) -> None:
        with opened(str(path)) as source:
            report = intake.import_run(collection, [source])
        if report.refused:
            raise SystemExit(f"refused: {report.refusals[0]}")

    def emptied() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM result")
            cursor.execute("DELETE FROM result_by_django")

    def bare(_) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.cursor.connection.executemany("INSERT INTO result VALUES (?, ?, ?, ?, ?)", lines(path))
                return
            with cursor.cursor.copy("COPY result FROM STDIN") as copy:
                for row in lines(path):
                    copy.write_row(row)

    def by_django(_) -> None:
        with transaction.atomic():
            batch = []
            for query, document, rank, score, system in lines(path):
                batch.append(Result(query=query, document=document, rank=rank, score=score, system=system))
                if len(batch) == 5_000:
                    Result.objects.bulk_create(batch)
                    batch = []
            Result.objects.bulk_create(batch)

    name = "COPY" if connection.vendor == "postgresql" else "executemany"
    return [
        Side("Idealist", lambda: new_collection(f"import-{next(names)}"), ours, again=True),
        Side(f"{name} into a bare table", emptied, bare, again=True),
        Side("bulk_create, a row a result", emptied, by_django, again=True),
    ]


# The rater


def rate() -> None:
    """In a process of its own: save after save until the input ends. Prints how long each took."""
    import threading

    import django

    django.setup()
    from django.db import OperationalError

    from ratings import queue
    from ratings.models import Collection, Rater

    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    collection = Collection.objects.get(slug="rated")
    rater, grade = Rater.objects.get(collection=collection), collection.grades.first()
    took, late = [], 0
    while not (over.is_set() and took):
        for task in queue.claim(rater, 20):
            begun = time.perf_counter()
            try:
                queue.save(rater, task, grade=grade)
            except OperationalError:
                late += 1
            took.append(time.perf_counter() - begun)
            time.sleep(PAUSE)
            if over.is_set():
                break
    queue.stop(rater)
    print(json.dumps({"took": took, "late": late}))


def something_to_rate() -> None:
    from ratings import queue
    from ratings.models import Collection, Document, Grade, Query, Rater

    collection = Collection.objects.create(slug="rated", name="rated")
    Grade.objects.create(collection=collection, value=1)
    Rater.objects.create(collection=collection, name="rater")
    query = Query.objects.create(collection=collection, key="q", text="query")
    documents = Document.objects.bulk_create(
        Document(collection=collection, key=f"d{number}") for number in range(PAIRS)
    )
    queue.want(list(queue.pairs_for([(query.pk, document.pk) for document in documents]).values()), 1)


@contextmanager
def rating(found: dict) -> Iterator[None]:
    environment = {**os.environ, "IDEALIST_PATIENCE": "4"}
    command = [sys.executable, "-P", "-m", "bench.intake", "--rate"]
    rater = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield
    finally:
        found.update(json.loads(rater.communicate()[0]))


def latencies(took: list[float]) -> str:
    ordered = sorted(took)
    parts = [
        f"p{part} {ordered[min(len(ordered) - 1, len(ordered) * part // 100)] * 1000:.0f} ms" for part in (50, 99)
    ]
    return f"{len(ordered):,} saves, {', '.join(parts)}, longest {ordered[-1] * 1000:.0f} ms"


def main(options: argparse.Namespace) -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    options.data.mkdir(parents=True, exist_ok=True)
    path = options.data / f"intake-{'small' if options.small else 'full'}.run"
    results = write_run(path, 1 if options.small else SYSTEMS)
    something_to_rate()
    print(f"## {options.engine}: {results:,} results\n\n{machine(options.rounds, 'django')}")
    every = sides(path)
    ours, alone = every[0], {}
    with rating(alone):
        time.sleep(10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    meanwhile = {}
    collection = ours.build()
    with rating(meanwhile):
        time.sleep(2)
        begun = time.perf_counter()
        ours.run(collection)
        while_rated = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    measure(every, options.rounds, 0)
    print(table(every, every[1:]))
    speed = results / statistics.median(ours.took)
    print(f"Idealist: {speed:,.0f} results a second; {while_rated:.1f} s while somebody rates.")
    print(f"Peak memory {peak / 1024:,.0f} MB, {before / 1024:,.0f} MB of it before the import.\n")
    print(f"A rater, nothing else: {latencies(alone['took'])}.")
    print(f"A rater meanwhile: {latencies(meanwhile['took'])}, {meanwhile['late']} gave up after 4 s.\n")
    worst = sorted(meanwhile["took"])[len(meanwhile["took"]) * 99 // 100] * 1000
    print(goal("a save meanwhile, p99 in ms", worst, f"<= {WAIT}"), end="")
    print(goal("bulk_create of a row a result / Idealist", ratio(every[2], ours), ">= 1"), end="")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--postgres", metavar="URL", help="a server on which a database may be made")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--rate", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.rate:
        rate()
    elif chosen.engine:
        main(chosen)
    else:
        on_each_engine("bench.intake", chosen.postgres)

"""A million results, or seven, from a file to where everybody sees them, while raters save.

Each round imports the file into a collection of its own, in which nothing is known but the queries; then once more
as another system, when all documents are known. Beside it the same lines go into a bare table without a key, as
fast as the database takes them (COPY of the bytes, or executemany in one transaction), and into one through
Django's bulk_create. A rater in a process of their own saves during the first import, and during one of ratings,
whose last transaction records all of them: on SQLite, nobody else can write until it ends.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench._engines import on_each_engine
from bench._rounds import Side, arguments, goal, machine, ratio, seconds, table

CASES = {"a": 1_000, "b": 7_000}  # queries
DEPTH = 1_000
POOL = 9_000_000  # documents that may be returned: of a million results 946,000 have one of their own
ASKED, JUDGED = 300, 100  # queries that the rater rates, and documents of each
PAUSE = 0.02  # seconds between two saves
WAIT, MEMORY = 300, 400  # milliseconds that a save may take, MB
LONGEST = 500  # milliseconds that a save may take while ratings are imported
RATED = 200  # ratings of a query
GOALS = {"postgresql": (12, 6), "sqlite": (4, 2)}  # times the bare table: documents new, and known


def write_run(path: Path, queries: int) -> int:
    chance = random.Random(7)
    with path.open("w") as file:
        for query in range(queries):
            for rank, document in enumerate(chance.sample(range(POOL), DEPTH), 1):
                file.write(f"q{query} Q0 document-{document} {rank} {1000 - rank / 8:.3f} system\n")
    return queries * DEPTH


def write_qrels(path: Path, queries: int) -> int:
    chance = random.Random(7)
    with path.open("w") as file:
        for query in range(queries):
            for document in chance.sample(range(POOL), RATED):
                file.write(f"q{query} 0 document-{document} {chance.randrange(4)}\n")
    return queries * RATED


def lines(path: Path) -> Iterator[list[str]]:
    with path.open() as file:
        for line in file:
            yield line.split()


def new_collection(slug: str, queries: int):
    from ratings.models import Collection, Query

    collection = Collection.objects.create(slug=slug, name=slug)
    Query.objects.bulk_create(Query(collection=collection, key=f"q{i}", text=f"query {i}") for i in range(queries))
    return collection


def sides(path: Path, queries: int) -> list[Side]:
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
    numbers = iter(range(1_000_000))
    columns = "query text, q0 text, document text, rank integer, score double precision, system text"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE result ({columns})")

    def ours(collection) -> None:
        with opened(str(path)) as source:
            report = intake.import_run(collection, [source], system=f"system-{next(numbers)}")
        if report.refused:
            raise SystemExit(f"refused: {report.refusals[0]}")

    def emptied() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM result")
            cursor.execute("DELETE FROM result_by_django")

    def bare(_) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.cursor.connection.executemany("INSERT INTO result VALUES (?, ?, ?, ?, ?, ?)", lines(path))
                return
            with cursor.cursor.copy("COPY result FROM STDIN (DELIMITER ' ')") as copy, path.open("rb") as file:
                while block := file.read(1 << 20):
                    copy.write(block)

    def by_django(_) -> None:
        with transaction.atomic():
            batch = []
            for query, _, document, rank, score, system in lines(path):
                batch.append(
                    Result(query=query, document=document, rank=int(rank), score=float(score), system=system)
                )
                if len(batch) == 5_000:
                    Result.objects.bulk_create(batch)
                    batch = []
            Result.objects.bulk_create(batch)

    made = []

    def new():
        made.append(new_collection(f"import-{next(numbers)}", queries))
        return made[-1]

    name = "COPY" if connection.vendor == "postgresql" else "executemany"
    return [
        Side(f"{name} into a bare table", emptied, bare),
        Side("Idealist, documents new", new, ours),
        Side("Idealist, documents known", lambda: made[-1], ours),
        Side("bulk_create, a row a result", emptied, by_django),
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
    print("begun", flush=True)
    took, late = [], 0
    while not (over.is_set() and took):
        begun = time.perf_counter()
        try:
            tasks = queue.claim(rater, 20)
        except OperationalError:
            late += 1
            took.append(time.perf_counter() - begun)
            continue
        if not tasks:
            raise SystemExit("the rater has rated all there is: more JUDGED are needed")
        for task in tasks:
            begun = time.perf_counter()
            try:
                queue.save(rater, task, queue.Submission(grade=grade))
            except OperationalError:
                late += 1
            took.append(time.perf_counter() - begun)
            time.sleep(PAUSE)
            if over.is_set():
                break
    queue.stop(rater)
    print(json.dumps({"took": took, "late": late}))


def something_to_rate() -> None:
    from bench._people import made_raters
    from ratings import queue
    from ratings.models import Collection, Document, Grade, Query

    collection = Collection.objects.create(slug="rated", name="rated")
    Grade.objects.create(collection=collection, value=1)
    made_raters(collection, ["rater"])
    queries = Query.objects.bulk_create(
        Query(collection=collection, key=f"q{number}", text=f"query {number}") for number in range(ASKED)
    )
    documents = Document.objects.bulk_create(
        Document(collection=collection, key=f"d{number}") for number in range(ASKED * JUDGED)
    )
    ids = [(queries[place // JUDGED].pk, document.pk) for place, document in enumerate(documents)]
    queue.want(list(queue.pairs_for(ids).values()), 1)


@contextmanager
def rating(found: dict) -> Iterator[None]:
    environment = {**os.environ, "IDEALIST_SHORT_WAITS": "1"}
    command = [sys.executable, "-P", "-m", "bench.intake", "--rate"]
    rater = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    rater.stdout.readline()  # until it has begun
    try:
        yield
    finally:
        found.update(json.loads(rater.communicate()[0]))


def of_ratings(path: Path, queries: int) -> tuple[str, float]:
    """What a rater waits while ratings are imported, in words, and their longest wait in milliseconds."""
    from ratings import intake
    from ratings.formats.source import opened

    count, meanwhile, collection = write_qrels(path, queries), {}, new_collection("with-ratings", queries)
    with rating(meanwhile):
        worked = time.process_time()
        with opened(str(path)) as source:
            report = intake.import_qrels(collection, [source])
        worked = time.process_time() - worked
    if report.counts["new"] != count:
        raise SystemExit(f"{report.counts['new']:,} ratings of {count:,} were imported")
    told = f"A rater while {count:,} ratings come in ({worked:.1f} s of processor time)"
    longest = max(meanwhile["took"]) * 1000
    return f"{told}: {latencies(meanwhile['took'])}, {meanwhile['late']} gave up after 4 s.", longest


def of_all(took: list[float], part: int) -> float:
    """The percentile, in seconds."""
    return sorted(took)[min(len(took) - 1, len(took) * part // 100)]


def latencies(took: list[float]) -> str:
    parts = ", ".join(f"p{part} {of_all(took, part) * 1000:.0f} ms" for part in (50, 99))
    return f"{len(took):,} saves, {parts}, longest {max(took) * 1000:.0f} ms"


def main(options: argparse.Namespace) -> None:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    options.data.mkdir(parents=True, exist_ok=True)
    queries = 50 if options.small else CASES[options.case]
    path = options.data / f"intake-{queries}.run"
    results = write_run(path, queries)
    something_to_rate()
    print(f"## {options.engine}: {results:,} results\n\n{machine(options.rounds, 'django')}")
    every = sides(path, queries)[: 3 if queries > 1_000 else 4]  # seven million rows by bulk_create take long
    limit, new, known, *others = every
    alone, meanwhile = {}, {}
    with rating(alone):
        time.sleep(10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    collection = new.build()
    with rating(meanwhile):
        begun, worked = time.perf_counter(), time.process_time()
        new.run(collection)
        while_rated, worked = time.perf_counter() - begun, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ratings = options.ratings or (10_000 if options.small else 400_000)
    waited, longest = of_ratings(options.data / "intake.qrels", ratings // RATED)
    for _ in range(options.rounds):
        for side in every:
            built, ready = seconds(side.build)
            side.built.append(built)
            side.took.append(seconds(partial(side.run, ready))[0])
    print(table(every, every[:2]))
    speeds = [results / statistics.median(side.took) for side in (new, known)]
    print(f"Results a second: {speeds[0]:,.0f} with new documents, {speeds[1]:,.0f} with known ones.")
    print(f"While somebody rates: {while_rated:.1f} s, {worked:.1f} s of processor time.")
    print(f"Peak memory {peak:,.0f} MB, {before:,.0f} MB of it before the import.\n")
    print(f"A rater, nothing else: {latencies(alone['took'])}.")
    print(f"A rater meanwhile: {latencies(meanwhile['took'])}, {meanwhile['late']} gave up after 4 s.")
    print(f"{waited}\n")
    worst = of_all(meanwhile["took"], 99)
    print(goal("a save meanwhile, p99 in ms", worst * 1000, f"<= {WAIT}"), end="")
    print(goal("a save meanwhile / alone, p99", worst / of_all(alone["took"], 99), "<= 2"), end="")
    print(goal("a save while ratings come in, longest in ms", longest, f"<= {LONGEST}"), end="")
    print(goal("peak memory, MB", peak, f"<= {MEMORY}"), end="")
    for side, bound in zip((new, known), GOALS[connection.vendor], strict=True):
        print(goal(f"{side.name} / {limit.name}", ratio(side, limit), f"<= {bound}"), end="")
    for side in others:
        print(goal(f"{side.name} / {new.name}", ratio(side, new), ">= 1"), end="")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--case", choices=CASES, default="a", help="a: a million results, b: seven million")
    parser.add_argument("--ratings", type=int, help="that are imported while somebody rates")
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

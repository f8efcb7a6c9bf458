"""A million results, or seven, from a file to where everybody sees them, while raters save.

Each round imports the file into a collection of its own, in which nothing is known but the queries; then once more
as another system, when all documents are known. Beside it the same lines go into a bare table without a key, as
fast as the database takes them (COPY of the bytes, or executemany in one transaction), and into one through
Django's bulk_create. Twelve raters save over HTTP during the first import and during one of ratings, and somebody
looks at pages and signs in: on SQLite, nobody else can write until an import ends.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench._engines import on_each_engine
from bench._raters import Browser, Busy, Habits, Ledger, Rater, rating, read
from bench._rounds import Side, arguments, goal, machine, ratio, seconds, table
from bench._served import OURS, ROOT, served, servers

CASES = {"a": 1_000, "b": 7_000}  # queries
DEPTH = 1_000
POOL = 9_000_000  # documents that may be returned: of a million results 946,000 have one of their own
SLUG, RATERS, SIGN_IN = "rated", 12, "/accounts/sign-in/"
PAUSE = 1.0  # mean seconds between two acts of a rater
ANSWERED, STORED = 5, 30  # seconds: that a page may take, and after the import until all that was saved is stored
MEMORY = 400  # MB
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

    from ratings.formats.source import opened
    from ratings.importing import intake

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


# The raters


class Onlooker(threading.Thread):
    """Asks for some pages again and again, and signs in. Keeps the longest answer of each, in seconds."""

    PAGES = ("/livez", SIGN_IN, f"/collections/{SLUG}/", f"/collections/{SLUG}/progress/")

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(daemon=True)
        self.address, self.over = address, threading.Event()
        self.longest = dict.fromkeys((*self.PAGES, "signed in"), 0.0)
        self.answers: Counter[str] = Counter()
        self.browser = Browser(address)
        self.browser.sign_in(f"{SLUG}-0")

    def run(self) -> None:
        while not self.over.wait(0.1):
            for page in self.PAGES:
                browser = Browser(self.address) if page == SIGN_IN else self.browser
                self.time(page, partial(browser.ask, page))
            self.time("signed in", self.sign_in)

    def sign_in(self) -> tuple[int]:
        try:
            Browser(self.address).sign_in(f"{SLUG}-1")
        except Busy:
            return (503,)
        return (302,)

    def time(self, name: str, ask: Callable[[], tuple]) -> None:
        begun = time.perf_counter()
        status = ask()[0]
        self.longest[name] = max(self.longest[name], time.perf_counter() - begun)
        self.answers[f"{name} {status}"] += 1


@dataclass
class Seen:
    """What raters and onlookers saw while something was imported."""

    took: float  # seconds of the import
    acts: list[float]  # seconds from the first try of each act to its confirmation
    after: float  # seconds after the import until the last act of its time was stored
    longest: dict[str, float]
    answers: Counter
    statuses: Counter
    wrong: int  # acts that the record does not hold as they were confirmed


def beside(options: argparse.Namespace, act: Callable[[], object], seed: int) -> Seen:
    """What twelve raters and an onlooker see of our server while `act` runs in this process."""
    from bench._round import compared, made
    from ratings.models import Collection, Membership, Role

    collection = Collection.objects.filter(slug=SLUG).first()
    ledger_path = options.data / f"{options.engine}.ledger"
    if collection is None:
        ledger_path.unlink(missing_ok=True)  # of a former run, on another database
        collection = made(SLUG, raters=RATERS + 1, pairs=5_000, wanted=1, order=Collection.Order.RANDOM)
    Membership.objects.filter(user__username=f"{SLUG}-0").update(role=Role.ADMIN)
    ledger = Ledger(ledger_path)
    stopping = threading.Event()
    with served(servers()[OURS], options.data / f"{options.engine}.log") as server:
        names = [f"{SLUG}-{number}" for number in range(1, RATERS + 1)]
        facts = (["0", "1", "2", "3"], ledger, Habits(PAUSE), stopping, seed)
        raters = [Rater(server.address, SLUG, name, *facts) for name in names]
        with rating(raters):
            onlooker = Onlooker(server.address)
            time.sleep(5)
            onlooker.start()
            begun = time.time()
            act()
            ended = time.time()
            time.sleep(10)
            onlooker.over.set()
            onlooker.join()
    ledger.close()
    acts = read(ledger.path)
    late = [line["sent"] + line["seconds"] - ended for line in acts if begun <= line["first"] <= ended]
    return Seen(
        ended - begun,
        [line["sent"] + line["seconds"] - line["first"] for line in acts if begun <= line["first"] <= ended],
        max([0.0, *late]),
        onlooker.longest,
        onlooker.answers,
        sum((Counter(rater.statuses) for rater in raters), Counter()),
        compared(collection, acts).wrong,
    )


def told(what: str, seen: Seen) -> str:
    """What was seen, in lines, with goals."""
    pages = ", ".join(f"{page} {took:.2f} s" for page, took in seen.longest.items())
    goals = goal(f"{what}: pages and sign-in, longest in s", max(seen.longest.values()), f"<= {ANSWERED}")
    goals += goal(f"{what}: acts stored after its end, s", seen.after, f"<= {STORED}")
    goals += goal(f"{what}: acts lost or otherwise", seen.wrong, "<= 0")
    return (
        f"{RATERS} raters while {what} came in ({seen.took:.1f} s): {latencies(seen.acts)};"
        f" answers {dict(seen.statuses)}. Longest answers: {pages}; answers {dict(seen.answers)}.\n\n{goals}"
    )


def of_ratings(path: Path, queries: int) -> None:
    from ratings.formats.source import opened
    from ratings.importing import intake

    count, collection = write_qrels(path, queries), new_collection("with-ratings", queries)
    with opened(str(path)) as source:
        report = intake.import_qrels(collection, [source])
    if report.counts["new"] != count:
        raise SystemExit(f"{report.counts['new']:,} ratings of {count:,} were imported")


def of_all(took: list[float], part: int) -> float:
    """The percentile, in seconds."""
    return sorted(took)[min(len(took) - 1, len(took) * part // 100)]


def latencies(took: list[float]) -> str:
    parts = ", ".join(f"p{part} {of_all(took, part) * 1000:.0f} ms" for part in (50, 95))
    return f"{len(took):,} acts, {parts}, longest {max(took):.1f} s"


def main(options: argparse.Namespace) -> None:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    # In a process of its own, so that its memory does not count.
    subprocess.run([sys.executable, str(ROOT / "manage.py"), "collectstatic", "--no-input", "-v0"], check=True)
    options.data.mkdir(parents=True, exist_ok=True)
    queries = 50 if options.small else CASES[options.case]
    path = options.data / f"intake-{queries}.run"
    results = write_run(path, queries)
    print(f"## {options.engine}: {results:,} results\n\n{machine(options.rounds, 'django')}")
    every = sides(path, queries)[: 3 if queries > 1_000 else 4]  # seven million rows by bulk_create take long
    limit, new, known, *others = every
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    collection = new.build()
    of_run = beside(options, lambda: new.run(collection), seed=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ratings = options.ratings or (10_000 if options.small else 400_000)
    of_qrels = beside(options, lambda: of_ratings(options.data / "intake.qrels", ratings // RATED), seed=2)
    for _ in range(options.rounds):
        for side in every:
            built, ready = seconds(side.build)
            side.built.append(built)
            side.took.append(seconds(partial(side.run, ready))[0])
    print(table(every, every[:2]))
    speeds = [results / statistics.median(side.took) for side in (new, known)]
    print(f"Results a second: {speeds[0]:,.0f} with new documents, {speeds[1]:,.0f} with known ones.")
    print(f"Peak memory {peak:,.0f} MB, {before:,.0f} MB of it before the import.\n")
    print(told(f"{results:,} results", of_run))
    print(told(f"{ratings:,} ratings", of_qrels))
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
    chosen = parser.parse_args()
    if chosen.engine:
        main(chosen)
    else:
        on_each_engine("bench.intake", chosen.postgres)

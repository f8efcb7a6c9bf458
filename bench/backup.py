"""All of a million ratings backed up and restored beside raters at work, with kills of both.

Raters act more than a hundred times a second through the server of `python3 run.py`. Meanwhile backups are killed
with kill -9, and one may finish. It is restored elsewhere, with kills again, and must hold every act that was
confirmed before it began, every frozen evaluation and every picture. The twin is a plain copy of SQLite's file.
"""

import argparse
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from hashlib import sha256
from itertools import count
from pathlib import Path
from uuid import uuid4

from bench._engines import asked, measure_each
from bench._raters import SAVE, Habits, Ledger, Rater, rating, read
from bench._rounds import arguments, goal
from bench._served import Server, free_port, serving
from bench.ledger import people

ROOT = Path(__file__).resolve().parent.parent
RATERS_OF_A_PAIR, AT_WORK, RATE = 5, 30, 150  # acts a second, less what the raters wait
PICTURES = 200
# Runs a program and says the most memory that it held. That of `getrusage` would be the one of its parent.
MOST = """
import re, runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    print(re.search("VmHWM:[ \\t]*([0-9]+)", open("/proc/self/status").read())[1], file=sys.stderr)
"""


def fill(ratings: int) -> None:
    """So many ratings, with their pairs, assignments and events."""
    from django.utils import timezone

    from ratings.database.bulk import insert
    from ratings.models import Assignment, Collection, Document, Grade, Pair, Query, Rater, Rating, RatingEvent

    now, chance = timezone.now().strftime("%Y-%m-%d %H:%M:%S.%f"), random.Random(7)
    many = Collection.objects.create(slug="many", name="Many")
    grades = [Grade.objects.create(collection=many, value=Decimal(value)) for value in range(4)]
    raters = [Rater.objects.create(collection=many, name=f"r{n}").pk for n in range(RATERS_OF_A_PAIR)]
    pairs = ratings // RATERS_OF_A_PAIR
    queries = Query.objects.bulk_create(
        Query(collection=many, key=f"q{n}", text=f"query {n}") for n in range(max(1, pairs // 100))
    )
    body = "What the page says about it, in a sentence of some length. " * 8
    documents = Document.objects.bulk_create(
        (Document(collection=many, key=f"d{n}", title=f"Document {n}", body=body) for n in range(pairs // 2 + 1)),
        batch_size=5000,
    )
    made = Pair.objects.bulk_create(
        (
            Pair(query=queries[n % len(queries)], document=documents[n // 2], wanted=RATERS_OF_A_PAIR)
            for n in range(pairs)
        ),
        batch_size=5000,
    )
    said = [(pair, rater, chance.choice(grades)) for pair in made for rater in raters]
    insert(
        Assignment,
        ["pair_id", "rater_id", "state", "extra", "collection_id", "query_id", "depth", "lot", "round", "turn"],
        ((p.pk, r, "done", False, many.pk, p.query_id, 1, 7, 2**31 - 1, 0) for p, r, _ in said),
    )
    insert(
        Rating,
        [
            "pair_id",
            "rater_id",
            "grade_id",
            "reason",
            "comment",
            "revision",
            "created_at",
            "changed_at",
            "query_id",
            "document_id",
        ],
        ((p.pk, r, g.pk, "", "", 1, now, now, p.query_id, p.document_id) for p, r, g in said),
    )
    insert(
        RatingEvent,
        [
            *("pair_id", "rater_id", "kind", "value", "reason", "comment", "scale_version", "guidelines_version"),
            *("presentation_version", "opened", "seconds", "shown", "client_key", "created_at"),
        ],
        (
            (p.pk, r, "grade", str(g.value), "", "", 1, 0, 0, False, 2.5, "one", uuid4().hex, now)
            for p, r, g in said
        ),
    )


def fill_rest() -> None:
    """A row in each other table, and pictures."""
    from config.tests.release import everything
    from ratings.models import Collection, Picture
    from ratings.pictures import store

    everything()
    many, chance = Collection.objects.get(slug="many"), random.Random(7)
    for number in range(PICTURES):
        digests = [store.keep(chance.randbytes(20_000)) for _ in range(2)]
        facts = {"state": "ready", "small": digests[0], "large": digests[1]}
        Picture.objects.create(collection=many, digest=sha256(b"%d" % number).hexdigest(), source="x", **facts)


class Place:
    """A database with its data folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        folder.mkdir(mode=0o700, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "IDEALIST_DATA": str(self.folder), "DATABASE_URL": self.url}

    def start(self, *command: str) -> subprocess.Popen:
        whole = [sys.executable, "-c", MOST, str(ROOT / "manage.py"), *command]
        return subprocess.Popen(
            whole, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def did(self, *command: str) -> tuple[float, float]:
        """Seconds and megabytes of a command that must succeed."""
        begun = time.perf_counter()
        process = self.start(*command)
        _, said = process.communicate()
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: {said}")
        return time.perf_counter() - begun, int(said.splitlines()[-1]) / 1024

    def killed(self, seconds: float, *command: str) -> bool:
        """Whether the command was at work when it was killed, after so many seconds."""
        process = self.start(*command)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        return process.returncode == -9

    @contextmanager
    def open(self) -> Iterator[None]:
        """In this process the usual database for a while."""
        import dj_database_url

        from config.backup import replacement

        if self.url:
            facts = dj_database_url.parse(self.url)
            with replacement.default_connection(NAME=facts["NAME"]):
                yield
        else:
            path = self.folder / "db.sqlite3"
            with replacement.default_connection(
                ENGINE="config.sqlite", NAME=path, OPTIONS={"transaction_mode": "IMMEDIATE"}
            ):
                yield

    def is_empty(self) -> bool:
        from config.backup import replacement

        if not self.url and not (self.folder / "db.sqlite3").exists():
            return True
        with self.open():
            return replacement.table_with_rows() is None


def lost(place: Place, acts: Sequence[dict], frozen: set[str], pictures: Path) -> dict[str, int]:
    """How many of these are not in a restored place."""
    from evaluation.models import FrozenEvaluation
    from ratings.models import Picture, RatingEvent
    from ratings.pictures.store import name_of

    with place.open():
        stored = {str(key) for key in RatingEvent.objects.values_list("client_key", flat=True).iterator()}
        digests = {
            digest for row in Picture.objects.filter(state="ready").values_list("small", "large") for digest in row
        }
        now_frozen = set(FrozenEvaluation.objects.values_list("hash", flat=True))
    files = {digest: pictures / name_of(digest) for digest in digests}
    sound = sum(
        path.exists() and sha256(path.read_bytes()).hexdigest() == digest for digest, path in files.items()
    )
    return {
        "acts": sum(act["key"] not in stored for act in acts),
        "frozen evaluations": len(frozen - now_frozen),
        "pictures": len(digests) - sound + max(0, 2 * PICTURES - len(digests)),
    }


def slowness(acts: Sequence[dict], begun: float, ended: float) -> tuple[float, float, float]:
    """Acts a second, and p50 and p95 of a save in milliseconds, of those that were sent in a span of time."""
    sent = [a for a in acts if begun <= a["sent"] < ended]
    cuts = statistics.quantiles(
        (a["seconds"] * 1000 for a in sent if a["kind"] == SAVE and a["tries"] == 1), n=100
    )
    return len(sent) / (ended - begun), cuts[49], cuts[94]


def twin(place: Place, acts: Path, tries: int) -> list[str]:
    """What plain copies of SQLite's file lack, while raters write. None of them has the journal beside it."""
    found = []
    for number in range(tries):
        time.sleep(0.5)
        confirmed = {act["key"] for act in read(acts) if act["kind"] == SAVE}
        path = place.folder / f"twin-{number}.sqlite3"
        shutil.copy(place.folder / "db.sqlite3", path)
        with closing(sqlite3.connect(path)) as copied:
            try:
                copied.execute("PRAGMA integrity_check").fetchall()
                keys = {key for (key,) in copied.execute("SELECT client_key FROM ratings_ratingevent")}
                found.append(f"{sum(key.replace('-', '') not in keys for key in confirmed)} acts lost")
            except sqlite3.DatabaseError as error:
                found.append(f"refused: {error}")
        path.unlink()
    return found


def moments(chance: random.Random, seconds: float, number: int) -> list[float]:
    """One in each of so many equal parts, since the last part is another act than the first."""
    return [(part + chance.random()) * seconds / number for part in range(number)]


def restore_killed(another: Callable, url: str, seconds: float, backup: Path) -> tuple[bool, bool]:
    """Whether the restore was at work when it was killed, and whether something half is there."""
    from config.backup import restoring

    with another(url) as there:
        killed = there.killed(seconds, "restore", str(backup))
        if there.is_empty():
            return killed, False
        with there.open():  # it was whole before it was killed: compare all of it
            try:
                restoring.compare(backup)
            except restoring.UnusableBackup:
                return killed, True
        return killed, False


def measured(engine: str, chosen: argparse.Namespace) -> None:
    from bench._engines import prepared

    prepared(static=True)
    from django.db import connection, transaction

    from bench import _round
    from evaluation.models import FrozenEvaluation

    ratings, kills = (10_000, 2) if chosen.small else (chosen.ratings, chosen.kills)
    span = 3 if chosen.small else 20
    chance, numbers = random.Random(7), count()
    here = Place(Path(os.environ["IDEALIST_DATA"]), os.environ["DATABASE_URL"])
    backup = here.folder / "one.zip"
    with transaction.atomic():
        fill(ratings)
    fill_rest()
    _round.made("work", raters=AT_WORK, pairs=RATE * 120 + kills * RATE * 20, wanted=1)
    frozen = set(FrozenEvaluation.objects.values_list("hash", flat=True))
    connection.close()

    @contextmanager
    def another(url: str) -> Iterator[Place]:
        """An empty place; on PostgreSQL, a database of its own on the same server."""
        folder, name = here.folder / f"place-{next(numbers)}", f"idealist_bench_place_{os.getpid()}"
        if url:
            asked(url, f"CREATE DATABASE {name}")
        try:
            yield Place(folder, f"{url.rpartition('/')[0]}/{name}" if url else "")
        finally:
            shutil.rmtree(folder)
            if url:
                asked(url, f"DROP DATABASE {name} WITH (FORCE)")

    alone, memory = here.did("backup", str(backup))
    print(f"**{engine}**: {ratings:,} ratings\n")
    print(f"- backup: {alone:.1f} s, {memory:.0f} MB of memory, {backup.stat().st_size / 2**20:.0f} MB")
    address = ("127.0.0.1", free_port())
    command = [sys.executable, str(ROOT / "run.py"), "--port", str(address[1])]
    server = Server(command, here.environment, address, here.folder / "server.log")
    ledger = Ledger(here.folder / f"ledger of {engine}")
    raters: list[Rater] = people(
        [address], "work", AT_WORK, ledger=ledger, habits=Habits(pause=AT_WORK / RATE), seed=7
    )
    try:
        with serving(server), rating(raters):
            time.sleep(3)
            spans = [(time.time(), time.sleep(span), time.time())]
            begun = time.time()
            while time.time() < begun + span:
                here.did("backup", str(here.folder / "beside.zip"))
            spans.append((begun, None, time.time()))
            times = moments(chance, alone, kills)
            at_work = sum(here.killed(seconds, "backup", str(backup)) for seconds in times)
            here.did("restore", str(backup), "--dry")  # the file of before is still whole
            began = time.time()
            here.did("backup", str(backup))
            copies = [] if here.url else twin(here, ledger.path, 2 if chosen.small else 5)
    finally:
        ledger.close()
    acts = read(ledger.path)
    for words, (start, _, end) in zip(("without a backup", "beside backups"), spans, strict=True):
        rate, middle, slow = slowness(acts, start, end)
        print(f"- acts {words}: {rate:.0f} a second; a save: p50 {middle:.1f}, p95 {slow:.1f} ms")
    print(f"- backups killed at work: {at_work} of {kills}; the one before is whole each time")
    before = [act for act in acts if act["sent"] + act["seconds"] < began]
    kinds = {"its own kind": here.url} | ({"SQLite": ""} if here.url else {})
    for kind, url in kinds.items():
        with another(url) as there:
            took, memory = there.did("restore", str(backup))
            missing = lost(there, before, frozen, there.folder / "pictures")
            told = ", ".join(f"{name} {number}" for name, number in missing.items())
            print(f"- restored into {kind} in {took:.1f} s, {memory:.0f} MB; of {len(before):,} acts lost: {told}")
        outcomes = [restore_killed(another, url, seconds, backup) for seconds in moments(chance, took, kills)]
        at_work, half = sum(killed for killed, _ in outcomes), sum(half for _, half in outcomes)
        print(f"- restores into {kind} killed at work: {at_work} of {kills}; half restored: {half}", flush=True)
        if any(missing.values()) or half:
            raise SystemExit(f"{engine}: not all came back")
    if copies:
        print(f"- the twin, a plain copy of the file: {'; '.join(copies)}")
    print(goal("minutes of a backup", alone / 60, "<= 1"), end="")
    print(flush=True)


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--ratings", type=int, default=1_000_000, help="(1,000,000)")
    parser.add_argument("--kills", type=int, default=20, help="of backups, and of restores (20)")
    measure_each(parser, "bench.backup", measured, "Django", "psycopg", "pyarrow")


if __name__ == "__main__":
    main()

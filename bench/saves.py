"""What a save costs: against a bare view behind the same sign-in, and against commits alone.

The server is one process with eight threads, as `python3 run.py` starts it, and as many raters ask at a time,
without a pause. The server that was used before gets the same saves, in turns. The bare view gets the same request
as a save and only checks who asks: sessions, accounts, forged forms and headers cost both the same. A
commit writes one row, on as many connections.
"""

import argparse
import os
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from uuid import uuid4

from bench._engines import measure_each, prepared
from bench._raters import Browser
from bench._rounds import Side, arguments, goal, measure, ratio, table
from bench._served import OURS, Server, served, servers

AT_ONCE = 8
EACH = 20  # requests of each rater in a round: what one of them can hold
SLUG = "saves"
GOALS = {"SQLite": ">= 0.70", "PostgreSQL": ">= 0.60"}


class Asker:
    """A rater who sends one request after the other."""

    def __init__(self, address: tuple[str, int], number: int) -> None:
        self.browser = Browser(address)
        self.account = self.browser.sign_in(f"{SLUG}-{number}")
        self.base = f"/collections/{SLUG}/rate/"
        self.tasks: list[dict] = []

    def ask(self, path: str, **fields) -> dict:
        status, body, _ = self.browser.ask(path, {**fields, "account": self.account})
        if status != 200:
            raise SystemExit(f"{path}: {status} {body}")
        return body

    def claim(self) -> None:
        self.tasks = self.ask(f"{self.base}next/", count=EACH)["tasks"]

    def fields(self) -> dict:
        return {"grade": "2", "base_revision": "0", "seconds": "3.25", "comment": "", "client_key": str(uuid4())}

    def save(self, number: int) -> None:
        self.ask(f"{self.base}{self.tasks[number]['token']}/save/", **self.fields())

    def bare(self, number: int) -> None:
        self.ask("/bare/", **self.fields())


class Commit:
    """A connection that writes one row in each transaction, with the settings of the project."""

    turn = threading.Lock()  # SQLite has one writer at a time, and who finds it at work would sleep too long

    def __init__(self, settings: dict) -> None:
        if "sqlite" in settings["ENGINE"]:
            self.connection = sqlite3.connect(settings["NAME"], isolation_level=None, check_same_thread=False)
            self.connection.executescript(settings["OPTIONS"]["init_command"])
        else:
            import psycopg

            self.connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
        self.connection.execute("CREATE TABLE IF NOT EXISTS committed (number INTEGER, text TEXT)")

    def write(self, number: int) -> None:
        alone = self.turn if isinstance(self.connection, sqlite3.Connection) else nullcontext()
        with alone:
            self.connection.execute(f"INSERT INTO committed VALUES ({number}, 'as long as a comment')")


def timed(act: Callable[[int], None]) -> list[float]:
    """What each of EACH acts in a row took, in seconds."""
    took = []
    for number in range(EACH):
        begun = time.perf_counter()
        act(number)
        took.append(time.perf_counter() - begun)
    return took


class Load:
    """All askers at once; what each request took is kept, and what the server's processor did meanwhile."""

    def __init__(self, server: Server | None) -> None:
        self.server, self.took, self.processor = server, [], []

    def __call__(self, acts: Sequence[Callable[[int], None]]) -> None:
        used = self.server.processor_seconds() if self.server else 0
        with ThreadPoolExecutor(len(acts)) as pool:
            for took in pool.map(timed, acts):
                self.took += took
        if self.server:
            self.processor.append((self.server.processor_seconds() - used) / (len(acts) * EACH))

    def words(self) -> str:
        cuts = statistics.quantiles(self.took, n=100)
        shown = ", ".join(f"{name} {cuts[at] * 1000:.1f}" for name, at in (("p50", 49), ("p95", 94), ("p99", 98)))
        if self.processor:
            shown += f"; processor {statistics.median(self.processor) * 1000:.2f} ms a request"
        return shown

    @property
    def tail(self) -> float:
        cuts = statistics.quantiles(self.took, n=100)
        return cuts[98] / cuts[49]


def side(load: "Load", name: str, whose: Sequence, before: Callable, act: Callable) -> Side:
    def build() -> None:
        with ThreadPoolExecutor(len(whose)) as pool:
            list(pool.map(before, whose))

    return Side(name, build, lambda _: load([partial(act, each) for each in whose]), again=True)


def measured(engine: str, chosen: argparse.Namespace) -> None:
    prepared("bench._bare_settings")
    from django.conf import settings
    from django.db import connection

    from bench import _round

    rounds = 2 if chosen.small else chosen.rounds
    _round.made(SLUG, raters=AT_ONCE, pairs=AT_ONCE * EACH * (rounds + 3), wanted=1)
    database = {**settings.DATABASES["default"]}
    connection.close()
    log = Path(os.environ["IDEALIST_DATA"]) / f"{engine}.log"
    with served(servers()[OURS], log) as server:
        commits = [Commit(database) for _ in range(AT_ONCE)]
        loads = {"a save": Load(server), "the bare view": Load(server), "a commit": Load(None)}
        askers = [Asker(server.address, number) for number in range(AT_ONCE)]
        sides = [
            side(loads["a save"], "a save", askers, Asker.claim, Asker.save),
            side(loads["the bare view"], "the bare view", askers, lambda asker: None, Asker.bare),
            side(loads["a commit"], "a commit", commits, lambda commit: None, Commit.write),
        ]
        measure(sides, rounds, 0)
    save, bare, commit = sides
    print(f"**{engine}**: {AT_ONCE * EACH} requests a round\n\n{table(sides, [bare])}")
    for name, load in loads.items():
        print(f"- {name}: {load.words()}")
    print(goal("saves / bare requests in a second", ratio(bare, save), GOALS[engine]), end="")
    print(f"- saves / commits in a second: {ratio(commit, save):.2f}")
    if engine == "PostgreSQL":
        print(goal("p99 / p50 of a save", loads["a save"].tail, "<= 2"), end="")
    print(flush=True)


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    measure_each(parser, "bench.saves", measured, "Django", "psycopg", "waitress")


if __name__ == "__main__":
    main()

"""The time of a save while 500 strangers are silent, and while 500 read slowly.

Our server and waitress as it is in turn, each with eight threads, on the same database. Eight raters save without
a pause. Half of the silent strangers stop within a header, half within a body; the slow ones ask for the largest
static file, and read some bytes twice a second. Disconnected strangers reconnect. A server that answers no save
for twenty seconds has failed.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

from bench._engines import measure_each, prepared
from bench._rounds import arguments, goal
from bench._served import served, servers
from bench.saves import AT_ONCE, EACH, Asker, timed

SLUG = "saves"
STRANGERS = {"nobody": 0, "silent": 500, "slow": 500}


@contextmanager
def strangers(port: int, kind: str, number: int, path: str) -> Iterator[None]:
    if not number:
        yield
        return
    command = [sys.executable, "-P", "-m", "bench._strangers", str(port), kind, str(number), path]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            yield
        finally:
            process.kill()


def saves(askers: Sequence[Asker]) -> list[float] | None:
    """What each save took, in seconds; None where one was not answered."""
    try:
        with ThreadPoolExecutor(len(askers)) as pool:
            return [each for took in pool.map(timed, [asker.save for asker in askers]) for each in took]
    except (OSError, HTTPException):
        return None


def measured(engine: str, chosen: argparse.Namespace) -> None:
    prepared(static=True)
    from django.contrib.staticfiles.storage import staticfiles_storage
    from django.db import connection

    from bench import _round

    rounds = 1 if chosen.small else chosen.rounds
    known = servers()
    _round.made(SLUG, raters=AT_ONCE, pairs=AT_ONCE * EACH * (rounds + 1) * len(known) * 4, wanted=1)
    path = staticfiles_storage.url("vega.js")
    connection.close()
    took = {(name, kind): [] for name in known for kind in STRANGERS}
    for _ in range(rounds):
        for name, command in known.items():
            for kind, number in STRANGERS.items():
                if None in took[name, kind]:
                    continue
                took[name, kind].append(one(engine, command, kind, number, path))
    print(f"**{engine}**: milliseconds of a save, p50 and p95; saves a second\n")
    print("|  | " + " | ".join(f"{kind} {number}" for kind, number in STRANGERS.items()) + " |")
    print("| --- |" + " ---: |" * len(STRANGERS))
    for name in known:
        print(f"| {name} | " + " | ".join(words(took[name, kind]) for kind in STRANGERS) + " |")
    print()
    for name, kind in ((name, kind) for name in known for kind in ("silent", "slow")):
        print(goal(f"{name}: p95 with {kind} strangers, seconds", p95(flat(took[name, kind])), "<= 2"), end="")
    print(flush=True)


def one(engine: str, command: Callable, kind: str, number: int, path: str) -> list[float] | None:
    """A round on a server that was just started."""
    with served(command, Path(os.environ["IDEALIST_DATA"]) / f"{engine}.log") as server:
        askers = []
        for number_of in range(AT_ONCE):
            askers.append(Asker(server.address, number_of))
            askers[-1].claim()
            askers[-1].browser.connection.close()  # they come anew, when the strangers are there
        with strangers(server.address[1], kind, number, path):
            return saves(askers)


def flat(rounds: list) -> list[float] | None:
    return None if None in rounds else [each for took in rounds for each in took]


def p95(took: list[float] | None) -> float:
    return statistics.quantiles(took, n=100)[94] if took else float("inf")


def words(rounds: list) -> str:
    took = flat(rounds)
    if took is None:
        return "no answer"
    second = AT_ONCE * len(took) / sum(took)
    return f"{statistics.median(took) * 1000:.0f}, {p95(took) * 1000:.0f}; {second:.0f}"


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    measure_each(parser, "bench.silent", measured, "Django", "psycopg", "waitress")


if __name__ == "__main__":
    main()

"""Raters at work while the server is killed repeatedly: no acknowledged act may be lost.

The raters retry as the desk does, each act with its key, until it is confirmed, and every confirmation is written
to a ledger on disk. Afterwards the record must hold each act of the ledger once and nothing else. The server is
that of `python3 run.py`, killed with kill -9 and started again. On PostgreSQL one of its processes is killed now
and then, too, which then closes all connections: give a server on this machine that nobody else uses. With
--machines there are several without a shared folder, and workers and PgBouncer are killed, too.
"""

import argparse
import os
import random
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from typing import NamedTuple

from bench._engines import on_each_engine, prepared
from bench._machines import Program, machines
from bench._raters import AT_ONCE, SAVE, Habits, Ledger, Rater, Refused, rating, read
from bench._rounds import machine
from bench._served import Server, free_port, serving
from config.tests import programs

ROOT = Path(__file__).resolve().parent.parent
SLUG = "ledger"
WANTED = 3
BACKEND_SHARE = 0.25  # on PostgreSQL: of its processes to those of the server that are killed
AGAIN_WITHIN = 120  # seconds
SIGN_INS = 6  # a second
USUALLY_AGAIN = 20  # seconds until all rate again, for the number of pairs
SERVER, BACKEND = "a server", "a process of PostgreSQL"
WORKER, POOLER = "a worker", "PgBouncer"
BAD_WORDS = ("database is locked", "Internal Server Error")


class Target(NamedTuple):
    """What the raters ask, and how it is killed."""

    addresses: list[tuple[str, int]]
    strikes: Mapping[str, Callable[[], float]]
    kills: Mapping[str, int]
    said: Callable[[], str]  # its logs


def kill_backend() -> None:
    """kill -9 one of PostgreSQL's processes that serve our database."""
    from django.db import OperationalError, connection

    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " ORDER BY random() LIMIT 1"
        )
        if row := cursor.fetchone():
            os.kill(row[0], SIGKILL)
    connection.close()


def all_again(raters: Sequence[Rater], since: float) -> float:
    """Seconds from `since` until each of the raters had an act confirmed."""
    while any(rater.last_confirmed < since for rater in raters):
        if time.monotonic() > since + AGAIN_WITHIN or any(rater.failure for rater in raters):
            break  # a rater who gave up has a reason, which `rating` tells
        time.sleep(0.01)
    return time.monotonic() - since


def attacked(
    strikes: Mapping[str, Callable[[], float]], raters: Sequence[Rater], plan: Sequence[tuple[float, str]]
) -> dict[str, list[float]]:
    """Let the raters rate for some seconds, kill, and wait until all rate again; by what was killed, how long that
    took. `plan`: seconds and what is killed after them. A strike kills, starts again, and returns when it killed.
    """
    took = {what: [] for _, what in plan}
    for seconds, what in plan:
        time.sleep(seconds)
        took[what].append(all_again(raters, strikes[what]()))
    return took


def attacked_while_rating(
    raters: Sequence[Rater], target: Target, chance: random.Random, seconds: float
) -> tuple[dict[str, list[float]], float]:
    """What `attacked` returns, and for how many seconds the raters rated in all."""
    begun = time.monotonic()
    try:
        with rating(raters):
            all_again(raters, begun + raters[0].habits.arrive)
            began = time.monotonic()
            plan = planned(chance, seconds, target.kills)
            took = attacked(target.strikes, raters, plan)
            time.sleep(max(0, seconds - sum(pause for pause, _ in plan)))
            return took, time.monotonic() - began
    except Refused as refused:
        raise SystemExit(f"{refused}. What the servers said last:\n{target.said()[-10_000:]}") from refused


def struck(program: Server | Program) -> float:
    """Kill it and start it again."""
    program.kill()
    since = time.monotonic()
    program.start()
    if isinstance(program, Server):
        program.wait()  # raises with the server's own words where it cannot begin
    return since


def struck_backend() -> float:
    kill_backend()
    return time.monotonic()


def planned(chance: random.Random, seconds: float, kills: Mapping[str, int]) -> list[tuple[float, str]]:
    """So many kills of each kind, at any time of so many seconds of rating."""
    whats = [what for what, count in kills.items() for _ in range(count)]
    moments = sorted((chance.uniform(0, seconds), what) for what in whats)
    befores = [0, *(moment for moment, _ in moments)]
    return [(moment - before, what) for before, (moment, what) in zip(befores, moments, strict=False)]


def people(addresses: Sequence[tuple[str, int]], slug: str, count: int, **facts) -> list[Rater]:
    """Raters who begin at each of the addresses in turn."""
    facts |= {"grades": ["0", "1", "2", "3"], "stopping": threading.Event()}
    found = []
    for number in range(count):
        turn = number % len(addresses)
        address, *others = [*addresses[turn:], *addresses[:turn]]
        found.append(Rater(address, slug, f"{slug}-{number}", others=others, **facts))
    return found


def answers(raters: Sequence[Rater]) -> Counter:
    return sum((Counter(rater.statuses) for rater in raters), Counter())


def milliseconds(acts: Sequence[dict]) -> str:
    """Of the acts that were confirmed at the first try: the others met a dead server."""
    took = [act["seconds"] * 1000 for act in acts if act["kind"] == SAVE and act["tries"] == 1]
    cuts = statistics.quantiles(took, n=100)
    return f"p50 {cuts[49]:.0f}, p95 {cuts[94]:.0f}, p99 {cuts[98]:.0f}, most {max(took):.0f} ms"


def seconds_words(took: Sequence[float]) -> str:
    return f"median {statistics.median(took):.1f} s, most {max(took):.1f} s"


@contextmanager
def one_server(engine: str, chosen: argparse.Namespace, chance: random.Random) -> Iterator[Target]:
    """That of run.py."""
    address = ("127.0.0.1", free_port())
    command = [sys.executable, str(ROOT / "run.py"), "--port", str(address[1])]
    server = Server(command, os.environ, address, Path(os.environ["IDEALIST_DATA"]) / f"{engine}.log")
    kills = {SERVER: chosen.kills, BACKEND: int(chosen.kills * BACKEND_SHARE) if engine == "PostgreSQL" else 0}
    with serving(server):
        yield Target([address], {SERVER: lambda: struck(server), BACKEND: struck_backend}, kills, server.said)


@contextmanager
def several(chosen: argparse.Namespace, chance: random.Random) -> Iterator[Target]:
    """Servers and workers of several machines, and what lies between them and PostgreSQL."""
    with machines(os.environ["DATABASE_URL"], chosen.machines) as found:
        for machine in found.all:
            machine.worker.start()
        strikes = {
            SERVER: lambda: struck(chance.choice(found.all).web),
            WORKER: lambda: struck(chance.choice(found.all).worker),
            POOLER: lambda: struck(found.pooler),
            BACKEND: struck_backend,
        }
        kills = {what: -(-chosen.kills // len(strikes)) for what in strikes}
        addresses = [machine.address for machine in found.all]
        yield Target(addresses, strikes, kills, lambda: "".join(machine.web.said() for machine in found.all))


def measured(engine: str, chosen: argparse.Namespace) -> bool:
    """One engine; whether everything was found in order."""
    prepared()
    from django.db import connection

    from bench import _round

    # Every rater can rate every pair once: enough for as fast as they are to go, for all of the time, and as much
    # as they hold. Raters without work would only ask for some.
    lasts = chosen.seconds + chosen.kills * USUALLY_AGAIN
    pairs = int(lasts * chosen.rate / WANTED * 1.5) + chosen.raters * AT_ONCE
    collection = _round.made(SLUG, raters=chosen.raters, pairs=pairs, wanted=WANTED, order=chosen.order)
    connection.close()
    ledger = Ledger(Path(os.environ["IDEALIST_DATA"]) / f"{engine}.ledger")
    chance = random.Random(chosen.seed)
    habits = Habits(pause=chosen.raters / chosen.rate, arrive=chosen.raters / SIGN_INS)
    try:
        with several(chosen, chance) if chosen.machines else one_server(engine, chosen, chance) as target:
            raters = people(target.addresses, SLUG, chosen.raters, ledger=ledger, habits=habits, seed=chosen.seed)
            took, lasted = attacked_while_rating(raters, target, chance, chosen.seconds)
            log = target.said()
    finally:
        ledger.close()
    acts = read(ledger.path)
    found = _round.compared(collection, acts)
    given = answers(raters)
    bad = [words for words in BAD_WORDS if words in log] + [s for s in given if s.startswith("5") and s != "503"]
    print(f"**{engine}**: {len(raters)} raters, {lasted:.0f} s, {len(acts) / lasted:.0f} acts a second\n")
    print(f"- acknowledged {found.acknowledged:,}, lost {found.lost}, doubled {found.doubled}")
    print(f"- stored otherwise {found.otherwise}, wrong now {found.wrong_now}, over quota {found.over_quota},")
    print(f"  false places {found.false_places}, damage {found.damage}; surplus {_round.surplus(collection)}")
    print(f"- rounds drawn by the worker {collection.rounds.count()}, false {found.false_rounds}")
    print(f"- stored though the answer never came, and met by a retry: {found.unheard}")
    for what, times in took.items():
        print(f"- {what} killed {len(times)} times; until all rated again: {seconds_words(times)}")
    print(f"- saves at the first try: {milliseconds(acts)}")
    print("- answers: " + ", ".join(f"{status} {count:,}" for status, count in sorted(given.items())))
    print(f"- {', '.join(bad) or 'no 500, no locked database'}\n", flush=True)
    return not (found.wrong or bad)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=240, help="of rating, beside the time to be back (240)")
    parser.add_argument("--kills", type=int, default=20, help="of the server (20)")
    parser.add_argument("--raters", type=int, default=40, help="(40)")
    parser.add_argument("--rate", type=float, default=200, help="acts a second that all try to reach (200)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--order", choices=["query", "decisive"], default="query", help="of rating (query)")
    parser.add_argument("--postgres", metavar="URL", help="a server of your own, too: its processes are killed")
    parser.add_argument("--machines", type=int, default=0, help="behind PgBouncer, on PostgreSQL alone (none)")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    lacks = programs.absent("pgbouncer") or ("" if chosen.postgres else "--postgres names no server")
    if chosen.machines and lacks:
        parser.error(f"--machines: {lacks}")
    if chosen.engine:
        sys.exit(not measured(chosen.engine, chosen))
    print(machine(1, "Django", "psycopg", "waitress").rpartition(";")[0] + "\n", flush=True)
    on_each_engine("bench.ledger", chosen.postgres, only="PostgreSQL" if chosen.machines else "")


if __name__ == "__main__":
    main()

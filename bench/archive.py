"""A million results as an archive: exported and imported to the byte, in constant memory.

The benchmark compares it with a collection with a tenth of everything, and both with the plain import of the same
results as a run, whose documents get no text. Each runs in its own process, which prints its time and peak memory.
The exported collection must equal the imported one.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import numpy as np

from bench._engines import on_each_engine
from bench._rounds import arguments, goal, machine, seconds, shown

QUERIES, SMALL = 1_000, 50
DEPTH, SYSTEMS, DOCUMENTS, PAIRS = 100, 10, 200, 100  # the last two are those of a query
AT = "2026-03-02T09:00:00+00:00"
MEGABYTE = 1 << 20


def rows(queries: int) -> dict[str, Iterator[dict]]:
    """The lines of each member: every pair has one rating and one event."""
    chance = np.random.default_rng(7)
    of = [(q, d) for q in range(queries) for d in range(PAIRS)]
    pair = [{"query": f"q{q}", "document": f"d{q}-{d}"} for q, d in of]
    fact = {"name": "Bench", "description": "", "relevant_from": "1", "order": "query", "gold_share": "0"}
    fact |= {"repeat_share": "0", "break_after": 50, "scale_version": 1, "created_at": AT}
    person = {"kind": "person", "weight": "1", "active": True, "limit": None, "guidelines_read": 0}
    said = {"value": "1", "reason": "", "comment": "", "undoes": None, "scale_version": 1, "guidelines_version": 0}
    said |= {"seconds": 2.5, "shown": "one", "client_key": None, "created_at": AT}
    rated = {"grade": "1", "reason": "", "comment": "", "revision": 1, "created_at": AT, "changed_at": AT}
    wanted = {"wanted": 1, "depth": 1, "retired_at": None}
    return {
        "collection": iter([fact]),
        "grades": ({"value": value, "label": "", "meaning": ""} for value in "012"),
        "guidelines": iter([]),
        "queries": ({"key": f"q{q}", "text": "t", "need": "", "tags": [], "weight": 1.0} for q in range(queries)),
        "documents": (
            {"key": f"d{q}-{d}", "title": "A title", "body": "word " * 40, "url": "", "fields": {}}
            for q in range(queries)
            for d in range(DOCUMENTS)
        ),
        "systems": ({"name": f"s{s}", "description": "", "created_at": AT} for s in range(SYSTEMS)),
        "rankings": (
            {
                "system": f"s{s}",
                "query": f"q{q}",
                "documents": [f"d{q}-{d}" for d in chance.permutation(DOCUMENTS)[:DEPTH]],
                "scores": np.sort(chance.random(DEPTH))[::-1].tolist(),
            }
            for s in range(SYSTEMS)
            for q in range(queries)
        ),
        "raters": iter([{"name": "ann", **person, "warmed_up_at": None}]),
        "queries_of_raters": iter([]),
        "pairs": ({**each, "token": str(UUID(int=n + 1)), **wanted} for n, each in enumerate(pair)),
        "anchors": iter([]),
        "assignments": (
            {**each, "rater": "ann", "state": "done", "extra": False, "depth": 1, "lot": n}
            for n, each in enumerate(pair)
        ),
        "ratings": ({**each, "rater": "ann", **rated} for each in pair),
        "adjudications": iter([]),
        "events": (
            {"number": n, **each, "rater": "ann", "kind": "grade", **said} for n, each in enumerate(pair, 1)
        ),
        "checks": iter([]),
    }


def make(queries: int, path: Path) -> None:
    """The archive, by the parts that write any."""
    from ratings.archive.members import FORMAT, MANIFEST, MEMBERS, VERSION, snapshot_of
    from ratings.formats.zipped import FixedZip

    found, archive, counts = rows(queries), FixedZip(), {}
    with path.open("wb") as file:
        for member in MEMBERS:
            lines = [(json.dumps(row, separators=(",", ":")) + "\n").encode() for row in found[member.name]]
            counts[member.name] = len(lines)
            file.writelines(archive.add(member.file, [b"".join(lines)], large=True))
        told = [
            {"file": member.file, "lines": counts[member.name], "sha256": archive.sums[member.file]}
            for member in MEMBERS
        ]
        manifest = {"format": FORMAT, "version": VERSION, "snapshot": snapshot_of(archive.sums), "members": told}
        file.writelines(archive.add(MANIFEST, [(json.dumps(manifest, indent=2) + "\n").encode()]))
        file.write(archive.end())


def write_run(queries: int, path: Path) -> None:
    """The same results."""
    with path.open("w") as file:
        for row in rows(queries)["rankings"]:
            found = zip(row["documents"], row["scores"], strict=True)
            file.writelines(
                f"{row['query']} Q0 {document} {rank} {score} {row['system']}\n"
                for rank, (document, score) in enumerate(found, 1)
            )


def act(name: str, slug: str, path: Path) -> None:
    """Do one thing with the collection `bench-QUERIES` and print seconds and the most memory."""
    import django

    django.setup()
    from django.db import connection

    from ratings import archive, intake
    from ratings.formats.source import opened as source
    from ratings.models import Collection, Query

    queries = int(slug.partition("-")[2])
    if connection.vendor == "sqlite":
        # The pages of the file that it maps are the system's: they are given back when somebody wants memory.
        connection.cursor().execute("PRAGMA mmap_size = 0")

    def make_both() -> None:
        make(queries, path)
        write_run(queries, path.with_suffix(".run"))

    def plain() -> None:
        collection = Collection.objects.create(slug="plain", name="plain")
        Query.objects.bulk_create(Query(collection=collection, key=f"q{q}", text="t") for q in range(queries))
        with source(str(path.with_suffix(".run"))) as run:
            report = intake.import_run(collection, [run])
        if report.refusals:
            raise SystemExit(str(report.refusals[0]))

    def restore() -> None:
        with archive.opened(path) as opened:
            report = archive.restore(opened, slug)
        if report.refusals:
            raise SystemExit(str(report.refusals[0]))

    def write() -> None:
        with path.with_suffix(".again").open("wb") as file:
            archive.write(Collection.objects.get(slug=slug), file)

    before = time.process_time()
    took, _ = seconds({"make": make_both, "intake": plain, "import": restore, "export": write}[name])
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"seconds": took, "processor": time.process_time() - before, "bytes": most}))


def in_a_process(name: str, slug: str, path: Path) -> dict:
    command = [sys.executable, "-P", "-m", "bench.archive", "--act", name, slug, str(path)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measured(engine: str, chosen: argparse.Namespace) -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    chosen.data.mkdir(parents=True, exist_ok=True)
    large, found = SMALL if chosen.small else QUERIES, {}
    for queries in (large // 10, large):
        path = chosen.data / f"archive-{queries}.zip"
        # Made by a process of its own, or its memory would count as that of the others.
        for name in ("make", "intake", "import", "export"):
            found[name, queries] = in_a_process(name, f"bench-{queries}", path)
            if name == "intake":
                clear()
        del found["make", queries]
        if sha256(path.read_bytes()).digest() != sha256(path.with_suffix(".again").read_bytes()).digest():
            raise SystemExit("What came out is not what went in")
        clear()
    print(f"**{engine}**\n\n|  | results | seconds | processor | / intake | most memory |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for (name, queries), it in found.items():
        times = [shown(it["seconds"]), shown(it["processor"])]
        times.append(f"{it['processor'] / found['intake', queries]['processor']:.2f}")
        results, memory = queries * DEPTH * SYSTEMS, it["bytes"] / MEGABYTE
        print(f"| {name} | {results:,} | {' | '.join(times)} | {memory:.0f} MB |")
    print()
    for name in ("import", "export"):
        more = found[name, large]["bytes"] / found[name, large // 10]["bytes"]
        print(goal(f"{name}: memory of ten times as much", more, "<= 1.5"), end="")
        slower = found[name, large]["processor"] / found["intake", large]["processor"]
        print(goal(f"{name} / intake of the same results, processor", slower, "<= 2"), end="")
    print("- what came out is what went in, byte for byte: reached\n", flush=True)


def clear() -> None:
    """The tokens are those of the next collection, too."""
    from django.db import connection

    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor) if name.startswith("ratings_")]
        if connection.vendor == "postgresql":
            cursor.execute(f"TRUNCATE {', '.join(tables)} CASCADE")
        else:
            cursor.execute("PRAGMA foreign_keys = OFF")
            for table in tables:
                cursor.execute(f"DELETE FROM {table}")


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--postgres", metavar="URL", help="a server, too")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--act", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    if chosen.act:
        name, slug, path = chosen.act
        return act(name, slug, Path(path))
    if chosen.engine:
        import django

        django.setup()
        return measured(chosen.engine, chosen)
    print(machine(1, "Django", "psycopg"), flush=True)
    on_each_engine("bench.archive", chosen.postgres)
    return None


if __name__ == "__main__":
    main()

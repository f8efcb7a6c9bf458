"""The databases that a benchmark measures on: made before it, and removed after it."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

from bench._rounds import machine


def prepared(settings: str = "config.settings", *, static: bool = False) -> None:
    """Set Django up, and make the tables of its database and, where they are asked for, its static files."""
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = settings
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    if static:
        call_command("collectstatic", interactive=False, verbosity=0)


@contextmanager
def engines(server: str | None) -> Iterator[dict[str, dict[str, str]]]:
    """The environment of each database: a file of SQLite and, where a server is named, one of PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="idealist-bench-") as folder:
        found = {"SQLite": {"IDEALIST_DATA": folder, "DATABASE_URL": ""}}
        if not server:
            yield found
            return
        name = f"idealist_bench_{os.getpid()}"
        asked(server, f"CREATE DATABASE {name}")
        url = urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        try:
            yield {**found, "PostgreSQL": {"IDEALIST_DATA": folder, "DATABASE_URL": url}}
        finally:
            asked(server, f"DROP DATABASE {name} WITH (FORCE)")


def asked(server: str, statement: str) -> None:
    """By a connection of its own: a bench that kills the server's processes would end one that is kept."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)


def measure_each(
    parser: argparse.ArgumentParser,
    module: str,
    measured: Callable[[str, argparse.Namespace], None],
    *packages: str,
) -> None:
    """The whole of a bench that measures each database alike: its options, the line on the machine, its runs."""
    parser.add_argument("--postgres", metavar="URL", help="a server, too")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.engine:
        measured(chosen.engine, chosen)
        return
    print(machine(chosen.rounds, *packages), flush=True)
    on_each_engine(module, chosen.postgres)


def on_each_engine(module: str, server: str | None) -> None:
    """Run the module on each database, in a process of its own: Django's settings are read once in each."""
    with engines(server) as found:
        for name, environment in found.items():
            command = [sys.executable, "-P", "-m", module, "--engine", name, *sys.argv[1:]]
            if subprocess.run(command, check=False, env={**os.environ, **environment}).returncode:
                raise SystemExit(f"{name}: not measured, or not as it should be")
    if not server:
        print("PostgreSQL: not measured. Give a server with --postgres URL.", flush=True)

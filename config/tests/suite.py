"""All checks and tests, as `python3 run.py test` runs them in the environment of the project.

Arguments are those of pytest; --all adds the slow tests.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import quote

from config.tests import programs

ROOT = Path(__file__).resolve().parents[2]
CHECKS = {
    "ruff check": ["-m", "ruff", "check", "."],
    "manage.py makemigrations --check": ["manage.py", "makemigrations", "--check", "--dry-run"],
    "manage.py check": ["manage.py", "check"],
    "mypy": ["-m", "config.tests.type_hints"],
}
QUICK = "not slow and (walk or not browser)"
ON_SQLITE = "not postgresql"
ON_POSTGRESQL = "(both_databases or postgresql)"
NO_TESTS = 5  # exit status of pytest where it found no test
# What the caller may have set for a server must not reach the tests.
OF_SERVERS = ["DATABASE_URL", "SECRET_KEY", "IDEALIST_HOSTS", "IDEALIST_HTTPS", "IDEALIST_DEMO", "IDEALIST_DATA"]


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 where every check and every test passed."""
    quick = [] if "--all" in arguments else [QUICK]
    arguments = [argument for argument in arguments if argument != "--all"]
    given = os.environ.get("IDEALIST_TEST_POSTGRES")
    skipped = {name: reason for name in programs.PROGRAMS if (reason := programs.absent(name))}
    if given:
        skipped.pop("postgresql", None)
    if skipped and os.environ.get("CI"):
        print("With CI set no test may be skipped:", *skipped.values(), sep="\n  ", file=sys.stderr)
        return 1
    # Otherwise the PostgreSQL server would keep running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    outcomes = {}
    with compiling(arguments), tempfile.TemporaryDirectory(prefix="idealist-checks-") as data:
        for title, command in CHECKS.items():
            outcomes[title] = step(title, command, IDEALIST_DATA=data)
    tests = {"tests on SQLite": pytest("tests on SQLite", [ON_SQLITE, *quick], arguments)}
    if "postgresql" not in skipped:
        with nullcontext(given) if given else postgresql() as url:
            title = "tests on PostgreSQL"
            tests[title] = pytest(title, [ON_POSTGRESQL, *quick], arguments, DATABASE_URL=url)
    print()
    for title, status in {**outcomes, **tests}.items():
        print(f"{'passed' if status == 0 else 'no tests' if status == NO_TESTS else 'FAILED'}: {title}")
    for name, reason in skipped.items():
        print(f"skipped: {programs.PROGRAMS[name].what}, {reason}")
    # Where arguments choose, there may be no test for one of the databases.
    passed = [*outcomes.values(), *(0 if status == NO_TESTS else status for status in tests.values())]
    return 0 if set(passed) == {0} and set(tests.values()) != {NO_TESTS} else 1


def environment(**more: str) -> Mapping[str, str]:
    """The environment of a step. Tests start many programs, so modules are compiled, whatever the caller sets."""
    dropped = {*OF_SERVERS, "PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
    return {name: value for name, value in os.environ.items() if name not in dropped} | more


def compiling(arguments: Sequence[str]) -> subprocess.Popen:
    """A process that compiles the tests, once for all processes of them and while the checks run."""
    collect = [sys.executable, "-m", "pytest", "--collect-only", *arguments]
    return subprocess.Popen(
        collect, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def pytest(title: str, marks: Sequence[str], arguments: Sequence[str], **more: str) -> int:
    # One process more than there are cores, since some tests wait for a browser, a server or a lock.
    side_by_side = [f"-n{(os.cpu_count() or 1) + 1}", "--dist=worksteal"]
    return step(title, ["-m", "pytest", "-m", " and ".join(marks), *side_by_side, *arguments], **more)


def step(title: str, command: Sequence[str], **more: str) -> int:
    """The exit status of a program of Python, which writes to the terminal itself."""
    print(f"\n== {title}", flush=True)
    with subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment(**more)) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()  # Ctrl-C reached it, too, and it closes its browser and database
            raise
        except SystemExit:
            process.terminate()
            raise


@contextmanager
def postgresql() -> Iterator[str]:
    """Yields the URL of a temporary PostgreSQL server, which is deleted at the end of the block."""
    # PostgreSQL refuses to run as root.
    as_postgres = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    initdb = Path(programs.path_of("postgresql")).resolve()
    # In /tmp, since another user must reach it, and the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="idealist-postgres-", dir="/tmp") as folder:
        data, log = ["-D", f"{folder}/data"], ["-l", f"{folder}/log"]
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        # Otherwise it analyzes a table that is empty between two tests, and plans the next test for that.
        settings += " -c autovacuum=off"
        # Several tests at a time start servers and workers, each with a connection a thread.
        settings += " -c max_connections=300"
        control = [*as_postgres, str(initdb.with_name("pg_ctl")), *data]
        if as_postgres:
            shutil.chown(folder, "postgres", "postgres")
        create = [str(initdb), "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
        try:
            subprocess.run([*as_postgres, *create, *data], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([*control, *log, "-w", "-o", settings, "start"], check=True, stdout=subprocess.DEVNULL)
            yield f"postgres://postgres@{quote(folder, safe='')}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

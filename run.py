#!/usr/bin/env python3
"""Start, use and test Idealist. Only Python 3.11 or newer must be installed.

    python3 run.py                         serve on http://127.0.0.1:8000/ (Ctrl-C stops it)
    python3 run.py --port 8001             serve on another port
    python3 run.py --host 0.0.0.0          serve others: a proxy with TLS, IDEALIST_HTTPS=1, IDEALIST_HOSTS=names
    python3 run.py doctor                  print each problem of this installation, and its cure
    python3 run.py manage COMMAND ...        run a management command; nothing is added to its output
    python3 run.py backup FILE             write all data into one file, while others use it
    python3 run.py restore FILE [--dry]    restore all data of a backup; --dry only sees whether that is possible
    python3 run.py upgrade [--plan]        bring the database up to date: show the plan, back up, migrate, check
    python3 run.py test [PYTEST OPTIONS]   run all checks and tests, on SQLite and on PostgreSQL
    python3 run.py test --changed          run all checks, and the tests nearest to what changed since main
    python3 run.py bench [NAME ...]        run a benchmark against other programs; without NAME, list them
    python3 run.py pictures                make the pictures of the documents anew
    python3 run.py lock [--upgrade]        make requirements*.lock anew after a change of requirements*.txt
    python3 run.py sbom FILE               list what requirements.lock installs, as CycloneDX JSON

The first start makes .venv beside this file and installs requirements.lock into it, and checks every hash.
Later starts do so only when that file or Python has changed. DATABASE_URL chooses the database, WEB_CONCURRENCY
the number of processes.
The first benchmark makes .venv-bench, for packages that only benchmarks need.
The tests use the PostgreSQL server in IDEALIST_TEST_POSTGRES or start their own, and the browser in CHROMIUM.
Such a server needs autovacuum=off: it analyzes tables that are empty between two tests, and slows the tests.
"""

# Only the standard library and the syntax of Python 3.8, so that an older Python can say that it is too old.
from __future__ import annotations

import argparse
import ast
import contextlib
import errno
import hashlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent
VENV, VENV_BENCH = ROOT / ".venv", ROOT / ".venv-bench"
PYTHON = VENV / "bin" / "python"
MANAGE = [str(PYTHON), str(ROOT / "manage.py")]
RUNTIME, MACHINES, SAML = "requirements.lock", "requirements-machines.lock", "requirements-saml.lock"
DEVELOPMENT, BENCHES = "requirements-dev.lock", "bench/requirements.lock"
# Packages in requirements.txt that a server does not need.
TEST_PACKAGES = ("pytest", "pytest-django", "iniconfig", "pluggy", "pygments")
WITHOUT_MANAGE = {"backup", "restore", "upgrade"}  # commands that need no `manage` before them
# Commands that only read. In a wrong data folder they must not make a database and then find it empty.
READING = {"backup", "upgrade", "agreement", "bundle", "compare", "evaluate"}
READING |= {"export_collection", "export_qrels", "export_ratings", "export_rounds", "export_run"}
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
CHECKS = {
    "ruff check": ["-m", "ruff", "check", "."],
    "manage.py makemigrations --check": ["manage.py", "makemigrations", "--check", "--dry-run"],
    "manage.py check": ["manage.py", "check"],
}


class Refusal(Exception):
    """A problem and its cure, in one line for the person at the terminal."""


def say(line: str) -> None:
    """Print to standard error. Standard output belongs to the command, and to the address of the server."""
    print(line, file=sys.stderr, flush=True)


def require_python(version: Sequence[int]) -> None:
    if tuple(version[:2]) < (3, 11):
        found = ".".join(str(part) for part in version[:3])
        raise Refusal(f"Idealist needs Python 3.11 or newer and this is {found}. Try: python3.11 run.py")


def reason_in(output: str) -> str:
    """The line of a failed program's output that gives the reason: its last error, or else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it gave no reason"]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines)[-1]


def run_quietly(command: Sequence[str], failure: str, cure: str = "", stdout=subprocess.PIPE) -> None:
    """Run a step without its output. Raises Refusal where it fails."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": subprocess.PIPE}
    completed = subprocess.run(command, text=True, errors="replace", check=False, **pipes)
    if completed.returncode:
        raise Refusal(f"{failure}: {reason_in((completed.stdout or '') + completed.stderr)} {cure}".rstrip())


# The environment


@contextlib.contextmanager
def project_lock() -> Iterator[None]:
    """Hold the lock of the project, so that two commands that start together do not both install or migrate."""
    import fcntl  # absent on Windows, which main() has already refused

    folder = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def fingerprint(name: str) -> str:
    """A line that changes when this lock file or the minor version of Python changes."""
    content = repr(sys.version_info[:2]).encode() + (ROOT / name).read_bytes()
    return f"{name} {hashlib.sha256(content).hexdigest()}"


def python_of(venv: Path) -> Path:
    return venv / "bin" / "python"


def stamp_of(venv: Path) -> Path:
    return venv / "installed.txt"


def is_installed(requirements: Sequence[str], venv: Path = VENV) -> bool:
    if not (python_of(venv).exists() and stamp_of(venv).exists()):
        return False
    return set(map(fingerprint, requirements)) <= set(stamp_of(venv).read_text().splitlines())


def install_with_uv(uv: str, make: Sequence[str], venv: Path, requirements: str) -> bool:
    try:
        run_quietly([*make, "--without-pip"], f"Making {venv.name} failed")
        install = [uv, "pip", "install", "--python", str(python_of(venv)), "--require-hashes", "--no-deps"]
        run_quietly([*install, "-r", str(ROOT / requirements)], "uv failed")
    except Refusal as refusal:
        say(f"{refusal} Trying pip ...")  # pip may use an index that uv does not know
        return False
    return True


def install_with_pip(make: Sequence[str], venv: Path, requirements: str) -> None:
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        raise Refusal("This Python cannot make a virtual environment. Cure: apt install python3-venv")
    run_quietly(make, f"Making {venv.name} failed")
    pip = [str(python_of(venv)), "-m", "pip", "install", "--require-hashes", "--no-deps"]
    pip += ["-r", str(ROOT / requirements)]
    cure = f"(Is the network there? See all of it: {venv.name}/bin/pip install -r {requirements})"
    # Python compiles what it imports. To compile everything would double the time of an install.
    run_quietly([*pip, "--no-input", "--no-compile", "--disable-pip-version-check"], "Installing failed", cure)


def set_up(*requirements: str, venv: Path = VENV) -> None:
    """Install these lock files into `venv`. The stamp is written last, so half an install never counts."""
    if is_installed(requirements, venv):
        return
    stamp_of(venv).unlink(missing_ok=True)
    wanted = requirements[-1]  # it contains the others, in the same versions
    say(f"Installing {wanted} into {venv.name}: about a minute, and only when it changed ...")
    # An environment with packages for this Python is repaired. One without is new or of another Python, and is
    # made anew.
    packages = venv / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"
    make = [sys.executable, "-m", "venv", str(venv)] + ([] if packages.is_dir() else ["--clear"])
    uv = shutil.which("uv")
    if not (uv and install_with_uv(uv, make, venv, wanted)):
        install_with_pip(make, venv, wanted)
    stamp_of(venv).write_text("\n".join(map(fingerprint, requirements)) + "\n")


def runtime() -> str:
    """The lock file that the server needs: a larger one where settings use SAML, a bucket or a cache."""
    if os.environ.get("IDEALIST_SAML_METADATA"):
        return SAML
    in_bucket = "://" in os.environ.get("IDEALIST_BACKUPS", "")
    return MACHINES if in_bucket or os.environ.get("STORAGE_URL") or is_set("CACHE_URL") else RUNTIME


def is_set(name: str) -> bool:
    """Whether the setting or its NAME_FILE is set, as in config/secret_files.py."""
    return any(os.environ.get(each, "").strip() for each in (name, f"{name}_FILE"))


def become(venv: Path, module: str, *arguments: str) -> None:
    """Replace this process with a module of the project. Does not return.

    The current folder stays as it is, so that a relative path in a setting means the same to every command.
    """
    folders = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    python = str(python_of(venv))
    # -P, so that no file in the current folder replaces a module of the project.
    os.execv(python, [python, "-P", "-m", module, *arguments])


# python3 run.py


def data_folder() -> Path:
    """The data folder, as in config/settings.py."""
    return Path(os.environ.get("IDEALIST_DATA", "").strip() or ROOT / "var").resolve()


def listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            cure = f"python3 run.py --port {port + 1}"
            raise Refusal(f"Port {port} on {host} is already in use. Try: {cure}") from error
        raise Refusal(f"Cannot listen on port {port} of {host}: {error}") from error


def offer_demo(host: str) -> None:
    """Allow the sample on a loopback address, unless names or a database are set."""
    if host in LOOPBACK and not (os.environ.get("IDEALIST_HOSTS") or is_set("DATABASE_URL")):
        os.environ.setdefault("IDEALIST_DEMO", "1")
        return
    os.environ.pop("IDEALIST_DEMO", None)
    if not os.environ.get("IDEALIST_HOSTS"):
        say("Without the sample. To serve others: a proxy with TLS, IDEALIST_HTTPS=1, IDEALIST_HOSTS=names.")


def serve(host: str, port: int) -> None:
    """Prepare the database and become the server. Does not return."""
    listening(host, port).close()  # refuses a busy port before the slow steps
    offer_demo(host)
    with project_lock():
        set_up(runtime())
        cure = "(See all of it: python3 run.py manage prepare)"
        run_quietly([*MANAGE, "prepare"], "Preparing failed", cure, stdout=None)
    listener = listening(host, port)
    listener.set_inheritable(True)
    shown_host = f"[{host}]" if ":" in host else host
    address = f"http://{shown_host}:{listener.getsockname()[1]}/"
    print(f"Idealist is at {address} (Ctrl-C stops it)", flush=True)
    key = data_folder() / "look-around.key"  # exists while visitors may look around
    if key.exists():
        print(f"Look around in the sample: {address}?look={key.read_text().strip()}", flush=True)
    os.environ.setdefault("IDEALIST_WORKER", "1")
    become(VENV, "config.server", f"fd://{listener.fileno()}")


# python3 run.py manage


def has_tables(path: Path) -> bool:
    """Whether this SQLite file has tables. A command that was killed can leave one without."""
    import sqlite3  # absent where Python was built without it, which PostgreSQL does not need

    if not path.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as database:
            return database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return True  # locked or damaged, which the command says better


def make_database(command: str) -> None:
    """Make the SQLite database for this command if there is none. Raises Refusal for a command that only reads."""
    if has_tables(data_folder() / "db.sqlite3"):
        return
    if command in READING:
        cure = "Set IDEALIST_DATA to the data folder, or DATABASE_URL to the database"
        raise Refusal(f"{data_folder()} has no database, so {command} has nothing to read. {cure}")
    cure = "(See all of it: .venv/bin/python manage.py migrate)"
    run_quietly([*MANAGE, "migrate"], "Making the database failed", cure)


def manage(arguments: Sequence[str]) -> None:
    """Replace this process with manage.py, which gets its streams and signals. Does not return."""
    with project_lock():
        set_up(runtime())
        # A restore makes the database itself.
        if arguments[:1] != ["restore"] and not is_set("DATABASE_URL"):
            make_database(next(iter(arguments), ""))
    os.execv(PYTHON, [*MANAGE, *arguments])


# python3 run.py doctor


def doctor() -> None:
    """Replace this process with the health checks, whose exit status is 1 for a problem. Does not return."""
    with project_lock():
        set_up(runtime())
    become(VENV, "config.health.doctor")


# python3 run.py test

NO_TESTS = 5  # exit status of pytest where it found no test


def chromium() -> str | None:
    """The path of Chromium, or None. The headless one comes first: tests use a third less processor time in it."""
    given = os.environ.get("CHROMIUM")
    names = [given] if given else ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
    return next(filter(None, map(shutil.which, names)), None)


def initdb() -> str | None:
    """The path of initdb, or None. Debian keeps it outside of PATH, in a folder for each version."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return shutil.which("initdb") or (str(debian[-1]) if debian else None)


def missing_tools() -> list[str]:
    missing = []
    if not (os.environ.get("IDEALIST_TEST_POSTGRES") or initdb()):
        missing.append("tests on PostgreSQL, there is no initdb (apt install postgresql)")
    if not chromium():
        missing.append("tests in a browser, there is no Chromium (apt install chromium, or set CHROMIUM)")
    for program in ("pgbouncer", "redis-server"):
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin"):
            missing.append(f"tests of several machines, there is no {program} (apt install {program})")
    return missing


@contextlib.contextmanager
def throwaway_postgres() -> Iterator[str]:
    """Yields the URL of a temporary PostgreSQL server, which is deleted at the end of the block."""
    as_postgres = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    create = [*as_postgres, initdb(), "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--no-locale"]
    control = [*as_postgres, str(Path(initdb()).resolve().with_name("pg_ctl"))]
    # In /tmp, since another user must reach it, and the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="idealist-postgres-", dir="/tmp") as folder:
        data, log = ["-D", f"{folder}/data"], ["-l", f"{folder}/log"]
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        # Otherwise it analyzes a table that is empty between two tests, and plans the next test for that.
        settings += " -c autovacuum=off"
        try:
            if as_postgres:
                shutil.chown(folder, "postgres", "postgres")
            run_quietly([*create, *data, "--no-sync"], "PostgreSQL: initdb failed")
            run_quietly([*control, *data, *log, "-w", "-o", settings, "start"], "PostgreSQL did not start")
            yield f"postgres://postgres@{quote(folder, safe='')}/postgres"
        except LookupError as error:
            raise Refusal("PostgreSQL refuses to run as root, and no user is named postgres") from error
        finally:
            subprocess.run([*control, *data, "-m", "immediate", "stop"], check=False, capture_output=True)


def status_of(title: str, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """The exit status of a step, which writes to the terminal itself."""
    print(f"\n== {title}", flush=True)
    with subprocess.Popen([str(PYTHON), *arguments], env=environment) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()  # Ctrl-C reached it, too, and it closes its browser and database
            raise
        except SystemExit:
            process.terminate()
            raise


def test_counts(report: Path) -> str:
    """The outcome of a run of pytest from its JUnit report, such as: 3 passed in 0.52s."""
    suite = ElementTree.parse(report).getroot().find("testsuite")
    failed, errors, skipped = (int(suite.get(name)) for name in ("failures", "errors", "skipped"))
    passed = int(suite.get("tests")) - failed - errors - skipped
    counts = {"failed": failed, "passed": passed, "skipped": skipped, "errors": errors}
    words = ", ".join(f"{count} {name}" for name, count in counts.items() if count or name == "passed")
    return f"{words} in {float(suite.get('time')):.2f}s"


class Part(NamedTuple):
    """Some of the tests, which run in their own process and data folder. conftest.py decides which these are."""

    name: str
    data: Path
    arguments: Sequence[str]
    environment: Mapping[str, str]

    @property
    def report(self) -> Path:
        return self.data / "report.xml"

    @property
    def command(self) -> list[str]:
        return ["-m", "pytest", f"--part={self.name}", f"--junitxml={self.report}", *self.arguments]

    def outcome(self, status: int) -> str:
        """The closing line for this exit status of pytest."""
        outcome = "no tests were collected" if status == NO_TESTS else f"pytest ended with status {status}"
        if status in (0, 1) and self.report.exists():
            outcome = test_counts(self.report)
        return f" {self.name}: {outcome} ".center(80, "=")


@contextlib.contextmanager
def started(part: Part, log: Path | None) -> Iterator[subprocess.Popen]:
    """Yields the process of a part of the tests, whose output goes into `log` or to the terminal."""
    if not log:
        print(f"\n== pytest: {part.name}", flush=True)
    with log.open("wb") if log else contextlib.nullcontext() as output:
        options = {"stdout": output, "stderr": subprocess.STDOUT if log else None}
        process = subprocess.Popen([str(PYTHON), *part.command], env=part.environment, **options)
    try:
        yield process
    except KeyboardInterrupt:
        process.wait()  # Ctrl-C reached it, too, and it closes its browser and database
        raise
    finally:
        process.terminate()  # where the tests end in another way
        process.wait()


def side_by_side(parts: Sequence[Part], lanes: int) -> Iterator[tuple[Part, int]]:
    """Yields each part and its exit status. `lanes` parts run at a time.

    The first part writes to the terminal. The output of the others is printed after it.
    """
    with contextlib.ExitStack() as steps:
        running = []
        for part in parts:
            while sum(process.poll() is None for *_, process in running) >= lanes:
                time.sleep(0.1)
            log = part.data / "output" if running else None
            running.append((part, log, steps.enter_context(started(part, log))))
        for part, log, process in running:
            status = process.wait()
            if log:
                print(f"\n== pytest: {part.name}\n{log.read_text(errors='replace')}", flush=True)
            yield part, status


def parts_of(arguments: Sequence[str], environment: Mapping[str, str], server: str | None) -> list[Part]:
    """All tests in parts, those that take longest first. `server`: the URL of PostgreSQL; None: no tests on it."""

    def part(name: str, **changed: str) -> Part:
        data = Path(environment["IDEALIST_DATA"], name.replace(" ", "-"))
        data.mkdir(mode=0o700)
        return Part(name, data, arguments, {**environment, "IDEALIST_DATA": str(data), **changed})

    ratings, others = part("SQLite, ratings"), [part("SQLite, config"), part("SQLite, evaluation")]
    postgres = [part("PostgreSQL", DATABASE_URL=server)] if server else []
    # Browsers wait for much of their time, which the other parts use.
    looks = [part("looks, desk"), part("looks, pages")]
    return [ratings, *looks, *postgres, *others, part("no database")]


def tests_compiling(arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen:
    """A process in which pytest compiles all tests, once for all parts and while the checks run."""
    command = [str(PYTHON), "-m", "pytest", "--collect-only", "--quiet", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def results(arguments: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[bool, str]]:
    """Yields (whether it passed, closing line) of each check and of each part of the tests."""
    with tests_compiling(arguments, environment):
        for title, command in CHECKS.items():
            passed = status_of(title, command, environment) == 0
            yield passed, f"{'passed' if passed else 'failed'}: {title}"
    given = os.environ.get("IDEALIST_TEST_POSTGRES")
    with contextlib.nullcontext(given) if given or not initdb() else throwaway_postgres() as server:
        # Two more than there are cores, since some parts wait for a browser, a server or a lock.
        ends = list(side_by_side(parts_of(arguments, environment, server), (os.cpu_count() or 1) + 2))
    nothing = all(status == NO_TESTS for _, status in ends)
    for part, status in ends:
        yield status == 0 or (status == NO_TESTS and not nothing), part.outcome(status)


def nearest_tests() -> list[str]:
    """The paths of the tests that are nearest to what changed since main."""
    command = [str(PYTHON), "-m", "config.tests.touched"]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise Refusal(f"The tests nearest to the change cannot be found: {reason_in(completed.stderr)}")
    if not completed.stdout.strip():
        raise Refusal("Nothing changed since main. All tests: python3 run.py test")
    return completed.stdout.split()


def test(arguments: Sequence[str]) -> int:
    missing = missing_tools()
    if missing and os.environ.get("CI"):
        raise Refusal("With CI set no test may be skipped: " + "; ".join(missing))
    with project_lock():
        set_up(RUNTIME, MACHINES, SAML, DEVELOPMENT)
    if "--changed" in arguments:
        nearest = nearest_tests()
        print("The tests nearest to the change:", *nearest, sep="\n  ")
        arguments = [argument for argument in arguments if argument != "--changed"] + nearest
    os.chdir(ROOT)
    # Otherwise the PostgreSQL server would keep running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    excluded = {"DATABASE_URL", "SECRET_KEY", "IDEALIST_HOSTS", "IDEALIST_HTTPS", "IDEALIST_DEMO", "CHROMIUM"}
    environment = {name: value for name, value in os.environ.items() if name not in excluded}
    if chromium():
        environment["CHROMIUM"] = chromium()
    # Tests start Python hundreds of times, so modules are compiled once, whatever the caller sets.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(VENV / "bytecode")
    with tempfile.TemporaryDirectory(prefix="idealist-test-") as environment["IDEALIST_DATA"]:
        outcomes = list(results(arguments, environment))
    print("", *(line for _, line in outcomes), *(f"skipped: {reason}" for reason in missing), sep="\n")
    return 0 if all(passed for passed, _ in outcomes) else 1


# python3 run.py pictures


def pictures() -> None:
    """Replace this process with the module that makes the pictures of the documents. Does not return."""
    with project_lock():
        set_up(RUNTIME, MACHINES, SAML, DEVELOPMENT)
    if chromium():
        os.environ["CHROMIUM"] = chromium()
    os.chdir(ROOT)
    os.execv(PYTHON, [str(PYTHON), "-m", "config.tests.pictures"])


# python3 run.py lock


def lock(*options: str) -> None:
    """Make all lock files anew, for each Python from 3.11 on and each system. Versions that still fit are kept.

    Lock files of the server allow only wheels, so that an install runs no code of a package. A package has the
    same version in all lock files, which the largest one of the server decides.
    """
    with project_lock():
        set_up(RUNTIME, MACHINES, SAML, DEVELOPMENT)
    os.chdir(ROOT)
    compiled = [str(PYTHON), "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    compiled += ["--generate-hashes", "--no-emit-index-url", "--custom-compile-command", "python3 run.py lock"]
    # With these, jsonschema loads a grammar for 1.5 s at each start, to check formats that nothing here uses.
    compiled += ["--no-emit-package", "rfc3987-syntax", "--no-emit-package", "lark"]
    wheels = ["--only-binary", ":all:", "--emit-build-options"]
    of_tests = [f"--no-emit-package={name}" for name in TEST_PACKAGES]
    for name in (SAML, MACHINES, RUNTIME, DEVELOPMENT, BENCHES):
        say(f"Making {name} ...")
        more = [] if name == SAML else ["--constraints", SAML]
        more += wheels + of_tests if name in (RUNTIME, MACHINES, SAML) else []
        source = str(Path(name).with_suffix(".txt"))
        run_quietly([*compiled, *more, *options, "--output-file", name, source], f"Making {name} failed")


# python3 run.py sbom


def sbom(file: str) -> None:
    """Write the packages of requirements.lock, with version and hashes, as CycloneDX JSON."""
    with project_lock():
        set_up(RUNTIME, DEVELOPMENT)
    made = [str(PYTHON), "-m", "cyclonedx_py", "requirements", str(ROOT / RUNTIME), "--output-reproducible"]
    made += ["--pyproject", str(ROOT / "pyproject.toml"), "--output-file", str(Path(file).absolute())]
    run_quietly(made, f"Making {file} failed")


# python3 run.py bench


def benches() -> dict[str, str]:
    """{name: what it shows} of each bench, from the first line of its docstring. Shared modules begin with _."""
    files = sorted((ROOT / "bench").glob("[!_]*.py"))
    return {f.stem: (ast.get_docstring(ast.parse(f.read_text())) or "").partition("\n")[0] for f in files}


def bench(name: str, *options: str) -> None:
    """Replace this process with a benchmark, in an environment with the peers that it needs. Does not return."""
    known = benches()
    if name not in known:
        raise Refusal(f"There is no bench {name!r}; there are {', '.join(known)}")
    with project_lock():
        set_up(RUNTIME, BENCHES, venv=VENV_BENCH)
    become(VENV_BENCH, f"bench.{name}", *options)


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        raise Refusal(f"{message}. Try: python3 run.py --help")


def main(argv: Sequence[str]) -> int:
    parser = Parser(add_help=False)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    try:
        require_python(sys.version_info)
        if os.name != "posix":
            raise Refusal("Idealist runs on Linux and macOS. On Windows, run it inside WSL")
        if argv[:1] == ["manage"]:
            manage(argv[1:])
        if argv[:1] and argv[0] in WITHOUT_MANAGE:
            manage(argv)
        if argv == ["doctor"]:
            doctor()
        if argv[:1] == ["test"]:
            return test(argv[1:])
        # A bench has options of its own.
        if {"-h", "--help"} & set(argv[:2] if argv[:1] == ["bench"] else argv):
            print(__doc__.strip())
            return 0
        if argv == ["pictures"]:
            pictures()
        if argv[:1] == ["lock"]:
            lock(*argv[1:])
            return 0
        if argv[:1] == ["sbom"]:
            if len(argv) != 2:
                raise Refusal("sbom needs one file to write. Try: python3 run.py sbom FILE")
            sbom(argv[1])
            return 0
        if argv == ["bench"]:
            print("\n".join(f"{name:<10}{shows}" for name, shows in benches().items()))
            return 0
        if argv[:1] == ["bench"]:
            bench(*argv[1:])
        chosen = parser.parse_args(argv)
        serve(chosen.host, chosen.port)
    except KeyboardInterrupt:
        say("\nStopped.")
        return 128 + signal.SIGINT
    except (Refusal, OSError) as error:
        say(f"run.py: {error}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

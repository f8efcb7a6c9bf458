#!/usr/bin/env python3
"""Start, use and test Idealist. Only Python 3.11 or newer must be installed.

    python3 run.py                         serve on http://127.0.0.1:8000/ (Ctrl-C stops it)
    python3 run.py --port 8001             serve on another port
    python3 run.py --host 0.0.0.0          serve others: a proxy with TLS, IDEALIST_HTTPS=1, IDEALIST_HOSTS=names
    python3 run.py doctor                  print each problem of this installation, and its cure
    python3 run.py manage COMMAND ...        run a management command; nothing is added to its output
    python3 run.py backup FILE             write all data into one file, while others use it
    python3 run.py restore FILE            restore all data of a backup into an empty place
    python3 run.py upgrade [--plan]        bring the database up to date: show the plan, back up, migrate, check
    python3 run.py test [PYTEST OPTIONS]   run all checks, and the tests that a change wants
    python3 run.py test --all              run all checks and all tests
    python3 run.py bench [NAME ...]        run a benchmark against other programs; without NAME, list them
    python3 run.py pictures                make the pictures of the documents anew
    python3 run.py lock [--upgrade]        make requirements*.lock anew after a change of requirements*.txt
    python3 run.py sbom FILE               list what requirements.lock installs, as CycloneDX JSON

The first start makes .venv beside this file and installs requirements.lock into it, and checks every hash.
Later starts do so only when that file or Python has changed. DATABASE_URL chooses the database.
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent
VENV, VENV_BENCH = ROOT / ".venv", ROOT / ".venv-bench"
PYTHON = VENV / "bin" / "python"
MANAGE = [str(PYTHON), str(ROOT / "manage.py")]
RUNTIME, MACHINES = "requirements.lock", "requirements-machines.lock"
DEVELOPMENT, BENCHES = "requirements-dev.lock", "bench/requirements.lock"
# Packages in requirements.txt that a server does not need.
TEST_PACKAGES = ("pytest", "pytest-django", "iniconfig", "pluggy", "pygments")
WITHOUT_MANAGE = {"backup", "restore", "upgrade"}  # commands that need no `manage` before them
# Commands that only read. In a wrong data folder they must not make a database and then find it empty.
READING = {"backup", "upgrade", "agreement", "compare", "evaluate"}
READING |= {"export_collection", "export_qrels", "export_ratings", "export_run"}
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


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
    """The lock file that the server needs: a larger one where settings use a bucket or a cache."""
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


def test(arguments: Sequence[str]) -> None:
    """Replace this process with all checks and tests. Does not return."""
    with project_lock():
        set_up(RUNTIME, MACHINES, DEVELOPMENT)
    become(VENV, "config.tests.suite", *arguments)


# python3 run.py pictures


def pictures() -> None:
    """Replace this process with the module that makes the pictures of the documents. Does not return."""
    with project_lock():
        set_up(RUNTIME, MACHINES, DEVELOPMENT)
    become(VENV, "config.tests.pictures")


# python3 run.py lock


def lock(*options: str) -> None:
    """Make all lock files anew, for each Python from 3.11 on and each system. Versions that still fit are kept.

    Lock files of the server allow only wheels, so that an install runs no code of a package. A package has the
    same version in all lock files, which the largest one of the server decides.
    """
    with project_lock():
        set_up(RUNTIME, MACHINES, DEVELOPMENT)
    os.chdir(ROOT)
    compiled = [str(PYTHON), "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    compiled += ["--generate-hashes", "--no-emit-index-url", "--custom-compile-command", "python3 run.py lock"]
    # With these, jsonschema loads a grammar for 1.5 s at each start, to check formats that nothing here uses.
    compiled += ["--no-emit-package", "rfc3987-syntax", "--no-emit-package", "lark"]
    wheels = ["--only-binary", ":all:", "--emit-build-options"]
    of_tests = [f"--no-emit-package={name}" for name in TEST_PACKAGES]
    for name in (MACHINES, RUNTIME, DEVELOPMENT, BENCHES):
        say(f"Making {name} ...")
        more = [] if name == MACHINES else ["--constraints", MACHINES]
        more += wheels + of_tests if name in (RUNTIME, MACHINES) else []
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
    found = {}
    for file in sorted((ROOT / "bench").rglob("[!_]*.py")):
        name = ".".join(file.relative_to(ROOT / "bench").with_suffix("").parts)
        found[name] = (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n")[0]
    return found


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
            test(argv[1:])
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
            print("\n".join(f"{name:<20}{shows}" for name, shows in benches().items()))
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

#!/usr/bin/env python3
"""Start, use and test Idealist. Only Python 3.11 or newer must be installed.

    python3 run.py                         serve on http://127.0.0.1:8000/ (Ctrl-C stops it)
    python3 run.py --port 8001             serve on another port
    python3 run.py --host 0.0.0.0          serve others: a proxy with TLS, IDEALIST_HTTPS=1, IDEALIST_HOSTS=names
    python3 run.py manage COMMAND ...      run a management command; nothing is added to its output
    python3 run.py doctor | backup | evaluate | evaluate_files ...  the same without the word manage
    python3 run.py test [--all] [OPTIONS]  run all checks, and the tests that a change wants, or all
    python3 run.py bench [NAME ...]        run a benchmark against other programs; without NAME, list them
    python3 run.py --version               print the version

The first start makes .venv beside this file (about 610 MB), installs requirements.lock into it, and checks every
hash. Later starts do so only when that file or Python has changed. DATABASE_URL chooses the database.

From the wheel it is the program `idealist`, in the environment that has the wheel, and without test and bench.
"""

# Only the standard library and the syntax of Python 3.8, so that an older Python can say that it is too old.
from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# The wheel has this tree as its one package, so that programs start from it as from a clone. See pyproject.toml.
IN_WHEEL = __package__ == "idealist"
NAME = "idealist" if IN_WHEEL else "python3 run.py"
VENV, VENV_BENCH = ROOT / ".venv", ROOT / ".venv-bench"
PYTHON = Path(sys.executable) if IN_WHEEL else VENV / "bin" / "python"
MANAGE = [str(PYTHON), str(ROOT / "manage.py")]
RUNTIME_LOCK, MACHINES_LOCK = "requirements.lock", "requirements-machines.lock"
DEVELOPMENT_LOCK, BENCH_LOCK = "requirements-dev.lock", "bench/requirements.lock"
# The locks that contain a lock, with the same versions.
LARGER_LOCKS = {RUNTIME_LOCK: [MACHINES_LOCK, DEVELOPMENT_LOCK], MACHINES_LOCK: [DEVELOPMENT_LOCK]}
STAMP_FILE = "installed.txt"  # in an environment: the lock file that it has
WITHOUT_DATABASE = {"restore", "doctor", "evaluate_files", "--version"}  # commands for which no database is made
# Commands that only read. In a wrong data folder they must not make a database and then find it empty.
READING_COMMANDS = {"backup", "upgrade", "agreement", "compare", "evaluate"}
READING_COMMANDS |= {"export_beir", "export_collection", "export_qrels", "export_ratings", "export_run"}
SHORT_COMMANDS = {"doctor", "backup", "evaluate", "evaluate_files"}  # commands that need no `manage` before them
CLONE_COMMANDS = {"test", "bench"}  # commands that need files which the wheel leaves out
HELP_OPTIONS = {"-h", "--help"}
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Refusal(Exception):
    """A problem and its cure, in one line for the person at the terminal."""


def say(line: str) -> None:
    """Print to standard error. Standard output belongs to the command, and to the address of the server."""
    print(line, file=sys.stderr, flush=True)


def run_quietly(command: Sequence[str], failure: str, cure: str = "") -> None:
    """Run a command. A terminal shows its latest line of output. Raises Refusal if the command fails.

    The refusal says `failure`, then the last line that begins with "error" or else the last line, then `cure`.
    """
    lines = []
    none, pipe, same = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(command, stdin=none, stdout=pipe, stderr=same, text=True, errors="replace") as step:
        for line in filter(None, map(str.strip, step.stdout or ())):
            lines.append(line)
            if sys.stderr.isatty():  # \r\x1b[K goes back to the start of the line and clears it
                print(f"\r\x1b[K{line[:79]}", end="", file=sys.stderr, flush=True)
    if lines and sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if step.returncode:
        errors = [line for line in lines if line.lower().startswith("error")]
        reason = (errors or lines or ["it gave no reason"])[-1]
        raise Refusal(f"{failure}: {reason} {cure}".rstrip())


def fingerprint(name: str) -> str:
    """A line that changes when this lock file or the minor version of Python changes."""
    content = repr(sys.version_info[:2]).encode() + (ROOT / name).read_bytes()
    return f"{name} {hashlib.sha256(content).hexdigest()}"


def is_installed(requirements: str, venv: Path = VENV) -> bool:
    """Whether the environment has this lock file, or one that contains it."""
    stamp = (venv / STAMP_FILE).read_text().splitlines() if (venv / STAMP_FILE).exists() else []
    fitting = [fingerprint(name) for name in (requirements, *LARGER_LOCKS.get(requirements, []))]
    return (venv / "bin" / "python").exists() and any(line in stamp for line in fitting)


def install(make_venv: Sequence[str], venv: Path, requirements: str) -> None:
    """Make the environment by the command `make_venv`, and install the lock file into it.

    By uv, or by pip where there is no uv or it fails: pip may know another index.
    """
    python = str(venv / "bin" / "python")
    options = ["--require-hashes", "--no-deps", "-r", str(ROOT / requirements)]
    if uv := shutil.which("uv"):
        try:
            run_quietly([*make_venv, "--without-pip"], f"Making {venv.name} failed")
            run_quietly([uv, "pip", "install", "--python", python, *options], "uv failed")
            return
        except Refusal as refusal:
            say(f"{refusal} Trying pip ...")
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        raise Refusal("This Python cannot make a virtual environment. Cure: apt install python3-venv")
    run_quietly(make_venv, f"Making {venv.name} failed")
    cure = f"(Is the network there? See all of it: {venv.name}/bin/pip install -r {requirements})"
    # Python compiles what it imports. To compile everything would double the time of an install.
    pip = [python, "-m", "pip", "install", "--no-input", "--no-compile", "--disable-pip-version-check"]
    run_quietly([*pip, *options], "Installing failed", cure)


def set_up(requirements: str, venv: Path = VENV) -> None:
    """Install the lock file `requirements` into `venv`, unless that is done.

    The stamp file tells which lock file is installed. It is written last, so half an install never counts. ROOT
    is locked until this process ends or becomes another one (`os.execv`), so that no other process installs or
    migrates meanwhile.
    """
    import fcntl  # absent on Windows, which main() has already refused

    fcntl.flock(os.open(ROOT, os.O_RDONLY), fcntl.LOCK_EX)
    if IN_WHEEL and requirements == MACHINES_LOCK and not importlib.util.find_spec("boto3"):
        raise Refusal("A bucket needs more packages: install the wheel with [machines] behind its name")
    if IN_WHEEL or is_installed(requirements, venv):
        return
    (venv / STAMP_FILE).unlink(missing_ok=True)
    say(f"Installing {requirements} into {venv.name}: about a minute, and only when it changed ...")
    # An environment of another Python is made anew: half of each does not start.
    packages = venv / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"
    is_of_this_python = packages.is_dir() and (venv / "bin" / "python").resolve() == Path(sys.executable).resolve()
    clear = [] if is_of_this_python else ["--clear"]
    install([sys.executable, "-m", "venv", str(venv), *clear], venv, requirements)
    (venv / STAMP_FILE).write_text(fingerprint(requirements) + "\n")


def runtime() -> str:
    """The lock file that the server needs: a larger one where settings use a bucket."""
    in_bucket = "://" in os.environ.get("IDEALIST_BACKUPS", "")
    return MACHINES_LOCK if in_bucket or os.environ.get("STORAGE_URL") else RUNTIME_LOCK


def is_set(name: str) -> bool:
    """Whether the setting or its NAME_FILE is set, as in config/secret_files.py."""
    return any(os.environ.get(each, "").strip() for each in (name, f"{name}_FILE"))


def become(python: Path, module: str, *arguments: str) -> None:
    """Replace this process with a module of the project, in the same folder: settings may have relative paths."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    # -P, so that no file in the current folder replaces a module of the project.
    os.execv(python, [str(python), "-P", "-m", module, *arguments])


def listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        problem = f"Cannot listen on port {port} of {host}: {error}".rstrip(".")
        raise Refusal(f"{problem}. Another one: {NAME} --port {min(port + 1, 65535)}") from error


def offer_demo(host: str) -> None:
    """Allow the sample on a loopback address, unless names or a database are set."""
    if host in LOOPBACK and not (os.environ.get("IDEALIST_HOSTS") or is_set("DATABASE_URL")):
        os.environ.setdefault("IDEALIST_DEMO", "1")
        return
    os.environ.pop("IDEALIST_DEMO", None)
    if not os.environ.get("IDEALIST_HOSTS"):
        say("Without the sample. To serve others: a proxy with TLS, IDEALIST_HTTPS=1, IDEALIST_HOSTS=names.")


def serve(host: str, port: int) -> None:
    """Become the server, which prepares the database. Does not return."""
    listener = listening(host, port)  # refuses a busy port before the slow steps; early visitors wait
    offer_demo(host)
    set_up(runtime())
    listener.set_inheritable(True)
    os.environ.setdefault("IDEALIST_WORKER", "1")
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")  # of glibc: else each of eight threads keeps freed memory
    become(PYTHON, "config.server", f"fd://{listener.fileno()}", "--prepare")


def data_folder() -> Path:
    """The folder in IDEALIST_DATA; else var/ in a clone, and for the wheel where systems keep what users have."""
    folder = ROOT / "var"
    if IN_WHEEL and sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support" / "idealist"
    elif IN_WHEEL:
        folder = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "idealist"
    return Path(os.environ.get("IDEALIST_DATA", "").strip() or folder).resolve()


def make_database(command: str) -> None:
    """Make the SQLite database for this command if there is none. Raises Refusal for a command that only reads."""
    folder = data_folder()
    database = folder / "db.sqlite3"
    if database.exists() and database.stat().st_size:
        return
    if command in READING_COMMANDS:
        cure = "Set IDEALIST_DATA to the data folder, or DATABASE_URL to the database"
        raise Refusal(f"{folder} has no database, so {command} has nothing to read. {cure}")
    cure = f"(See all of it: {PYTHON} {ROOT / 'manage.py'} migrate)"
    run_quietly([*MANAGE, "migrate"], "Making the database failed", cure)


def manage(arguments: Sequence[str]) -> None:
    """Replace this process with manage.py, which gets its streams and signals. Does not return."""
    set_up(runtime())
    command = arguments[0] if arguments else ""
    if command not in WITHOUT_DATABASE and not is_set("DATABASE_URL"):
        make_database(command)
    os.execv(PYTHON, [*MANAGE, *arguments])


def benches() -> list[str]:
    """The names of all benches. Modules that they share begin with _."""
    files = sorted((ROOT / "bench").rglob("[!_]*.py"))
    return [".".join(file.relative_to(ROOT / "bench").with_suffix("").parts) for file in files]


def bench(name: str, *options: str) -> None:
    """Replace this process with a benchmark, in an environment with the peers that it needs. Does not return."""
    if name not in benches():
        raise Refusal(f"There is no bench {name!r}; there are {', '.join(benches())}")
    set_up(BENCH_LOCK, VENV_BENCH)
    become(VENV_BENCH / "bin" / "python", f"bench.{name}", *options)


def usage() -> str:
    text = (__doc__ or "").strip()
    if not IN_WHEEL:
        return text
    lines = [line.replace("python3 run.py", NAME) for line in text.splitlines() if line.startswith("    python3")]
    lines = [line for line in lines if line.split()[1] not in CLONE_COMMANDS]
    where = f"The data are in {data_folder()}: IDEALIST_DATA chooses the folder, DATABASE_URL the database."
    return "\n".join(["Start and use Idealist.", "", *lines, "", where])


def main(argv: Sequence[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["serve"]:
        argv = argv[1:]
    command = argv[0] if argv else ""
    arguments = argv[1:]
    try:
        if sys.version_info < (3, 11):  # noqa: UP036
            version = sys.version.partition(" ")[0]
            raise Refusal(f"Idealist needs Python 3.11 or newer and this is {version}. Try: python3.11 run.py")
        if os.name != "posix":
            raise Refusal("Idealist runs on Linux and macOS. On Windows, run it inside WSL")
        if IN_WHEEL:
            os.environ["IDEALIST_DATA"] = str(data_folder())
        if IN_WHEEL and command in CLONE_COMMANDS:
            raise Refusal(f"{command} needs a clone of the project, and there: python3 run.py {command}")
        if command == "manage":
            manage(arguments)
        elif command in SHORT_COMMANDS:
            manage(argv)
        elif command == "test":
            set_up(DEVELOPMENT_LOCK)
            become(PYTHON, "config.tests.suite", *arguments)
        elif command == "bench" and arguments and arguments[0] not in HELP_OPTIONS:
            bench(*arguments)
        elif command == "bench" and not arguments:
            print("\n".join(benches()))
        elif HELP_OPTIONS & set(argv):
            print(usage())
        elif command == "--version":
            print("Idealist", (ROOT / "pyproject.toml").read_text().split('version = "')[1].partition('"')[0])
        else:
            parser = argparse.ArgumentParser(usage=f"{NAME} --help shows all commands", add_help=False)
            parser.add_argument("--host", default="127.0.0.1")
            parser.add_argument("--port", type=int, default=8000)
            chosen = parser.parse_args(argv)
            serve(chosen.host, chosen.port)
    except KeyboardInterrupt:
        say("\nStopped.")
        return 130
    except (Refusal, OSError) as error:
        say(f"{NAME.split()[-1]}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Start, use and test Idealist. Only Python 3.11 or newer must be installed.

    python3 run.py                         serve on http://127.0.0.1:8000/ (Ctrl-C stops it)
    python3 run.py --port 8001             serve on another port
    python3 run.py --host 0.0.0.0          serve others: a proxy with TLS, IDEALIST_HTTPS=1, IDEALIST_HOSTS=names
    python3 run.py manage COMMAND ...      run a management command; nothing is added to its output
    python3 run.py test [--all] [OPTIONS]  run all checks, and the tests that a change wants, or all
    python3 run.py bench [NAME ...]        run a benchmark against other programs; without NAME, list them
    python3 run.py --version               print the version

The first start makes .venv beside this file (about 610 MB), installs requirements.lock into it, and checks every
hash. Later starts do so only when that file or Python has changed. DATABASE_URL chooses the database.
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
VENV, VENV_BENCH = ROOT / ".venv", ROOT / ".venv-bench"
PYTHON = VENV / "bin" / "python"
MANAGE = [str(PYTHON), str(ROOT / "manage.py")]
RUNTIME, MACHINES = "requirements.lock", "requirements-machines.lock"
DEVELOPMENT, BENCHES = "requirements-dev.lock", "bench/requirements.lock"
LARGER = {RUNTIME: [MACHINES, DEVELOPMENT], MACHINES: [DEVELOPMENT]}  # the locks that contain it, same versions
STAMP = "installed.txt"  # in an environment: the lock file that it has
NEEDS_NONE = {"restore", "doctor", "--version"}  # commands for which no database is made
# Commands that only read. In a wrong data folder they must not make a database and then find it empty.
READING = {"backup", "upgrade", "agreement", "compare", "evaluate"}
READING |= {"export_collection", "export_qrels", "export_ratings", "export_run"}
HELP = {"-h", "--help"}
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Refusal(Exception):
    """A problem and its cure, in one line for the person at the terminal."""


def say(line: str) -> None:
    """Print to standard error. Standard output belongs to the command, and to the address of the server."""
    print(line, file=sys.stderr, flush=True)


def run_quietly(command: Sequence[str], failure: str, cure: str = "", stdout=subprocess.PIPE) -> None:
    """Run a step. A terminal shows its latest line. Raises Refusal with its last error, or its last line."""
    lines = []
    pipes = {"stdout": stdout, "stderr": subprocess.STDOUT if stdout else subprocess.PIPE, "text": True}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, errors="replace", **pipes) as step:
        for line in filter(None, map(str.strip, step.stdout or step.stderr or ())):
            lines.append(line)
            if sys.stderr.isatty():
                print(f"\r\x1b[K{line[:79]}", end="", file=sys.stderr, flush=True)
    if lines and sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if step.returncode:
        errors = [line for line in lines if line.lower().startswith("error")]
        raise Refusal(f"{failure}: {(errors or lines or ['it gave no reason'])[-1]} {cure}".rstrip())


def fingerprint(name: str) -> str:
    """A line that changes when this lock file or the minor version of Python changes."""
    content = repr(sys.version_info[:2]).encode() + (ROOT / name).read_bytes()
    return f"{name} {hashlib.sha256(content).hexdigest()}"


def is_installed(requirements: str, venv: Path = VENV) -> bool:
    """Whether the environment has this lock file, or one that contains it."""
    stamp = (venv / STAMP).read_text().splitlines() if (venv / STAMP).exists() else []
    fitting = map(fingerprint, [requirements, *LARGER.get(requirements, [])])
    return (venv / "bin" / "python").exists() and any(each in stamp for each in fitting)


def install(make: Sequence[str], venv: Path, requirements: str) -> None:
    """Make the environment by uv, or by pip where there is no uv or it fails: pip may know another index."""
    python = str(venv / "bin" / "python")
    options = ["--require-hashes", "--no-deps", "-r", str(ROOT / requirements)]
    if uv := shutil.which("uv"):
        try:
            run_quietly([*make, "--without-pip"], f"Making {venv.name} failed")
            run_quietly([uv, "pip", "install", "--python", python, *options], "uv failed")
            return
        except Refusal as refusal:
            say(f"{refusal} Trying pip ...")
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        raise Refusal("This Python cannot make a virtual environment. Cure: apt install python3-venv")
    run_quietly(make, f"Making {venv.name} failed")
    cure = f"(Is the network there? See all of it: {venv.name}/bin/pip install -r {requirements})"
    # Python compiles what it imports. To compile everything would double the time of an install.
    pip = [python, "-m", "pip", "install", "--no-input", "--no-compile", "--disable-pip-version-check"]
    run_quietly([*pip, *options], "Installing failed", cure)


def set_up(requirements: str, venv: Path = VENV) -> None:
    """Install this lock file into `venv`. The stamp is written last, so half an install never counts.

    Until this process becomes another one, no other one installs or migrates.
    """
    import fcntl  # absent on Windows, which main() has already refused

    fcntl.flock(os.open(ROOT, os.O_RDONLY), fcntl.LOCK_EX)
    if is_installed(requirements, venv):
        return
    (venv / STAMP).unlink(missing_ok=True)
    say(f"Installing {requirements} into {venv.name}: about a minute, and only when it changed ...")
    # An environment of another Python is made anew: half of each does not start.
    packages = venv / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"
    ours = packages.is_dir() and (venv / "bin" / "python").resolve() == Path(sys.executable).resolve()
    install([sys.executable, "-m", "venv", str(venv)] + ([] if ours else ["--clear"]), venv, requirements)
    (venv / STAMP).write_text(fingerprint(requirements) + "\n")


def runtime() -> str:
    """The lock file that the server needs: a larger one where settings use a bucket."""
    in_bucket = "://" in os.environ.get("IDEALIST_BACKUPS", "")
    return MACHINES if in_bucket or os.environ.get("STORAGE_URL") else RUNTIME


def is_set(name: str) -> bool:
    """Whether the setting or its NAME_FILE is set, as in config/secret_files.py."""
    return any(os.environ.get(each, "").strip() for each in (name, f"{name}_FILE"))


def become(venv: Path, module: str, *arguments: str) -> None:
    """Replace this process with a module of the project, in the same folder: settings may have relative paths."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    python = str(venv / "bin" / "python")
    # -P, so that no file in the current folder replaces a module of the project.
    os.execv(python, [python, "-P", "-m", module, *arguments])


def listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        problem = f"Cannot listen on port {port} of {host}: {error}"
        raise Refusal(f"{problem}. Another one: python3 run.py --port {min(port + 1, 65535)}") from error


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
    listener = listening(host, port)  # refuses a busy port before the slow steps; early visitors wait
    offer_demo(host)
    set_up(runtime())
    cure = "(See all of it: python3 run.py manage prepare)"
    run_quietly([*MANAGE, "prepare"], "Preparing failed", cure, stdout=None)
    listener.set_inheritable(True)
    shown_host = f"[{host}]" if ":" in host else host
    address = f"http://{shown_host}:{listener.getsockname()[1]}/"
    print(f"Idealist is at {address} (Ctrl-C stops it)", flush=True)
    if os.environ.get("IDEALIST_DEMO") == "1":
        run_quietly([*MANAGE, "sign_in_link", "--sample", "--site", address], "No links", stdout=None)
    os.environ.setdefault("IDEALIST_WORKER", "1")
    become(VENV, "config.server", f"fd://{listener.fileno()}")


def make_database(command: str) -> None:
    """Make the SQLite database for this command if there is none. Raises Refusal for a command that only reads."""
    folder = Path(os.environ.get("IDEALIST_DATA", "").strip() or ROOT / "var").resolve()
    database = folder / "db.sqlite3"
    if database.exists() and database.stat().st_size:
        return
    if command in READING:
        cure = "Set IDEALIST_DATA to the data folder, or DATABASE_URL to the database"
        raise Refusal(f"{folder} has no database, so {command} has nothing to read. {cure}")
    cure = "(See all of it: .venv/bin/python manage.py migrate)"
    run_quietly([*MANAGE, "migrate"], "Making the database failed", cure)


def manage(arguments: Sequence[str]) -> None:
    """Replace this process with manage.py, which gets its streams and signals. Does not return."""
    set_up(runtime())
    if not (set(arguments[:1]) & NEEDS_NONE or is_set("DATABASE_URL")):
        make_database(next(iter(arguments), ""))
    os.execv(PYTHON, [*MANAGE, *arguments])


def benches() -> list[str]:
    """The names of all benches. Modules that they share begin with _."""
    files = sorted((ROOT / "bench").rglob("[!_]*.py"))
    return [".".join(file.relative_to(ROOT / "bench").with_suffix("").parts) for file in files]


def bench(name: str, *options: str) -> None:
    """Replace this process with a benchmark, in an environment with the peers that it needs. Does not return."""
    if name not in benches():
        raise Refusal(f"There is no bench {name!r}; there are {', '.join(benches())}")
    set_up(BENCHES, VENV_BENCH)
    become(VENV_BENCH, f"bench.{name}", *options)


def main(argv: Sequence[str]) -> int:
    command, arguments = next(iter(argv), ""), argv[1:]
    try:
        if sys.version_info < (3, 11):  # noqa: UP036
            found = sys.version.partition(" ")[0]
            raise Refusal(f"Idealist needs Python 3.11 or newer and this is {found}. Try: python3.11 run.py")
        if os.name != "posix":
            raise Refusal("Idealist runs on Linux and macOS. On Windows, run it inside WSL")
        if command == "manage":
            manage(arguments)
        elif command == "test":
            set_up(DEVELOPMENT)
            become(VENV, "config.tests.suite", *arguments)
        elif command == "bench" and arguments and arguments[0] not in HELP:
            bench(*arguments)
        elif command == "bench" and not arguments:
            print("\n".join(benches()))
        elif HELP & set(argv):
            print(__doc__.strip())
        elif command == "--version":
            print("Idealist", (ROOT / "pyproject.toml").read_text().split('version = "')[1].partition('"')[0])
        else:
            parser = argparse.ArgumentParser(usage="python3 run.py --help shows all commands", add_help=False)
            parser.add_argument("--host", default="127.0.0.1")
            parser.add_argument("--port", type=int, default=8000)
            chosen = parser.parse_args(argv)
            serve(chosen.host, chosen.port)
    except KeyboardInterrupt:
        say("\nStopped.")
        return 130
    except (Refusal, OSError) as error:
        say(f"run.py: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Machines as processes: each with its own server, worker and data folder.

They share one database behind PgBouncer, which gives each transaction another session, a store of files and, where
there is one, Redis. They share only what deploy/README.md says.
"""

import os
import pwd
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from socket import create_connection
from urllib.parse import unquote, urlsplit

from bench._served import PATIENCE, ROOT, Server, free_port
from config.tests import programs
from config.tests.bucket import Store, store

SECRET = "only for tests: fifty characters and some more, at random 8f2c"
SESSIONS = 10  # of the database, for all machines
POOLER = """
[databases]
shared = {database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
server_login_retry = 1
query_wait_timeout = 10
max_client_conn = 2000
"""


class Program:
    """A process that can be killed and started again."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str] | None = None, **how) -> None:
        self.command, self.log, self.environment, self.how = command, log, environment, how
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            options = {"stdout": log, "stderr": log, "start_new_session": True, "cwd": ROOT, **self.how}
            self.process = subprocess.Popen(self.command, env=self.environment, **options)

    def kill(self) -> None:
        """kill -9 with all its processes."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def await_port(self, port: int) -> None:
        """Until it listens there."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise SystemExit(f"{self.command[0]} does not begin:\n{self.said()[-2000:]}") from None
                time.sleep(0.02)

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Machine:
    """A server and a worker."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.data = folder / "data"
        self.data.mkdir(parents=True, mode=0o700)
        own = {**environment, "IDEALIST_DATA": str(self.data)}
        self.address = ("127.0.0.1", free_port())
        serve = [sys.executable, "-m", "config.server", f"127.0.0.1:{self.address[1]}"]
        self.web = Server(serve, own, self.address, folder / "web.log")
        self.worker = Program([sys.executable, str(ROOT / "manage.py"), "work"], folder / "worker.log", own)

    def kill(self) -> None:
        self.worker.kill()
        if self.web.process:
            self.web.kill()


class Machines:
    def __init__(self, all: list[Machine], pooler: Program, port: int, files: Store) -> None:
        self.all, self.pooler, self.port, self.files = all, pooler, port, files


def pooled(database: str, port: int) -> str:
    """The database of a URL as PgBouncer names one."""
    place = urlsplit(database)
    facts = {
        "host": unquote(place.hostname or "127.0.0.1"),
        "port": place.port or 5432,
        "dbname": unquote(place.path.strip("/")),
        "user": unquote(place.username or "postgres"),
    }
    if place.password:
        facts["password"] = unquote(place.password)
    return POOLER.format(
        database=" ".join(f"{name}={value}" for name, value in facts.items()), port=port, sessions=SESSIONS
    )


def pooler_in(folder: Path, database: str, port: int) -> Program:
    settings, how = folder / "pgbouncer.ini", {}
    settings.write_text(pooled(database, port))
    if os.geteuid() == 0:  # as which it refuses to run
        user = pwd.getpwnam("postgres")
        how = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        folder.chmod(0o755)
        settings.chmod(0o644)
    command = [programs.path_of("pgbouncer"), str(settings)]
    return Program(command, folder / "pgbouncer.log", **how | {"cwd": "/"})


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """The URL of a server that keeps nothing on disk; "" where there is none."""
    if not (found := programs.path_of("redis")):
        yield ""
        return
    port = free_port()
    facts = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--maxmemory-policy", "noeviction"]
    program = Program([found, *facts], folder / "redis.log")
    program.start()
    try:
        program.await_port(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        program.kill()


@contextmanager
def machines(database: str, number: int = 2) -> Iterator[Machines]:
    """So many machines on a database that has its tables. Their servers run; their workers wait to be started."""
    with ExitStack() as stack:
        # In /tmp and open, because PgBouncer runs as another user.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="idealist-machines-", dir="/tmp")))
        files = stack.enter_context(store())
        port = free_port()
        pooler = pooler_in(folder, database, port)
        environment = {
            **{name: value for name, value in os.environ.items() if name != "IDEALIST_HOSTS"},
            "PYTHONPATH": str(ROOT),
            "DATABASE_URL": f"postgres://idealist@127.0.0.1:{port}/shared",
            "DATABASE_POOLER": "1",
            "SECRET_KEY": SECRET,
            "STORAGE_URL": f"s3://idealist/files?endpoint={files.url}&region=local",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "CACHE_URL": stack.enter_context(redis(folder)),
            "IDEALIST_WORKER": "0",
            "IDEALIST_DEMO": "0",
        }
        found = Machines([Machine(folder / str(each), environment) for each in range(number)], pooler, port, files)
        pooler.start()
        stack.callback(pooler.kill)
        pooler.await_port(port)
        for machine in found.all:
            stack.callback(machine.kill)
            machine.web.start()
        for machine in found.all:
            machine.web.wait()
        yield found

"""Machines as processes: each with its own server, worker and data folder.

They share one database and a store of files, and only what deploy/README.md says.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bench._served import ROOT, Server, free_port
from config.tests.bucket import store

SECRET = "only for tests: fifty characters and some more, at random 8f2c"


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


@contextmanager
def machines(database: str, number: int = 2) -> Iterator[list[Machine]]:
    """So many machines on a database that has its tables. Their servers run; their workers wait to be started."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="idealist-machines-")))
        files = stack.enter_context(store())
        environment = {
            **{name: value for name, value in os.environ.items() if name != "IDEALIST_HOSTS"},
            "PYTHONPATH": str(ROOT),
            "DATABASE_URL": database,
            "SECRET_KEY": SECRET,
            "STORAGE_URL": f"s3://idealist/files?endpoint={files.url}&region=local",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "IDEALIST_WORKER": "0",
            "IDEALIST_DEMO": "0",
        }
        made = [Machine(folder / str(place), environment) for place in range(number)]
        for machine in made:
            stack.callback(machine.kill)
            machine.web.start()
        for machine in made:
            machine.web.wait()
        yield made

"""The server in its own session, as `run.py` starts it, to kill it and start it again."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS, PLAIN = "config.server", "waitress as it is"
UP = "/accounts/session/"  # an answer that needs the database and no static files
PATIENCE = 120  # seconds


def free_port() -> int:
    """Below those that the system gives to who connects: one of these may be taken while the server is down."""
    while True:
        port = random.randrange(10_000, 30_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Server:
    """`command` serves on `address`; what it says goes to `log`."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], address: tuple[str, int], log: Path
    ) -> None:
        self.command, self.environment, self.address, self.log = command, environment, address, log
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        """kill -9 of the server with all its processes. The address is free on return."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        end = time.monotonic() + PATIENCE
        while not self._free():  # a child of it may hold the socket for a moment longer
            if time.monotonic() > end:
                raise SystemExit(f"The server was killed, and {self.address} is still in use")
            time.sleep(0.01)

    def wait(self) -> None:
        """Until it answers."""
        end = time.monotonic() + PATIENCE
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(
                    f"The server does not answer. What it said is in {self.log}:\n{self.said()[-2000:]}"
                )
            time.sleep(0.05)

    def processor_seconds(self) -> float:
        """What its processes have used of the processor until now. Linux only."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(FileNotFoundError, ProcessLookupError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[2]) == self.process.pid:  # the process group
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def _free(self) -> bool:
        try:
            socket.create_server(self.address).close()
        except OSError:
            return False
        return True

    def _answers(self) -> bool:
        connection = HTTPConnection(*self.address, timeout=5)
        try:
            connection.request("GET", UP)
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()


def servers() -> dict[str, Callable[[int], list[str]]]:
    """The command of each server, given its port: ours, and waitress without what we add."""
    python = sys.executable
    return {
        OURS: lambda port: [python, "-m", "config.server", f"127.0.0.1:{port}"],
        PLAIN: lambda port: [
            *[python, "-m", "waitress", "--threads", "8", f"--listen=127.0.0.1:{port}", "config.wsgi:application"]
        ],
    }


@contextmanager
def served(command: Callable[[int], list[str]], log: Path) -> Iterator[Server]:
    """The server of this command, which takes the port, on a free one; what it says goes to `log`."""
    address = ("127.0.0.1", free_port())
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with serving(Server(command(address[1]), environment, address, log)) as server:
        yield server


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    server.start()
    try:
        server.wait()
        yield server
    except Exception as failure:
        failure.add_note(f"The server said last:\n{server.said()[-5000:]}")
        raise
    finally:
        server.kill()

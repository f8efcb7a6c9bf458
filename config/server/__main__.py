"""`python -m config.server HOST:PORT` or `fd://NUMBER`: WEB_CONCURRENCY processes that serve on one socket."""

import os
import resource
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress

RESTART_PAUSE = 1.0  # seconds before a process that died is replaced
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
MAX_FILES = 2**14  # file descriptors of a process
# The exit status of a process that could not start. It is not replaced, since another one could not start, either.
START_FAILED = 3


def listener_at(place: str) -> socket.socket:
    """The inherited socket of `fd://NUMBER`, or a new one that listens at an address."""
    if place.startswith("fd://"):
        return socket.socket(fileno=int(place.removeprefix("fd://")))
    host, _, port = place.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host.strip("[]"), int(port)), family=family)


def load_application() -> Callable:
    """The WSGI application. It is loaded, and temporary files go to the data folder from then on."""
    from config.wsgi import application
    from ratings.imports import uploads

    tempfile.tempdir = str(uploads.spool())
    return application


def serve(listener: socket.socket, parent: int) -> None:
    """Serve in this process until SIGTERM or the end of the parent, and then finish open requests."""
    try:
        from .channel import Limits
        from .loop import Server

        server = Server(load_application(), listener, Limits(), parent)
    except Exception as error:
        print(f"The server cannot start: {error}", file=sys.stderr)
        raise SystemExit(START_FAILED) from error
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    server.run()


class Processes:
    """Starts the processes that serve on one socket, replaces those that die, and stops all on a signal."""

    def __init__(self, listener: socket.socket, number: int) -> None:
        self.listener, self.number = listener, number
        self.serving: set[int] = set()
        self.signals = 0

    def run(self) -> int:
        """Serve until a signal, and return the exit status."""
        for each in STOP_SIGNALS:
            signal.signal(each, self.stop)
        status = 0
        while not self.signals or self.serving:
            while not self.signals and len(self.serving) < self.number:
                self.start_process()
            process, wait_status = os.wait()
            if process not in self.serving:
                continue  # a child that run.py started before it became this process
            self.serving.discard(process)
            if self.signals:
                continue
            if os.waitstatus_to_exitcode(wait_status) == START_FAILED:
                status = 1
                self.stop()
            else:
                print("A process of the server died; another one replaces it.", file=sys.stderr)
                time.sleep(RESTART_PAUSE)
        return status

    def start_process(self) -> None:
        parent = os.getpid()
        # A signal between fork and add would not reach the new process.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        process = os.fork()
        if process:
            self.serving.add(process)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
            return
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all; the parent passes it on
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
            serve(self.listener, parent)
        except SystemExit as error:
            os._exit(error.code)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)

    def stop(self, *_) -> None:
        """Stop all processes: after their open requests at the first signal, at once at the second."""
        self.signals += 1
        for process in self.serving:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM if self.signals == 1 else signal.SIGKILL)


def process_count() -> int:
    """WEB_CONCURRENCY, or 1. The settings, which a process reads, refuse what is no such number."""
    text = os.environ.get("WEB_CONCURRENCY", "").strip()
    return max(1, int(text)) if text.isdecimal() else 1


def main(place: str) -> int:
    # Each connection takes a file descriptor, and the soft limit is low.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        if 0 <= soft < MAX_FILES:
            resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_FILES if hard < 0 else min(MAX_FILES, hard), hard))
    # All processes count into files of one folder, which the client library of Prometheus asks for when it is
    # imported: see config/health/metrics.py.
    with tempfile.TemporaryDirectory(prefix="idealist-metrics-") as os.environ["PROMETHEUS_MULTIPROC_DIR"]:
        return Processes(listener_at(place), process_count()).run()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Keeps one worker process alive beside the server.

Each server has a thread that waits for a lock. The thread that has the lock starts the worker, and starts it again
whenever it ends. When the server ends, its worker ends too, and another server gets the lock.
"""

import fcntl
import logging
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

RESTART_SECONDS = 5.0  # before a restart


def keep_alive(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run a worker, and another one whenever it ends: one for all servers with this data folder. Never returns.

    The `command` gets the option --beside with the id of this process, and ends when this process ends.
    """
    lock = os.open(folder, os.O_RDONLY)  # the folder itself, so that no lock file is needed
    with suppress(OSError):  # without locks on this disk each server keeps a worker, which does no harm
        fcntl.flock(lock, fcntl.LOCK_EX)
    while True:
        try:
            # In its own session, so that Ctrl-C reaches only the server; the worker ends with it.
            with subprocess.Popen(
                [*command, "--beside", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            ) as worker:
                status: int | OSError = worker.wait()
        except OSError as error:
            status = error
        # A server that stops ends during this sleep, so that it logs nothing.
        time.sleep(RESTART_SECONDS)
        log.error("The worker ended (%s), and imports stopped. Another one starts.", status)

"""Keeps one worker process alive beside the server.

Each process of the server has a thread that waits for a lock. The one that holds it starts the worker, and again
whenever the worker ends. When the server process ends, its worker ends too, and another process gets the lock.
The server must replace processes that die.
"""

import fcntl
import logging
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

log = logging.getLogger(__name__)

PAUSE, LONGEST = 1.0, 30.0  # seconds before a restart: doubled each time that the worker dies at once
SOUND = 60.0  # seconds after which a worker did not die at once


def keep(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Thread:
    """The thread that keeps one worker alive for all servers with this data `folder`.

    The command gets the option --beside with the id of this process, and ends with it.
    """
    thread = Thread(target=_keep, args=[command, folder, environment], daemon=True)
    thread.start()
    return thread


def _keep(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    lock = os.open(folder, os.O_RDONLY)  # the folder itself, so that no lock file is needed
    with suppress(OSError):  # on a disk without locks each process keeps a worker, which is harmless
        fcntl.flock(lock, fcntl.LOCK_EX)
    pause = PAUSE
    while True:
        begun = time.monotonic()
        try:
            # In its own session, so that Ctrl-C reaches the server alone, with which the worker ends.
            with subprocess.Popen(
                [*command, "--beside", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            ) as worker:
                status = worker.wait()
        except OSError as error:
            status = error
        if time.monotonic() - begun > SOUND:
            pause = PAUSE
        time.sleep(pause)  # a server that is being stopped ends here
        log.error("The worker had ended (%s), and no import went on. Another begins.", status)
        pause = min(2 * pause, LONGEST)

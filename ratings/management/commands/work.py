import math
import os
import signal
import tempfile
import time
from threading import Thread

from django.core.management.base import BaseCommand
from django.db import DatabaseError, close_old_connections
from django.utils.crypto import get_random_string
from django_tasks_db.management.commands.db_worker import Worker
from django_tasks_db.models import DBTaskResult

from ratings.collection import deleting
from ratings.importing import chores, jobs, retention, signs, uploads
from ratings.importing.chores import Chore
from ratings.importing.pictures import store
from ratings.management.refusals import refuse_unwritable

# Seconds between two runs of each chore.
LOOK_SECONDS = 1.0
REAP_SECONDS = BEAT_SECONDS = REMOVE_SECONDS = 5.0
FORGET_SECONDS = 600.0
SWEEP_SECONDS = 3_600.0
SECONDS_BETWEEN_TELLS = 60.0  # between two lines of the log about a database that is away

_told_at = -math.inf


class Command(BaseCommand):
    help = (
        "Do the imports that people ask for on pages, draw rounds of pairs to be rated, and remove deleted"
        " collections. Start it on as many machines as you like."
    )
    requires_system_checks = []

    def add_arguments(self, parser) -> None:
        parser.add_argument("--beside", type=int, metavar="PID", help="end when this parent process has ended")

    def handle(self, *, beside: int | None, **options) -> None:
        refuse_unwritable()
        # A worker may die at any moment, because others take over its jobs. So it needs no clean end.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # The first process of a container never gets a signal that it has no handler for.
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        if beside is not None:  # the id of the parent process
            Thread(target=end_with, args=[beside], daemon=True).start()
        # Copies of uploads, and the stages of imports, can be too large for a /tmp in memory.
        tempfile.tempdir = str(uploads.spool())
        own_chores = [Chore(signs.show_worker, BEAT_SECONDS), Chore(jobs.reap, REAP_SECONDS)]
        own_chores += [Chore(deleting.remove_due, REMOVE_SECONDS)]
        own_chores += [Chore(uploads.forget_old, FORGET_SECONDS), Chore(retention.forget_old, FORGET_SECONDS)]
        own_chores += [Chore(store.sweep, SWEEP_SECONDS)]
        for chore in (*own_chores, *chores.of_apps):  # each in a thread of its own
            Thread(target=again_and_again, args=chore, daemon=True).start()
        again_and_again(work, LOOK_SECONDS)


def end_with(parent: int) -> None:
    """End this process when its parent has died, after which the system gives it another parent."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def again_and_again(act, every: float) -> None:
    """Call `act` for ever, with a pause of `every` seconds after each call. Failures are logged."""
    while True:
        try:
            close_old_connections()
            act()
        except DatabaseError as error:
            tell_of_wait(error)
        except Exception:
            # An unhandled exception would end this thread silently, while the process lives on.
            jobs.log.exception("The worker could not %s. It tries again.", act.__name__)
        time.sleep(every)


def tell_of_wait(error: DatabaseError) -> None:
    """Log that the worker waits: all chores fail then, each every few seconds, and one line a minute will do."""
    global _told_at
    now = time.monotonic()
    if now - _told_at >= SECONDS_BETWEEN_TELLS:
        _told_at = now
        jobs.log.warning("The worker waits for the database: %s", error)


def work() -> None:
    """Run all waiting tasks. The query comes first: the library's worker takes a lock even without tasks."""
    if DBTaskResult.objects.ready().exists():
        Worker(
            queue_names=["default"],
            interval=0,
            batch=True,  # `run` ends when no task is left
            backend_name="default",
            startup_delay=False,
            max_tasks=None,
            worker_id=get_random_string(32),
            excluded_queue_names=[],
        ).run()

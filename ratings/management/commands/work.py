import os
import signal
import time
from threading import Thread

from django.core.management.base import BaseCommand
from django.db import DatabaseError, close_old_connections
from django.utils.crypto import get_random_string
from django_tasks_db.management.commands.db_worker import Worker
from django_tasks_db.models import DBTaskResult

from ratings import jobs

LOOK = 1.0  # seconds
REAP = 5.0


class Command(BaseCommand):
    help = "Do the imports that people ask for on pages. Start it on as many machines as you like."
    requires_system_checks = []

    def add_arguments(self, parser) -> None:
        parser.add_argument("--beside", type=int, metavar="PID", help="end when this parent process has ended")

    def handle(self, *, beside: int | None, **options) -> None:
        # It may die at any moment: who comes next goes on. So there is nothing to do before it ends.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if beside is not None:
            Thread(target=end_with, args=[beside], daemon=True).start()
        Thread(target=again_and_again, args=[jobs.reap, REAP], daemon=True).start()
        again_and_again(work, LOOK)


def end_with(parent: int) -> None:
    """A process whose parent died, however that came, gets another parent."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def again_and_again(act, every: float) -> None:
    while True:
        try:
            close_old_connections()
            act()
        except DatabaseError as error:
            jobs.log.warning("The worker waits for the database: %s", error)
        time.sleep(every)


def work() -> None:
    """All that waits. To look whether something does takes no lock, which a worker of the library takes."""
    if DBTaskResult.objects.ready().exists():
        name = get_random_string(32)
        Worker(
            queue_names=["default"],
            interval=0,
            batch=True,
            backend_name="default",
            startup_delay=False,
            max_tasks=None,
            worker_id=name,
            excluded_queue_names=[],
        ).run()

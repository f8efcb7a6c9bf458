import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from ratings.collection import sample
from ratings.copies import backup
from ratings.database import making
from ratings.management.refusals import refuse_unwritable, refusing


class Command(BaseCommand):
    help = "Prepare the server: tables, the sample collection on the first start, and static files."
    # Checks import every page, which takes longer than the rest. `run.py test` and the server run them.
    requires_system_checks = []

    def handle(self, **options) -> None:
        refuse_unwritable()
        with making.alone(), static_files():
            if MigrationRecorder(connection).applied_migrations():
                with refusing("Nothing was changed."):
                    backup.applied_migrations()
            call_command("migrate", verbosity=0)
            call_command("createcachetable", verbosity=0)
            sample.prepare()


@contextmanager
def static_files() -> Iterator[None]:
    """A context in which another process collects the static files. Raises CommandError at its end if that failed.

    Both take seconds: the static files, and the tables that are made in the context. Static files outside the data
    folder came with the program, as in an image, and cannot be written.
    """
    if not Path(settings.STATIC_ROOT).is_relative_to(settings.DATA_DIR) or static_files_are_collected():
        yield
        return
    command = [
        sys.executable,
        str(settings.BASE_DIR / "manage.py"),
        "collectstatic",
        "--no-input",
        "--verbosity=0",
    ]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as collecting:  # waits for the process at its end
        yield
    if collecting.returncode:
        raise CommandError("The static files could not be collected.")


def static_files_are_collected() -> bool:
    """Whether no file has changed since they were collected. To collect 150 files takes seconds."""
    manifest = Path(settings.STATIC_ROOT, "staticfiles.json")
    if not manifest.exists():
        return False
    files = (storage.path(name) for finder in get_finders() for name, storage in finder.list([]))
    return max(Path(file).stat().st_mtime for file in files) < manifest.stat().st_mtime

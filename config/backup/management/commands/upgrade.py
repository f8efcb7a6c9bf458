from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError

from config.backup import upgrading
from ratings.management.progress import Line

from ._reports import Refused, errors_as_refusals, summary


class Command(BaseCommand):
    help = "Bring the database up to date with the program: shows the plan, backs up, migrates and checks."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser) -> None:
        parser.add_argument("--plan", action="store_true", help="only show what would be done")
        parser.add_argument(
            "--backup",
            type=Path,
            metavar="FILE",
            help="the file of the backup (default: a new one in backups, in the data folder)",
        )

    def handle(self, *, plan: bool, backup: Path | None, **options) -> None:
        with errors_as_refusals("Nothing was changed."):
            steps = upgrading.pending_steps()
        if not steps:
            self.stdout.write(f"The database is that of Idealist {settings.VERSION}. There is nothing to do.")
            return
        self.print_plan(steps)
        if plan:
            return
        path = backup or upgrading.default_path()
        with errors_as_refusals("Nothing was changed."), Line(self.stderr) as progress:
            manifest = upgrading.back_up(path, progress)
        self.stdout.write(f"Backed up and read again: {path}: {summary(manifest)}.")
        way_back = f"To go back: install the former version, and python3 run.py restore {path} --replace"
        try:
            with Line(self.stderr) as progress:
                upgrading.upgrade(progress)
        except (DatabaseError, upgrading.UpgradeFailed) as error:
            raise Refused(f"The upgrade failed: {str(error).strip()} {way_back}") from error
        self.stdout.write(f"The database is that of Idealist {settings.VERSION} now, and was checked.\n{way_back}")

    def print_plan(self, steps: list[upgrading.Step]) -> None:
        self.stdout.write(f"Idealist {settings.VERSION} makes these changes of the database:")
        for step in steps:
            self.stdout.write(f"  {step.name}")
            self.stdout.write("".join(f"    {line}\n" for line in step.operations), ending="")
        for line in (line for step in steps for line in step.lock_warnings):
            self.stdout.write(f"Stop the server first, since pages would wait: {line}")

from pathlib import Path

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from config.backup import upgrading
from config.backup.package import program
from ratings.management.progress import Line

from ._told import Refused, refusing, told


class Command(BaseCommand):
    help = "Bring the database up to date with the program: says what will happen, backs up, migrates, checks."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser) -> None:
        parser.add_argument("--plan", action="store_true", help="only say what would happen")
        parser.add_argument(
            "--backup", type=Path, metavar="FILE", help="by default in backups, in the data folder"
        )

    def handle(self, *, plan: bool, backup: Path | None, **options) -> None:
        with refusing("Nothing was changed."):
            steps = upgrading.steps()
        if not steps:
            self.stdout.write(f"The database is that of Idealist {program()}. There is nothing to do.")
            return
        self.say(steps)
        if plan:
            return
        path = backup or upgrading.default_path()
        with refusing("Nothing was changed."), Line(self.stderr) as progress:
            manifest = upgrading.back_up(path, progress)
        self.stdout.write(f"Backed up and read again: {path}: {told(manifest)}.")
        way_back = f"To go back: install the former version, and python3 run.py restore {path} --replace"
        try:
            with Line(self.stderr) as progress:
                upgrading.upgrade(progress)
        except (DatabaseError, upgrading.Failed) as error:
            raise Refused(f"The upgrade failed: {str(error).strip()} {way_back}") from error
        self.stdout.write(f"The database is that of Idealist {program()} now, and was checked.\n{way_back}")

    def say(self, steps: list[upgrading.Step]) -> None:
        self.stdout.write(f"Idealist {program()} makes these changes of the database:")
        for step in steps:
            self.stdout.write(f"  {step.name}")
            self.stdout.write("".join(f"    {line}\n" for line in step.does), ending="")
        for line in (line for step in steps for line in step.waits):
            self.stdout.write(f"Stop the server before it, since pages would wait: {line}")

from pathlib import Path

from django.core.management.base import BaseCommand

from ratings.copies import backup
from ratings.management.progress import ProgressLine
from ratings.management.refusals import refusing


class Command(BaseCommand):
    help = "Restore all data of a backup into an empty SQLite or PostgreSQL database, which nobody uses meanwhile."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *, file: Path, **options) -> None:
        with refusing("Nothing was restored."), ProgressLine(self.stderr) as progress:
            manifest = backup.restore(file, progress=progress)
        self.stdout.write(f"{file}: {backup.summary(manifest)}. Restored. Everybody must sign in again.")

from pathlib import Path

from django.core.management.base import BaseCommand

from ratings.copies import backup
from ratings.management.progress import ProgressLine
from ratings.management.refusals import refusing


class Command(BaseCommand):
    help = "Write all data of Idealist into one file, while it is in use. The command restore reads the file."
    requires_system_checks = []

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *, file: Path, **options) -> None:
        backup.lower_priority()
        with refusing("Nothing was written."), ProgressLine(self.stderr) as progress:
            manifest = backup.write(file, progress=progress)
        for name in manifest["missing"]:
            self.stderr.write(f"Warning: the backup has no {name}, which is lost or was deleted meanwhile.")
        self.stdout.write(f"{file}: {backup.summary(manifest)}, {file.stat().st_size / 2**20:,.1f} MB.")

from pathlib import Path

from django.core.management.base import BaseCommand

from config.backup import writing
from ratings.management.progress import Line

from ._reports import errors_as_refusals, summary


class Command(BaseCommand):
    help = "Write all data of Idealist into one file, while it is in use. The command restore reads the file."
    requires_system_checks = []

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--with-keys", action="store_true", help="include the secret key; let nobody else read such a file"
        )

    def handle(self, *, file: Path, with_keys: bool, **options) -> None:
        writing.lower_priority()
        with errors_as_refusals("Nothing was written."), Line(self.stderr) as progress:
            manifest = writing.write(file, with_keys=with_keys, progress=progress)
        for name in manifest["missing"]:
            self.stderr.write(f"Warning: {name} was lost before this backup, which does not contain it.")
        self.stdout.write(f"{file}: {summary(manifest)}, {file.stat().st_size / 2**20:,.1f} MB.")

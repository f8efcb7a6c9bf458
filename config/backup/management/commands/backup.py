from pathlib import Path

from django.core.management.base import BaseCommand

from config.backup import writing
from ratings.management.progress import Line

from ._told import refusing, told


class Command(BaseCommand):
    help = "Write everything that Idealist keeps as one file, while it is in use. restore reads it."
    requires_system_checks = []

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--with-keys", action="store_true", help="the secret key, too: keep such a file closed"
        )

    def handle(self, *, file: Path, with_keys: bool, **options) -> None:
        writing.give_way()
        with refusing("Nothing was written."), Line(self.stderr) as progress:
            manifest = writing.write(file, with_keys=with_keys, progress=progress)
        for name in manifest["missing"]:
            self.stderr.write(f"Warning: {name} was lost before this backup, which is without it.")
        self.stdout.write(f"{file}: {told(manifest)}, {file.stat().st_size / 2**20:,.1f} MB.")

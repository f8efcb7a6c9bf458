import os
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand

from ratings.copies import backup
from ratings.management.backups import refusals, summary
from ratings.management.progress import Line


class Command(BaseCommand):
    help = "Restore all data of a backup into an empty SQLite or PostgreSQL database, which nobody uses meanwhile."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", type=Path)
        help_text = "restore the secret key of the backup, too"
        parser.add_argument("--with-keys", action="store_true", help=help_text)

    def handle(self, *, file: Path, with_keys: bool, **options) -> None:
        with refusals("Nothing was restored."), Line(self.stderr) as progress:
            manifest = backup.restore(file, with_keys=with_keys, progress=progress)
        key_file = settings.DATA_DIR / "secret.key"
        if with_keys and os.environ.get("SECRET_KEY") not in (None, "", key_file.read_text().strip()):
            self.stderr.write(
                f"Warning: the key of the backup is in {key_file} and has no effect, because SECRET_KEY is set to"
                " another one. Set SECRET_KEY to the key in that file."
            )
        self.stdout.write(f"{file}: {summary(manifest)}. Restored. Everybody must sign in again.")

import os
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection

from config.backup import restoring
from ratings.management.progress import Line

from ._reports import errors_as_refusals, summary


class Command(BaseCommand):
    help = (
        "Restore all data of a backup into an empty SQLite or PostgreSQL database, which nobody may use meanwhile."
    )
    requires_system_checks = []

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--dry", action="store_true", help="only see whether it can be restored into this kind of database"
        )
        help_text = "replace a database that is not empty, and keep it under another name"
        parser.add_argument("--replace", action="store_true", help=help_text)
        help_text = "restore the secret key of the backup, too"
        parser.add_argument("--with-keys", action="store_true", help=help_text)

    def handle(self, *, file: Path, dry: bool, replace: bool, with_keys: bool, **options) -> None:
        with errors_as_refusals("Nothing was restored."), Line(self.stderr) as progress:
            if dry:
                manifest = restoring.dry_run(file, progress=progress)
            else:
                chosen = {"replace": replace, "with_keys": with_keys}
                manifest = restoring.restore(file, **chosen, progress=progress)
        key_file = settings.DATA_DIR / "secret.key"
        if with_keys and not dry and os.environ.get("SECRET_KEY") not in (None, "", key_file.read_text().strip()):
            self.stderr.write(
                f"Warning: the key of the backup is in {key_file} and has no effect, because SECRET_KEY is set to"
                " another one. Set SECRET_KEY to the key in that file."
            )
        kind = connection.display_name
        outcome = f"It can be restored into {kind}" if dry else "Restored. Everybody must sign in again"
        self.stdout.write(f"{file}: {summary(manifest)}. {outcome}.")

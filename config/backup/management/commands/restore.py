from pathlib import Path

from django.core.management.base import BaseCommand

from config.backup import restoring
from ratings.management.progress import Line

from ._told import refusing, told


class Command(BaseCommand):
    help = "Make everything as a backup has it, in an empty database of either kind. Nobody may use it meanwhile."
    requires_system_checks = []

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--dry", action="store_true", help="only try it out, in a database that is thrown away"
        )
        said = "also where the database holds something, which is kept under another name"
        parser.add_argument("--replace", action="store_true", help=said)
        said = "take the secret key of the backup, if it has one"
        parser.add_argument("--with-keys", action="store_true", help=said)

    def handle(self, *, file: Path, dry: bool, replace: bool, with_keys: bool, **options) -> None:
        with refusing("Nothing was restored."), Line(self.stderr) as progress:
            if dry:
                manifest = restoring.try_out(file, progress=progress)
            else:
                chosen = {"replace": replace, "with_keys": with_keys}
                manifest = restoring.restore(file, **chosen, progress=progress)
        done = "It can be restored" if dry else "Restored, and signed-in people sign in again"
        self.stdout.write(f"{file}: {told(manifest)}. {done}.")

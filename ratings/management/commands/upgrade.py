from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from ratings.copies import backup
from ratings.database import making
from ratings.management.progress import ProgressLine
from ratings.management.refusals import Refused, refusing


class Command(BaseCommand):
    help = "Bring the database up to date with the program: shows the plan, backs up, migrates and checks."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser) -> None:
        parser.add_argument("--plan", action="store_true", help="only show what would be done")
        text = "the file of the backup (default: a new one in backups, in the data folder)"
        parser.add_argument("--backup", type=Path, metavar="FILE", help=text)

    def handle(self, *, plan: bool, backup: Path | None, **options) -> None:
        with refusing("Nothing was changed."):
            steps = pending()
        if not steps:
            self.stdout.write(f"The database is that of Idealist {settings.VERSION}. There is nothing to do.")
            return
        self.stdout.write(f"Idealist {settings.VERSION} makes these changes of the database:")
        for migration, _ in steps:  # (migration, whether it is undone)
            self.stdout.write(f"  {migration}")
            for operation in migration.operations:
                self.stdout.write(f"    {operation.describe()}")
        if not plan:
            self.upgrade(backup or default_path())

    def upgrade(self, path: Path) -> None:
        """Back up into the file, read the backup again, and migrate the database. Raises Refused."""
        with refusing("Nothing was changed."), ProgressLine(self.stderr) as progress:
            manifest = backup.write(path, progress=progress)
            with path.open("rb") as file:
                backup.opened(file, path.name)
        self.stdout.write(f"Backed up and read again: {path}: {backup.summary(manifest)}.")
        way_back = f"To go back: install the former version, and restore {path} into an empty database"
        try:
            with making.alone():  # no other process makes tables meanwhile
                call_command("migrate", verbosity=0, interactive=False)
                call_command("createcachetable", verbosity=0)
            connection.check_constraints()
            forget_old_backups()
        except DatabaseError as error:
            raise Refused(f"The upgrade failed: {str(error).strip()} {way_back}") from error
        self.stdout.write(f"The database is that of Idealist {settings.VERSION} now, and was checked.\n{way_back}")


def pending() -> list[tuple]:
    """The migrations that the database lacks, in order. Raises backup.Refused."""
    backup.applied_migrations()
    executor = MigrationExecutor(connection)
    return executor.migration_plan(executor.loader.graph.leaf_nodes())


def forget_old_backups() -> None:
    """Keep the newest IDEALIST_BACKUP_KEEP of those that upgrades made."""
    made = sorted((settings.DATA_DIR / "backups").glob("before-*.zip"), key=lambda path: path.stat().st_mtime)
    for path in made[: -settings.BACKUP_KEEP]:
        path.unlink()


def default_path() -> Path:
    folder = settings.DATA_DIR / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"before-{settings.VERSION}-{timezone.now():%Y%m%dT%H%M%SZ}.zip"

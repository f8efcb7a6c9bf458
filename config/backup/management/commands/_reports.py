"""What the commands of backups share: refusals in one line, and the summary of a backup."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError, connection

from config.backup.package import UnusableBackup
from config.backup.replacement import InUse
from config.backup.tables import NoTables, UnknownMigrations


class Refused(CommandError):
    """The command did nothing. The message is for the operator, with a cure."""


@contextmanager
def errors_as_refusals(outcome: str) -> Iterator[None]:
    """Raises Refused for errors that the operator can cure. `outcome`: what was not done, as a sentence."""
    try:
        yield
    except (UnusableBackup, InUse) as error:
        raise Refused(str(error)) from error
    except NoTables as error:
        raise Refused(
            f"{connection.settings_dict['NAME']} has no tables, so it is no database of Idealist yet. Set"
            f" IDEALIST_DATA to the data folder, or DATABASE_URL to the database. {outcome}"
        ) from error
    except UnknownMigrations as error:
        raise Refused(
            f"The database has migrations that this version, {settings.VERSION}, does not know: {error}. Use the"
            f" version that made them. {outcome}"
        ) from error
    except DatabaseError as error:
        raise Refused(f"The database refused: {' '.join(str(error).split())}. {outcome}") from error
    except OSError as error:
        raise Refused(f"{error.filename or ''}: {error.strerror or error}. {outcome}".lstrip(": ")) from error


def summary(manifest: dict) -> str:
    """A text with the size, the moment and the version of a backup, from its manifest."""
    tables = [each["rows"] for each in manifest["members"] if each["member"].startswith("tables/")]
    made_at = manifest["made_at"][:16].replace("T", " ")
    return f"{sum(tables):,} rows of {len(tables)} tables, of {made_at} UTC, by Idealist {manifest['program']}"

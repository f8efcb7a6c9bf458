"""What the commands of backups have in common: refusals in one line, and what a backup holds."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import DatabaseError

from config.backup.beside import InUse
from config.backup.package import Unfit, program
from config.backup.tables import Unknown


class Refused(CommandError):
    """The command did nothing."""


@contextmanager
def refusing(outcome: str) -> Iterator[None]:
    """Turn what stands in the way into Refused. `outcome` says what did not happen."""
    try:
        yield
    except (Unfit, InUse) as error:
        raise Refused(str(error)) from error
    except Unknown as unknown:
        raise Refused(
            f"The database has migrations that this version, {program()}, does not know: {unknown}. Use the"
            f" version that made them. {outcome}"
        ) from unknown
    except DatabaseError as error:
        raise Refused(f"The database refused: {str(error).strip()}. {outcome}") from error
    except OSError as error:
        raise Refused(f"{error.filename or ''}: {error.strerror or error}. {outcome}".lstrip(": ")) from error


def told(manifest: dict) -> str:
    """What a backup holds, in words."""
    tables = [each["rows"] for each in manifest["members"] if each["member"].startswith("tables/")]
    made = manifest["made_at"][:16].replace("T", " ")
    return f"{sum(tables):,} rows of {len(tables)} tables, of {made} UTC, by Idealist {manifest['program']}"

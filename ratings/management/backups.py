"""What the commands of backups share: refusals in one line, and the summary of a backup."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import DatabaseError

from ..copies import backup
from ..copies.package import Unreadable


class Refused(CommandError):
    """The command did nothing. The message is for the operator, with a cure."""


@contextmanager
def refusals(outcome: str) -> Iterator[None]:
    """Raises Refused for errors that the operator can cure. `outcome`: what was not done, as a sentence."""
    try:
        yield
    except Unreadable as error:
        raise Refused(f"{error} {outcome}") from error
    except backup.Refused as error:
        raise Refused(f"{error}. {outcome}") from error
    except DatabaseError as error:
        raise Refused(f"The database refused: {' '.join(str(error).split())}. {outcome}") from error
    except OSError as error:
        raise Refused(f"{error.filename or ''}: {error.strerror or error}. {outcome}".lstrip(": ")) from error


def summary(manifest: dict) -> str:
    """A text with the size, the moment and the version of a backup, from its manifest."""
    members = manifest["members"].items()
    tables = [lines - 1 for name, (lines, *_) in members if name.startswith("tables/")]
    made_at = manifest["made_at"][:16].replace("T", " ")
    return f"{sum(tables):,} rows of {len(tables)} tables, of {made_at} UTC, by Idealist {manifest['program']}"

"""What the commands of backups have in common: refusals in one line, and how far they are."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError, OutputWrapper
from django.db import DatabaseError

from config.backup.beside import InUse
from config.backup.package import Unfit, program
from config.backup.tables import Unknown

EVERY = 0.2  # seconds between two updates of the line


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


class Line:
    """A line on the terminal that is overwritten; nothing where standard error is no terminal."""

    def __init__(self, stream: OutputWrapper) -> None:
        self.stream, self.shown_at = stream, 0.0

    def __enter__(self) -> "Line":
        return self

    def __call__(self, name: str) -> None:
        if self.stream.isatty() and time.monotonic() - self.shown_at > EVERY:
            self.shown_at = time.monotonic()
            self.stream.write(f"\r\x1b[K{name}", ending="")
            self.stream.flush()

    def __exit__(self, *about) -> None:
        if self.stream.isatty() and self.shown_at:
            self.stream.write("\r\x1b[K", ending="")

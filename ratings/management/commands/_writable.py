"""A check at the start of long-running commands that the data folder can be written."""

from django.conf import settings
from django.core.management.base import CommandError

from ratings.database import disk


def refuse_unwritable() -> None:
    """Raises CommandError where the data folder cannot be written."""
    try:
        disk.try_out(settings.DATA_DIR)
    except OSError as error:
        raise CommandError(
            f"Nothing can be written into {settings.DATA_DIR}: {error.strerror}. Free space there, make it"
            " writable, or name another folder in IDEALIST_DATA."
        ) from error

#!/usr/bin/env python
"""Django's command line for Idealist. `python3 run.py manage …` runs it in the project's environment."""

import gc
import os
import signal
import sys
import tomllib
from pathlib import Path

# SQLSTATEs for which an operator has the cure: a right is missing, a table, or a schema to make tables in.
CURABLE = {"42501", "42P01", "3F000"}
DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")  # what the names of SQLite's errors begin with


def is_curable(error: Exception) -> bool:
    """Whether the error is about the database and its account, and not about this program."""
    from django.db import OperationalError
    from django.db.migrations.exceptions import MigrationSchemaMissing

    if isinstance(error, OperationalError | MigrationSchemaMissing):
        return True
    is_damaged = getattr(error.__cause__, "sqlite_errorname", "").startswith(DAMAGED)
    return is_damaged or getattr(error.__cause__, "sqlstate", None) in CURABLE


def main() -> None:
    """Run the command of the command line. Errors that an operator can cure are one line, without a traceback."""
    if sys.argv[1:] == ["--version"]:
        project = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text(encoding="utf-8"))["project"]
        sys.exit(print("Idealist", project["version"]))  # None, which is the exit status 0
    if sys.argv[1:] == ["doctor"]:  # it also tells what is wrong with the settings
        from config.health import doctor

        sys.exit(doctor.main())
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    from config.program import PROGRAM
    from ratings.database import disk
    from ratings.words import as_sentence

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)  # as a shell reports a program that this signal ended
    except (DatabaseError, OSError) as error:
        if trouble := disk.trouble(error):  # the disk is full or read-only
            sys.exit(f"{disk.MESSAGES[trouble]} Nothing of this was written. ({error})")
        if "--traceback" in sys.argv or not is_curable(error):
            raise
        reason = as_sentence(" ".join(str(error).split()))
        sys.exit(f"The database refused: {reason} To find the cure: {PROGRAM} manage doctor")


if __name__ == "__main__":
    try:
        main()
    finally:
        gc.freeze()  # else Python looks through everything for cycles as it ends, for a quarter of a second

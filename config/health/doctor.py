"""`python3 run.py manage doctor`: prints each problem with its cure. Exit status 1 where there is one."""

import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import django
from django.core.exceptions import ImproperlyConfigured

if TYPE_CHECKING:
    from .checks import Outcome


def main() -> int:
    """Print what is checked and the outcome of each check, and return the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ["IDEALIST_SHORT_WAITS"] = "1"  # wait for the database as briefly as pages do, not as commands
    try:
        django.setup()
    except (ImproperlyConfigured, ValueError) as error:
        print(f"WRONG    settings: {error}")
        return 1
    from .checks import CHECKS, outcomes  # needs the settings

    print(head())
    return report(outcomes(CHECKS))


def head() -> str:
    """A line that names version, commit, database and data folder, without the password of the database."""
    from django.conf import settings

    database = settings.DATABASES["default"]
    place = database["NAME"] or "of a service"  # an entry of PostgreSQL's service file, which has the name
    if host := database.get("HOST"):
        place += f"@{host}"
    version = f"Idealist {settings.VERSION}"
    command = ["git", "-C", str(settings.BASE_DIR), "rev-parse", "--short", "HEAD"]
    with suppress(FileNotFoundError):
        if commit := subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip():
            version += f" ({commit})"
    return f"{version}, database {place}, data folder {settings.DATA_DIR}"


def report(results: "list[Outcome]") -> int:
    """Print the result of each check, and return the exit status."""
    for outcome in results:
        if not outcome.ran:
            print(f"skipped  {outcome.check.name}: it needs the database")
        elif not outcome.problems:
            print(f"ok       {outcome.check.name}")
        for problem in outcome.problems:
            print(f"WRONG    {outcome.check.name}: {problem.wrong}\n         Cure: {problem.cure}")
    return int(any(outcome.problems for outcome in results))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python
"""Django's command line for Idealist. `python3 run.py manage …` runs it in the project's environment."""

import os
import signal
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    from ratings.database import disk

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except (DatabaseError, OSError) as error:
        if not (told := disk.trouble(error)):
            raise
        sys.exit(f"{disk.MESSAGES[told]} Nothing of this was written. ({error})")


if __name__ == "__main__":
    main()

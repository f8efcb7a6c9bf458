"""`python3 run.py doctor`: what is wrong here, and the cure. Exit status 1 where something is."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.core.exceptions import ImproperlyConfigured

from .modes import Problem, open_to_others

if TYPE_CHECKING:
    from .checks import Outcome


def main() -> int:
    # What a start closes is looked at before it does.
    folder = Path(os.environ.get("IDEALIST_DATA") or Path(__file__).resolve().parents[2] / "var").resolve()
    modes = list(open_to_others(folder))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("IDEALIST_PATIENCE", "2")
    try:
        django.setup()
    except (ImproperlyConfigured, ValueError) as error:
        print(f"WRONG    settings: {error}")
        return 1
    from .checks import CHECKS, hurry, outcomes  # needs the settings

    hurry()
    return report(outcomes(CHECKS), modes)


def report(found: "list[Outcome]", modes: list[Problem]) -> int:
    """Print a line for each check, and the exit status. `modes` is what was open before the start."""
    for outcome in found:
        problems = [*outcome.problems, *(modes if outcome.check.name == "secrets" else ())]
        if not outcome.looked:
            print(f"skipped  {outcome.check.name}: it asks the database")
        elif not problems:
            print(f"ok       {outcome.check.name}")
        for problem in problems:
            print(f"WRONG    {outcome.check.name}: {problem.wrong}\n         Cure: {problem.cure}")
    return 1 if modes or any(outcome.problems for outcome in found) else 0


if __name__ == "__main__":
    sys.exit(main())

"""The programs beside Python that some tests need, and where this machine has them.

python3 config/tests/programs.py missing   the packages of Debian that this machine lacks, one a line
python3 config/tests/programs.py found     the paths of the programs that it has
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Program(NamedTuple):
    what: str  # the tests that need it
    names: Sequence[str]  # of its executable; the first that is there counts
    package: str  # of Debian


PROGRAMS: Mapping[str, Program] = {
    # Without windows, Chromium takes a third less processor.
    "chromium": Program(
        "tests in a browser",
        ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"],
        "chromium",
    ),
    "postgresql": Program("tests on PostgreSQL", ["initdb"], "postgresql"),
    "curl": Program("examples of the API", ["curl"], "curl"),
    "gettext": Program("catalogs of translations", ["xgettext"], "gettext"),
}


DEBIANS = Path("/usr/lib/postgresql")  # a folder for each version


def path_of(program: str) -> str | None:
    """The path of its executable, or None. CHROMIUM names a browser that is elsewhere."""
    if program == "chromium" and os.environ.get("CHROMIUM"):
        return shutil.which(os.environ["CHROMIUM"])
    return next(_paths(program), None)


def absent(program: str) -> str:
    """Why tests that need it cannot run, and the cure; "" where the program is here."""
    return "" if path_of(program) else f"there is no {program} (apt install {PROGRAMS[program].package})"


def _paths(program: str) -> Iterator[str]:
    """In PATH, and where Debian keeps programs of servers, the newest PostgreSQL first."""
    versions = sorted(DEBIANS.glob("*/bin"), key=lambda path: float(path.parts[-2]), reverse=True)
    folders = [*os.get_exec_path(), "/usr/sbin", *map(str, versions)]
    for name in PROGRAMS[program].names:
        yield from filter(None, (shutil.which(name, path=folder) for folder in folders))


if __name__ == "__main__":
    lacking = (PROGRAMS[program].package for program in PROGRAMS if absent(program))
    found = (os.path.realpath(path) for program in PROGRAMS for path in _paths(program))
    for line in {"missing": lacking, "found": found}[sys.argv[1]]:
        print(line)

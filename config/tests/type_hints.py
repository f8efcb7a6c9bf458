"""Whether the type hints agree with the code, by mypy. Old errors may stay, and may only become fewer.

    .venv/bin/python -m config.tests.type_hints         compare what mypy finds with type_hints.txt
    .venv/bin/python -m config.tests.type_hints write   write type_hints.txt anew, if it gets no more errors

A line of type_hints.txt is a file, a code of mypy, and how many errors of this code the file has. The file has no
folder, so that it may move, and files of one name count together.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from config.tests.suite import ROOT, environment

BASELINE = Path(__file__).with_suffix(".txt")
WRITE = "Write that down: .venv/bin/python -m config.tests.type_hints write"
ERROR = re.compile(r"(?P<path>.+?):\d+: error: .+  \[(?P<code>[a-z-]+)\]")
FOUND_SOME = 1  # exit status of mypy where it ended and found errors; a higher one says that it did not end


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 where mypy finds what the baseline says, or the baseline was written."""
    with tempfile.TemporaryDirectory(prefix="idealist-mypy-") as data:
        command = [sys.executable, "-m", "mypy", "--no-pretty", "--no-color-output", "--no-error-summary"]
        mypy = subprocess.run(
            command, cwd=ROOT, env=environment(IDEALIST_DATA=data), stdout=subprocess.PIPE, text=True, check=False
        )
    if mypy.returncode > FOUND_SOME:
        print(mypy.stdout)
        return mypy.returncode
    lines = mypy.stdout.splitlines()
    found = Counter(key for line in lines if (key := key_of(line)))
    old = read() if BASELINE.exists() else None
    if "write" in arguments:
        return write(found, old)
    return compare(lines, found, old or Counter())


def key_of(line: str) -> str:
    """The file without its folder and the code, of a line that is an error; otherwise nothing."""
    error = ERROR.fullmatch(line)
    return f"{Path(error['path']).name} {error['code']}" if error else ""


def read() -> Counter[str]:
    rows = (line.rsplit(" ", 1) for line in BASELINE.read_text().splitlines())
    return Counter({key: int(number) for key, number in rows})


def write(found: Counter[str], old: Counter[str] | None) -> int:
    if old is not None and found.total() > old.total():
        print(f"mypy finds {found.total()} errors, and type_hints.txt lets {old.total()} pass. Mend the new.")
        print("For another version or configuration of mypy alone, delete type_hints.txt first.")
        return 1
    BASELINE.write_text("".join(f"{key} {number}\n" for key, number in sorted(found.items())))
    print(f"type_hints.txt has {found.total()} errors.")
    return 0


def compare(lines: Sequence[str], found: Counter[str], old: Counter[str]) -> int:
    more, fewer = found - old, old - found
    for key, number in sorted(more.items()):
        print(f"{number} more of {key}, among:" if old[key] else f"{number} more of {key}:")
        print(*(f"  {line}" for line in lines if key_of(line) == key), sep="\n")
    if fewer and not more:
        print(f"{fewer.total()} errors fewer than in type_hints.txt. {WRITE}")
    if not more and not fewer:
        print(f"Nothing new: {old.total()} errors are old.")
    return 1 if more or fewer else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Finds secrets that other users of this machine can read. Without Django, whose settings close them."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

OTHERS = 0o077
SECRETS = ("secret.key", "db.sqlite3")


class Problem(NamedTuple):
    wrong: str
    cure: str


def open_to_others(folder: Path) -> Iterator[Problem]:
    """Yields a problem for the folder, and for each file with a secret in it, that is open to others."""
    for path in (folder, *(folder / name for name in SECRETS)):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & OTHERS:
            # Another key is no cure by itself: second factors can be read only with theirs.
            cure = f'chmod go= {path}. If others use this machine, see "Second factors" in docs/operating.md.'
            yield Problem(f"Others on this machine can open {path}.", cure)

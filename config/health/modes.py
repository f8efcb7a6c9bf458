"""Finds secrets that other users of this machine can read. Without Django, whose settings close them."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

OTHERS = 0o077
SECRETS = ("secret.key", "db.sqlite3", "look-around.key")


class Problem(NamedTuple):
    wrong: str
    cure: str


def open_to_others(folder: Path) -> Iterator[Problem]:
    """Yields a problem for the folder, and for each file with a secret in it, that is open to others."""
    for path in (folder, *(folder / name for name in SECRETS)):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & OTHERS:
            cure = f"chmod go= {path}. {after_closing(path)}".rstrip()
            yield Problem(f"Others on this machine can open {path}.", cure)


def after_closing(path: Path) -> str:
    """What else to do, since others may have read the file. Second factors can be read only with their key."""
    if path.name == "secret.key":
        return (
            f"If others use this machine, change the key and keep this one for second factors: mv {path}"
            f' {path}.former, start with SECRET_KEY_FORMER_FILE={path}.former, and see "Second factors" in'
            " docs/operating.md."
        )
    if path.name == "db.sqlite3":
        return "If others use this machine, have people set new passwords, which also ends their sessions."
    return "Start again, which makes another key." if path.name == "look-around.key" else ""

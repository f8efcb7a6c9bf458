"""The fenced blocks of the documents, and how one is run.

The first line of a block says what it is: ```LANGUAGE, ```LANGUAGE FILE.EXT for what a file holds, or
```LANGUAGE MARK for one that is only read. Files lie beside those of blocks before, so that a document is one
story. `sh` is commands that succeed. `console` is commands after `$ ` with all that they print; a line of … stands
for any lines.
"""

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.core.management import CommandError, call_command
from markdown_it import MarkdownIt

from config.help.documents import DOCS_FOLDER

README = DOCS_FOLDER.parent / "README.md"
MANAGE = ["python3", "run.py", "manage"]
# Why a block is only read. "server": it starts what serves or measures. "outside": it needs a file, a server or a
# setting from elsewhere. "map" and "formula" are drawings in letters.
MARKS = {"formula", "map", "outside", "server"}


@dataclass(frozen=True)
class Block:
    document: str
    line: int
    language: str
    about: str
    text: str

    @property
    def file(self) -> str:
        return self.about if "." in self.about else ""

    @property
    def mark(self) -> str:
        return "" if self.file else self.about

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def blocks_of(path: Path) -> Iterator[Block]:
    for token in MarkdownIt("commonmark").parse(path.read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            language, _, about = token.info.strip().partition(" ")
            yield Block(path.stem, token.map[0] + 1, language, about, token.content)


def documents() -> list[Path]:
    return [README, *sorted(DOCS_FOLDER.glob("*.md"))]


def commands(text: str) -> list[str]:
    """The lines of a shell block, those that end with a backslash joined with the next."""
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and line[0] != "#"]


def transcript(text: str) -> Iterator[tuple[str, str, str]]:
    """Each command of a `console` block as it is written and as it is run, and what it should print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        written = re.match(r"(?:.*\\\n)*.*\n", part)[0]
        yield f"$ {written}", written.replace("\\\n", " ").strip(), part[len(written) :]


def ran(command: str) -> tuple[int, str]:
    """Exit status and all output of a management command, in this process, in the current folder."""
    words = shlex.split(command, comments=True)
    said = {}
    while "=" in words[0]:
        name, _, said[name] = words.pop(0).partition("=")
    if words[:3] != MANAGE:
        raise ValueError(f"this is no management command: {command}")
    out, status = io.StringIO(), 0
    with patch.dict(os.environ, said), contextlib.redirect_stdout(out):
        try:
            call_command(*words[3:], stdout=out, stderr=out)
        except CommandError as error:
            out.write(f"{type(error).__name__}: {error}\n")
            status = error.returncode
    return status, out.getvalue().replace("\r\n", "\n")


def printed(text: str) -> str:
    """A `console` block with what its commands print now. What a … stands for stays a …"""
    found = ""
    for written, command, expected in transcript(text):
        said = "".join(f"{line.rstrip()}\n" for line in ran(command)[1].strip("\n").splitlines())
        found += written + (expected if like(expected).fullmatch(said) else said)
    return found


def like(expected: str) -> re.Pattern:
    """What fits: the same lines, anything for a line of … and any word for another …"""

    def fitting(line: str) -> str:
        return r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", r"\S*") + r"\n"

    return re.compile("".join(map(fitting, expected.splitlines())))


def fits(shape: Any, found: Any) -> bool:
    """Whether `found` has all members of `shape`, and of each the type; an empty list stands for any."""
    if isinstance(shape, dict):
        return isinstance(found, dict) and all(name in found and fits(shape[name], found[name]) for name in shape)
    if isinstance(shape, list):
        return isinstance(found, list) and (not shape or bool(found) and fits(shape[0], found[0]))
    return shape is None or isinstance(found, type(shape)) or {type(shape), type(found)} <= {int, float}

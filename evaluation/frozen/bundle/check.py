"""Check a bundle: compute its numbers again from its own files, and list those that differ."""

import hashlib
import json
import math
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...page import documents
from ...results import comparison, csv_and_json
from ...scores import Evaluation
from ..content import (
    SETTINGS,
    Broken,
    File,
    Lines,
    Settings,
    hash_of,
)
from ..stored import computed
from .archive import ABOUT, NUMBERS, PAIRS, SUMS
from .comparisons import comparisons

PIECE = 1 << 20
ROUNDING = 1e-12  # relative: processors differ in the last digits


@dataclass(frozen=True)
class Checked:
    """The result of a check."""

    name: str
    hash: str
    systems: int
    measures: int
    queries: int
    numbers: int  # values compared
    different: list[str]  # a line with both values for each that differs
    largest: float  # largest relative difference; inf where a number is missing or a text differs

    @property
    def is_equal(self) -> bool:
        """Whether all differences are rounding errors."""
        return self.largest <= ROUNDING


def check(path: str | Path) -> Checked:
    """The result of checking the bundle at `path`. Raises OSError, and Broken for no bundle or a changed one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _checked(archive)
    except (zipfile.BadZipFile, zlib.error, KeyError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Broken(f"{path} is no whole bundle: {error}.") from error


def _checked(archive: zipfile.ZipFile) -> Checked:
    sums = _sums(archive)
    asked = Settings.parse(archive.read(SETTINGS).decode())
    facts, document = json.loads(archive.read(ABOUT)), json.loads(archive.read(NUMBERS))
    files = [File(name, 0, 0, sums[name]) for name in asked.names]
    if hash_of(files) != facts["hash"]:
        raise Broken(f"the content has the hash {hash_of(files)}, and {ABOUT} says {facts['hash']}.")
    evaluation = computed(facts["collection"], asked, _lines(archive), facts["profile"])
    again = csv_and_json.document(evaluation, per_query=True)
    compared = [*_leaves(document, again), *_leaves_of_tests(archive, evaluation)]
    different = [(where, old, new) for where, old, new in compared if old != new]
    return Checked(
        name=facts["name"],
        hash=facts["hash"],
        systems=len(asked.systems),
        measures=len(asked.measures),
        queries=max((len(row["per_query"]) for row in again["results"]), default=0),
        numbers=len(compared),
        different=[f"{where}: {old!r} in the bundle, {new!r} computed" for where, old, new in different],
        largest=max((_relative_difference(old, new) for _, old, new in different), default=0.0),
    )


def _sums(archive: zipfile.ZipFile) -> dict[str, str]:
    """The SHA-256 of each file, by name. Raises Broken where a file does not have it."""
    sums = dict(line.split("  ", 1)[::-1] for line in archive.read(SUMS).decode().splitlines())
    names = set(archive.namelist()) - {SUMS}
    if names != sums.keys():
        raise Broken(f"{SUMS} and the files differ: {', '.join(sorted(names ^ sums.keys())[:5])}.")
    for name, expected in sums.items():
        digest = hashlib.sha256()
        with archive.open(name) as file:
            while piece := file.read(PIECE):
                digest.update(piece)
        if digest.hexdigest() != expected:
            raise Broken(f"{name} was changed: its SHA-256 is not that of {SUMS}.")
    return sums


def _lines(archive: zipfile.ZipFile) -> Lines:
    def lines(name: str) -> Iterator[bytes]:
        with archive.open(name) as file:
            yield from file

    return lines


def _leaves_of_tests(archive: zipfile.ZipFile, evaluation: Evaluation) -> Iterator[tuple[str, object, object]]:
    """`_leaves` of the tests in the bundle and the same tests again, with the same draws and seed."""
    if PAIRS not in archive.namelist():
        return
    old = json.loads(archive.read(PAIRS))
    tests = comparisons(evaluation, old["draws"], old["seed"])
    new = json.loads(documents.as_text(comparison.document([tests]))) if tests else None
    yield from _leaves(old, new, PAIRS)


def _leaves(old, new, where: str = "") -> Iterator[tuple[str, object, object]]:
    """(place, old value, new value) of every leaf of two JSON documents."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from _leaves(old.get(name), new.get(name), f"{where} {name}".strip())
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _leaves(before, after, f"{where} {_name(before, place)}".strip())
    else:
        yield where, old, new


def _name(row, place: int) -> str:
    """The name of an element of a list: systems and measure of a result, else the index."""
    if isinstance(row, dict) and {"system", "measure"} <= row.keys():
        return " ".join(row[name] for name in ("baseline", "system", "measure") if name in row)
    return str(place)


def _relative_difference(old, new) -> float:
    """The difference relative to the old value, or to 1 where that is smaller; inf unless both are numbers."""
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new))
    return abs(old - new) / max(1.0, math.fabs(old)) if are_numbers else math.inf

"""Check a bundle: compute its numbers again from its own files, and list those that differ."""

import hashlib
import json
import math
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ...page import documents
from ...results import comparison, csv_and_json
from ...scores import Evaluation
from ..content import SETTINGS, Broken, File, Lines, Settings, hash_of
from ..stored import computed
from .archive import ABOUT_FILE, NUMBERS_FILE, PAIRS_FILE, SUMS_FILE
from .comparisons import comparisons

ROUNDING = 1e-12  # relative: processors differ in the last digits
# A bundle that somebody made by hand can hold anything.
READING_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class Checked:
    """The result of a check."""

    name: str
    hash: str
    systems: int
    measures: int
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
    except Broken:
        raise
    except READING_ERRORS as error:
        raise Broken(f"{path} is no whole bundle: {error}.") from error


def _checked(archive: zipfile.ZipFile) -> Checked:
    """The numbers of the bundle compared with those that are computed from its own files.

    Raises Broken where files were changed, or are not those that the bundle's hash stands for.
    """
    sums = _checked_sums(archive)
    settings = Settings.parse(archive.read(SETTINGS).decode())
    about, old_document = json.loads(archive.read(ABOUT_FILE)), json.loads(archive.read(NUMBERS_FILE))
    # The hash of the whole is made of names and SHA-256 sums alone, so lines and bytes do not matter.
    files = [File(name, lines=0, bytes=0, sha256=sums[name]) for name in settings.names]
    if hash_of(files) != about["hash"]:
        raise Broken(f"the content has the hash {hash_of(files)}, and {ABOUT_FILE} says {about['hash']}.")
    evaluation = computed(about["collection"], settings, _lines(archive), about["profile"])
    new_document = csv_and_json.document(evaluation, per_query=True)
    # (place, value in the bundle, value computed) of each number and text of both documents.
    leaves = [*_leaves(old_document, new_document), *_leaves_of_tests(archive, evaluation)]
    different = [(where, old, new) for where, old, new in leaves if old != new]
    return Checked(
        name=about["name"],
        hash=about["hash"],
        systems=len(settings.systems),
        measures=len(settings.measures),
        numbers=len(leaves),
        different=[f"{where}: {old!r} in the bundle, {new!r} computed" for where, old, new in different],
        largest=max((_relative_difference(old, new) for _, old, new in different), default=0.0),
    )


def _checked_sums(archive: zipfile.ZipFile) -> dict[str, str]:
    """The SHA-256 of each file by name, as SHA256SUMS lists it. Raises Broken where a file does not have it."""
    lines = archive.read(SUMS_FILE).decode().splitlines()
    sums = {name: sha256 for sha256, name in (line.split("  ", 1) for line in lines)}
    names = set(archive.namelist()) - {SUMS_FILE}  # the list cannot have its own sum
    if names != sums.keys():
        raise Broken(f"{SUMS_FILE} and the files differ: {', '.join(sorted(names ^ sums.keys())[:5])}.")
    for name, expected in sums.items():
        with archive.open(name) as file:
            digest = hashlib.file_digest(cast(zipfile.ZipExtFile, file), "sha256")
        if digest.hexdigest() != expected:
            raise Broken(f"{name} was changed: its SHA-256 is not that of {SUMS_FILE}.")
    return sums


def _lines(archive: zipfile.ZipFile) -> Lines:
    def lines(name: str) -> Iterator[bytes]:
        with archive.open(name) as file:
            yield from file

    return lines


def _leaves_of_tests(archive: zipfile.ZipFile, evaluation: Evaluation) -> Iterator[tuple[str, object, object]]:
    """`_leaves` of the tests in the bundle and the same tests again, with the same draws and seed."""
    if PAIRS_FILE not in archive.namelist():
        return
    old = json.loads(archive.read(PAIRS_FILE))
    tests = comparisons(evaluation, old["draws"], old["seed"])
    new = json.loads(documents.as_text(comparison.document([tests]))) if tests else None
    yield from _leaves(old, new, PAIRS_FILE)


def _leaves(old, new, where: str = "") -> Iterator[tuple[str, object, object]]:
    """(place, old value, new value) of every leaf of two JSON documents: each number, text and None in them.

    Two lists of different lengths count as one leaf, as do an object and a value that is no object. A name that
    one of the documents lacks has None in it. where: the place of `old` and `new`, as names from the root.
    """
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

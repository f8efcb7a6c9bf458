"""Check an archive: its lines are copied into a temporary database, the stage, and checked there.

Each member becomes a table with its fields and with the number and the size in bytes of each line. References
between lines are checked by SQL, for all lines at once.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..formats.refusal import Refusal
from ..intake.report import KEPT, Report
from ..intake.stage import Progress
from ..pictures.decoding import Unusable, checked
from .members import BY_NAME, EVERY, picture_file
from .reading import Archive
from .shape import NUMBER, Member, Reference

AT_ONCE = 2_000  # lines
LARGE = 1 << 20  # bytes, after which a piece ends


def columns(member: Member) -> list[str]:
    """The columns of a member's table, besides the number and size of the line."""
    return [name for name in member.fields if name != NUMBER]


def table(member: Member) -> str:
    names = ", ".join(f'"{name}"' for name in columns(member))
    return f'"{member.name}" ({NUMBER} INTEGER PRIMARY KEY, size INTEGER, {names})'


TABLES = [table(member) for member in EVERY]


def check(archive: Archive, stage: sqlite3.Connection, report: Report, progress: Progress) -> None:
    """Write all lines into the stage. Stops after the first member with a refusal."""
    for member in archive.members:
        _stage(archive, member, stage, report, progress)
        problems = [*_repeats(member, stage), *_broken_references(member, stage)] if not report.refused else []
        for number, problem in problems:
            report.refuse(archive.refused(member, number, problem))
        if report.refused:
            return
        report.counts[member.name] = archive.lines[member.file]
    for number, problem in _pictures(archive, stage):
        report.refuse(archive.refused(BY_NAME["pictures"], number, problem))
    # An export writes only imports that have events. One without events would be lost in the next archive.
    for (number,) in stage.execute(f"SELECT {NUMBER} FROM imports EXCEPT SELECT import FROM events LIMIT {KEPT}"):
        report.refuse(archive.refused(BY_NAME["imports"], number, "no event belongs to this import"))


def _pictures(archive: Archive, stage: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """The number and problem of each line whose files are missing or were not made by Idealist."""
    named = set()
    for number, *digests in stage.execute(
        f"SELECT {NUMBER}, small, large FROM pictures WHERE state = 'ready' ORDER BY {NUMBER}"
    ):
        for digest in digests:
            if digest not in archive.pictures:
                yield number, f"the archive has no {picture_file(digest)}"
            elif digest not in named and (problem := _picture_problem(archive.picture(digest))):
                yield number, f"{picture_file(digest)}: {problem}"
            named.add(digest)
    for digest in sorted(archive.pictures - named):
        yield 0, f"no line names {picture_file(digest)}"


def _picture_problem(content: bytes) -> str:
    try:
        checked(content)
    except Unusable as error:
        return str(error)
    return ""


def pieces(rows: Iterable[tuple]) -> Iterator[list[tuple]]:
    """The rows in pieces of limited size. The first value of a row is its size in bytes."""
    piece, size = [], 0
    for row in rows:
        piece.append(row)
        size += row[0]
        if len(piece) == AT_ONCE or size > LARGE:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _stage(
    archive: Archive, member: Member, stage: sqlite3.Connection, report: Report, progress: Progress
) -> None:
    seen, expected = 0, 1 if member.name == "collection" else archive.lines[member.file]

    def rows() -> Iterator[tuple]:
        nonlocal seen
        for item in archive.rows(member):
            seen += 1
            if isinstance(item, Refusal):
                report.refuse(item)
                continue
            number, size, values = item
            if NUMBER in member.fields and (written := values.pop(0)) != number:
                report.refuse(
                    archive.refused(member, number, f"the number is {written:,}, unlike that of the line")
                )
            yield size, number, *values

    names = ", ".join(f'"{name}"' for name in columns(member))
    marks = ", ".join("?" * len(columns(member)))
    for piece in pieces(rows()):
        if member.name == "rankings":
            piece = list(_with_line_numbers(archive, member, stage, piece, report))
        stage.executemany(f'INSERT INTO "{member.name}" (size, {NUMBER}, {names}) VALUES (?, ?, {marks})', piece)
        progress(f"checking {member.name}", min(1.0, seen / max(expected, 1)), seen)
    if seen != expected:
        report.refuse(archive.refused(member, 0, f"it has {seen:,} lines, and must have {expected:,}"))


def _with_line_numbers(
    archive: Archive, member: Member, stage: sqlite3.Connection, piece: list[tuple], report: Report
) -> Iterator[tuple]:
    """The rankings, with the line numbers of documents in place of their keys."""
    keys = [key for *_, documents, _ in piece for key in documents]
    lines = stage.execute(
        f"SELECT d.{NUMBER} FROM json_each(?) AS k LEFT JOIN documents AS d ON d.key = k.value ORDER BY k.key",
        [json.dumps(keys)],
    )
    numbers = [number for (number,) in lines]
    end = 0
    for size, number, system, query, documents, scores in piece:
        begin, end = end, end + len(documents)
        own = numbers[begin:end]
        if None in own:
            problem = f"the file documents.jsonl has no {documents[own.index(None)]}"
            report.refuse(archive.refused(member, number, problem))
        else:
            yield size, number, system, query, np.array(own, "<u4").tobytes(), scores


def _repeats(member: Member, stage: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """The number and problem of each line that repeats a key of an earlier one. Makes the indexes of the keys."""
    for place, fields in enumerate(member.unique):
        if fields == (NUMBER,):
            continue
        names = ", ".join(f'"{name}"' for name in fields)
        try:
            stage.execute(f'CREATE UNIQUE INDEX "{member.name} by {place}" ON "{member.name}" ({names})')
        except sqlite3.IntegrityError:
            yield from _repeated(member, fields, names, stage)
            return


def _repeated(
    member: Member, fields: tuple[str, ...], names: str, stage: sqlite3.Connection
) -> Iterator[tuple[int, str]]:
    known = " AND ".join(f'"{name}" IS NOT NULL' for name in fields)
    repeats = stage.execute(
        f"SELECT * FROM (SELECT {NUMBER} AS line, MIN({NUMBER}) OVER (PARTITION BY {names}) AS first, {names}"
        f' FROM "{member.name}" WHERE {known}) WHERE line > first ORDER BY line LIMIT {KEPT}'
    )
    for line, first, *key in repeats:
        yield line, f"the entry {_key_text(member, fields, key)} already appears on line {first:,}"


def _broken_references(member: Member, stage: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """The number and problem of each line that refers to a missing line."""
    for reference in member.refers.values():
        target, fields = reference
        names = ", ".join(f'm."{name}"' for name in fields)
        known = " AND ".join(f'm."{name}" IS NOT NULL' for name in fields)
        lines = stage.execute(
            f'SELECT m.{NUMBER}, {names} FROM "{member.name}" AS m {joined(member, "t", reference)}'
            f" WHERE t.{NUMBER} IS NULL AND {known} ORDER BY m.{NUMBER} LIMIT {KEPT}"
        )
        lacks = f"the file {target}.jsonl has no"
        missing = [(number, f"{lacks} {_key_text(member, fields, key)}") for number, *key in lines]
        if missing:
            yield from missing
            return


def joined(member: Member, name: str, reference: Reference) -> str:
    """The JOIN of a member's lines, `m`, with the lines that they refer to."""
    target, fields = reference
    on = [
        f'{name}."{theirs}" = m."{ours}"' for theirs, ours in zip(BY_NAME[target].unique[0], fields, strict=True)
    ]
    if target == member.name:
        on.append(f"{name}.{NUMBER} < m.{NUMBER}")
    return f'LEFT JOIN "{target}" AS {name} ON {" AND ".join(on)}'


def _key_text(member: Member, fields: tuple[str, ...], key: list[Any]) -> str:
    """The key as the file has it."""
    written = (member.fields[name].written(value) for name, value in zip(fields, key, strict=True))
    return " and ".join(value.strip('"') for value in written)

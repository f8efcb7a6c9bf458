"""Make a collection of an archive: all of it is checked first, and then written in one transaction."""

import io
import json
import os
import sqlite3
import tempfile
import zipfile
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone

from ..database.bulk import among, insert, new_ids
from ..database.statistics import renew_statistics
from ..formats import strict_json
from ..formats.budget import CURE, TooMuch
from ..formats.refusal import Refusal, Refused
from ..importing.intake.opening import budget
from ..importing.intake.publishing import Superseded, note_import
from ..importing.intake.report import KEPT, Report
from ..importing.intake.stage import Progress, batched, silent, staged
from ..importing.pictures import store
from ..importing.pictures.decoding import MOST_BYTES, Unusable, checked
from ..models import (
    UNDRAWN,
    Assignment,
    Collection,
    Document,
    Drawn,
    Job,
    Membership,
    Pair,
    Picture,
    Ranking,
    Rating,
    Role,
    Round,
)
from ..words import counted
from . import archive as writing
from . import package, rules
from .archive import FORMAT, VERSION, picture_file, snapshot_of
from .package import COPY_AGAIN, Unreadable
from .tables import TABLES, Table, in_archive
from .values import as_json, plain, stored

AT_ONCE = 500  # lines
LONGEST = 1 << 26  # bytes of a line
NOT_OURS = "Check that this is the file you meant; export_collection makes such archives."
BY_HAND = "Do not edit an archive by hand: export it again."
# The models to whose rows lines refer.
NAMED = {column.related_model for table in TABLES.values() if table.archive for column in table.relations}
NAMED.add(Document)
OF_A_PAIR = "query", "document"  # its columns
KEYS = "keys (tab, key, line, PRIMARY KEY (tab, key)) WITHOUT ROWID"  # the lines of each table by natural key


@dataclass
class Archive:
    """An archive whose hashes were checked."""

    name: str
    snapshot: str
    zip: zipfile.ZipFile
    counts: dict[str, int]  # lines by member
    tables: list[Table]
    pictures: frozenset[str]  # SHA-256 of each

    def refusal(self, member: str, line: int, problem: str, cure: str = BY_HAND) -> Refusal:
        return Refusal(f"{self.name}, {member}" if member else self.name, line, problem, (cure,))

    def records(self, table: Table) -> Iterator[tuple[int, dict | Refusal]]:
        """The number of each line and its values, in the form of the database, or its refusal."""
        with self.zip.open(table.member) as packed, io.BufferedReader(packed, 1 << 20) as file:
            number = 0
            while line := file.readline(LONGEST):
                number += 1
                try:
                    yield number, _record(table, line)
                except ValueError as error:
                    yield number, self.refusal(table.member, number, str(error))
                    if not line.endswith(b"\n"):
                        return


def _record(table: Table, line: bytes) -> dict[str, Any]:
    """The values of a line. Those that refer to rows stay as they are. Raises ValueError."""
    if not line.endswith(b"\n"):
        too_long = f"the line is longer than {LONGEST >> 20} MB"
        raise ValueError(too_long if len(line) == LONGEST else "the line is cut off")
    # One level more than in an import, where the fields of a document are the line itself.
    found = strict_json.loaded(line.decode(), deepest=strict_json.DEEPEST + 1)
    if odd := sorted(found.keys() ^ set(table.archive)):
        raise ValueError(f"it must have exactly {', '.join(table.archive)}, and {odd[0]!r} is wrong")
    rules.check(table.model, found)
    for name in table.archive:
        column = table.model._meta.get_field(name)
        if not column.is_relation and not (table.model is Ranking and name in ("documents", "scores")):
            try:
                found[name] = stored(column, found[name])
            except ValueError as error:
                raise ValueError(f"the field {name}: {error}") from error
    return found


@contextmanager
def opened(path: str | Path) -> Iterator[Archive]:
    """The archive, after its hashes were checked. Raises OSError and Unreadable."""
    with open(path, "rb") as file, unpacked(file, str(path)) as found:
        yield found


@contextmanager
def unpacked(file: BinaryIO, name: str, *, ours: bool = False) -> Iterator[Archive]:
    """The archive in an open file, like `opened`. `ours`: the server made it, so no budget limits it."""
    zip, manifest = package.opened(file, name, FORMAT, VERSION, NOT_OURS)
    with zip:
        members = manifest["members"]
        kinds = (
            in_archive(judges=judges, samples=samples) for judges in (False, True) for samples in (False, True)
        )
        wanted = next((tables for tables in kinds if [each.member for each in tables] == list(members)), None)
        if wanted is None:
            raise Unreadable(name, 0, "its manifest names other files than an archive has", NOT_OURS)
        pictures = frozenset(Path(each).stem for each in zip.namelist() if rules.PICTURE.fullmatch(each))
        known = {*members, package.MANIFEST, *map(picture_file, pictures)}
        if odd := [each for each in zip.namelist() if each not in known]:
            raise Unreadable(name, 0, f"it has the file {odd[0]!r}, which no archive has", NOT_OURS)
        if not ours:
            _refuse_too_much(name, zip, os.fstat(file.fileno()).st_size)
        package.check(zip, name, members)
        if snapshot_of({member: sha256 for member, (_, sha256) in members.items()}) != manifest.get("snapshot"):
            raise Unreadable(f"{name}, {package.MANIFEST}", 0, "the snapshot id is of other files", COPY_AGAIN)
        for each in pictures:
            member = picture_file(each)
            if zip.getinfo(member).file_size > MOST_BYTES or package.digest(zip, name, member) != each:
                raise Unreadable(f"{name}, {member}", 0, "its name is not the SHA-256 of its content", COPY_AGAIN)
        counts = {member: lines for member, (lines, _) in members.items()}
        yield Archive(name, manifest["snapshot"], zip, counts, wanted, pictures)


def _refuse_too_much(name: str, zip: zipfile.ZipFile, size: int) -> None:
    allowed = budget()
    allowed.receive(size)
    try:
        allowed.foresee(sum(entry.file_size for entry in zip.infolist()))
    except TooMuch as error:
        raise Unreadable(name, 0, str(error), CURE) from error


def copy(source: Collection, slug: str, name: str, *, maker: User | None, progress: Progress, job: Job) -> Report:
    """The report of copying a collection without what people did in it; `maker` is the admin of the copy.

    Raises ValueError for a slug that is taken or invalid.
    """
    with tempfile.TemporaryFile() as file:
        progress(f"reading {source}", None, 0)
        writing.write(source, file, copied=True)
        with unpacked(file, source.name, ours=True) as found:
            return restore(found, slug, name=name, maker=maker, progress=progress, job=job)


def restore(
    archive: Archive,
    slug: str,
    *,
    name: str = "",
    maker: User | None = None,
    progress: Progress = silent,
    job: Job | None = None,
) -> Report:
    """The report of making a collection `slug` from the archive. If it has a refusal, nothing was written.

    With another `name` the collection counts as new, made now. `maker` becomes its admin. Raises ValueError for a
    slug that is taken or invalid, and Superseded if the job was cancelled.
    """
    if problem := wrong_slug(slug):
        raise ValueError(problem)
    report = Report()
    with staged(KEYS) as keys:
        restoring = Restoring(archive, keys, report)
        restoring.check(progress)
        if report.refused:
            return report
        _tell(archive, slug, report)
        try:
            with transaction.atomic():
                _write(restoring, slug, name, maker, job, progress)
        except Refused as refused:
            report.clear()
            report.refuse(*refused.refusals)
            return report
    renew_statistics(sum(archive.counts.values()), *(table.model for table in archive.tables))
    return report


def wrong_slug(slug: str) -> str:
    """The problem with a slug and the cure, without a full stop at the end; "" for a valid slug."""
    if Collection.objects.filter(slug=slug).exists():
        return f"There is a collection {slug!r} already. Choose another name"
    try:
        Collection._meta.get_field("slug").clean(slug, None)
    except ValidationError:
        return f"The name {slug!r} cannot be part of an address. Give one of at most 80 letters, digits, - and _"
    return ""


def _write(
    restoring: "Restoring",
    slug: str,
    name: str,
    maker: User | None,
    job: Job | None,
    progress: Progress,
) -> None:
    archive, report = restoring.archive, restoring.report
    now = timezone.now()
    if name:
        restoring.made |= {"name": name, "created_at": str(now.replace(tzinfo=None))}
    for digest in sorted(archive.pictures):
        store.keep(archive.zip.read(picture_file(digest)))  # a file that no row names is removed later
    try:
        with transaction.atomic():
            collection = restoring.make_collection(slug)
    except IntegrityError as error:
        problem = f"somebody made a collection {slug!r} meanwhile"
        raise Refused([archive.refusal("", 0, problem, "Choose another name.")]) from error
    for table in archive.tables[1:]:
        restoring.write(table, progress)
    if maker:
        Membership.objects.create(collection=collection, user=maker, role=Role.ADMIN)
    over = {"state": Job.State.PUBLISHED, "ended_at": now, "collection": collection}
    if job is None:
        files = [{"name": Path(archive.name).name}]
        job = Job.objects.create(kind=Job.Kind.ARCHIVE, files=files, started_at=now, **over)
    elif not job.mine().update(**over):
        raise Superseded
    job.collection, report.job = collection, job.pk
    if restoring.renewed:
        rows = counted(restoring.renewed, "pair or check has", "pairs and checks have")
        report.warnings.append(f"{rows} an address that is in use here, and got a new one: this is a copy.")
    Job.objects.filter(pk=job.pk).update(report=report.as_json())
    note_import(job, report)


def _tell(archive: Archive, slug: str, report: Report) -> None:
    n = {table.model._meta.model_name: archive.counts[table.member] for table in archive.tables}
    report.counts["new"] = 1
    content = [counted(n["query"], "query", "queries"), counted(n["document"], "document")]
    content += [counted(n["system"], "system"), counted(n["rater"], "rater"), counted(n["rating"], "rating")]
    if n.get("judge"):
        content += [counted(n["judge"], "judge"), counted(n["machinegrade"], "pair asked", "pairs asked")]
    report.facts += [f"Collection {slug} made, with {', '.join(content)}.", f"Snapshot {archive.snapshot}."]


@dataclass
class Restoring:
    """One archive on its way into the database. `keys` finds the line of a natural key."""

    archive: Archive
    keys: sqlite3.Connection
    report: Report
    made: dict[str, Any] = field(default_factory=dict)  # the values of the collection
    ids: dict[type[Model], array] = field(default_factory=dict)  # the id of each line, after that of line 0
    pairs: dict[str, array] = field(default_factory=lambda: {name: array("q", [0]) for name in OF_A_PAIR})
    numbers: dict[int, int] = field(default_factory=dict)  # id of a round -> its number
    rounds: dict[int, int] = field(default_factory=dict)  # id of a pair -> number of its round
    collection: int = 0
    renewed: int = 0  # tokens that were in use

    # Check

    def check(self, progress: Progress) -> None:
        """Refuse wrong lines, lines that repeat a key, and lines that refer to none. Stops after a wrong file."""
        for table in self.archive.tables:
            seen, expected = 0, self.archive.counts[table.member]
            for batch in batched(self.archive.records(table), AT_ONCE):
                seen += len(batch)
                good = [(number, found) for number, found in batch if not isinstance(found, Refusal)]
                for _, found in batch:
                    if isinstance(found, Refusal):
                        self.report.refuse(found)
                self._know(table, good)
                for number, problem in self._resolve(table, good):
                    self.report.refuse(self.archive.refusal(table.member, number, problem))
                progress(f"checking {table.member}", min(1.0, seen / max(expected, 1)), seen)
                if self.report.refused >= KEPT:
                    return
            if table.model is Collection:
                expected = 1
                self.made = dict(good[0][1]) if seen and good else {}
            if seen != expected:
                problem = f"it has {seen:,} lines, and must have {expected:,}"
                self.report.refuse(self.archive.refusal(table.member, 0, problem))
            if self.report.refused:
                return
        for number, problem in self._pictures():
            self.report.refuse(self.archive.refusal(TABLES[Picture].member, number, problem))

    def _know(self, table: Table, good: Sequence[tuple[int, dict]]) -> None:
        """Remember the lines to which others refer by their natural keys."""
        if not table.key or table.model not in NAMED:
            return
        for number, found in good:
            key = as_json(_own_key(table, found))
            known = self.keys.execute("INSERT OR IGNORE INTO keys VALUES (?, ?, ?)", [table.name, key, number])
            if not known.rowcount:
                problem = f"{key} already appears on line {self._lines(table, {key})[key]:,}"
                self.report.refuse(self.archive.refusal(table.member, number, problem))

    def _resolve(self, table: Table, good: Sequence[tuple[int, dict]]) -> Iterator[tuple[int, str]]:
        """Put the numbers of lines in place of the keys of rows. Yields number and problem of each wrong line."""
        for name in table.archive:
            column = table.model._meta.get_field(name)
            if table.model is Ranking and name == "documents":
                yield from self._resolve_documents(good)
            elif column.is_relation:
                yield from self._resolve_column(table, name, TABLES[column.related_model], good)

    def _resolve_column(
        self, table: Table, name: str, target: Table, good: Sequence[tuple[int, dict]]
    ) -> Iterator[tuple[int, str]]:
        """Put the number of a line of `target` in place of each reference. Yields the lines that refer to none."""
        may_lack = table.model._meta.get_field(name).null
        last = self.archive.counts[target.member]
        if target.key:
            lines = self._lines(target, {as_json(found[name]) for _, found in good})
        for number, found in good:
            key = found[name]
            if key is None and may_lack:
                continue
            if target.key:
                found[name] = lines.get(as_json(key))
            elif type(key) is not int or not 1 <= key <= (number - 1 if target is table else last):
                found[name] = None
            if found[name] is None:
                yield number, f"{target.member} has no line {as_json(key):.200}"

    def _resolve_documents(self, good: Sequence[tuple[int, dict]]) -> Iterator[tuple[int, str]]:
        documents = TABLES[Document]
        lines = self._lines(documents, {as_json(key) for _, found in good for key in found["documents"]})
        for number, found in good:
            own = [lines.get(as_json(key)) for key in found["documents"]]
            if None in own:
                yield number, f"{documents.member} has no line {found['documents'][own.index(None)]!r:.200}"
            found["documents"] = own

    def _lines(self, table: Table, keys: set[str]) -> dict[str, int]:
        rows = self.keys.execute(
            "SELECT key, line FROM keys WHERE tab = ? AND key IN (SELECT value FROM json_each(?))",
            [table.name, json.dumps(sorted(keys))],
        )
        return dict(rows.fetchall())

    def _pictures(self) -> Iterator[tuple[int, str]]:
        """The number and problem of each line whose files are missing or were not made by Idealist."""
        named = set()
        for number, found in self.archive.records(TABLES[Picture]):
            for digest in filter(None, (found["small"], found["large"])):
                if digest not in self.archive.pictures:
                    yield number, f"the archive has no {picture_file(digest)}"
                elif digest not in named:
                    try:
                        checked(self.archive.zip.read(picture_file(digest)))
                    except Unusable as error:
                        yield number, f"{picture_file(digest)}: {error}"
                named.add(digest)
        for digest in sorted(self.archive.pictures - named):
            yield 0, f"no line names {picture_file(digest)}"

    # Write

    def make_collection(self, slug: str) -> Collection:
        (self.collection,) = new_ids(Collection, 1)
        names = [each.attname for each in Collection._meta.concrete_fields]
        values = _defaults(Collection) | self.made | {"id": self.collection, "slug": slug}
        insert(Collection, names, [[values[name] for name in names]])
        return Collection.objects.get(pk=self.collection)

    def write(self, table: Table, progress: Progress) -> None:
        """Write the rows of a table. Raises Refused for a line that breaks a rule of the database."""
        self.ids[table.model] = array("q", [0])
        defaults = _defaults(table.model)
        for batch in batched(self.archive.records(table), AT_ONCE):
            for _ in self._resolve(table, batch):
                raise AssertionError("it was checked before")
            ids = new_ids(table.model, len(batch))
            self.ids[table.model].extend(ids)  # already now: an undo may refer to a line of the same batch
            rows = [
                defaults | {"id": pk} | self._row(table, found) for pk, (_, found) in zip(ids, batch, strict=True)
            ]
            self._renew_tokens(table.model, rows)
            self._insert(table, rows, batch[0][0])
            self._remember(table.model, rows)
            done = len(self.ids[table.model]) - 1
            progress(f"writing {table.member}", done / max(self.archive.counts[table.member], 1), done)

    def _row(self, table: Table, found: dict[str, Any]) -> dict[str, Any]:
        """The row of a line, by column.

        A line names rows of other tables by the number of their line, for which `ids` has the new id.
        """
        row = {}
        for name, value in found.items():
            column = table.model._meta.get_field(name)
            related = self.ids.get(column.related_model) if column.is_relation else None
            row[column.attname] = value if related is None or value is None else related[value]
        if any(each.name == "collection" for each in table.model._meta.concrete_fields):
            row["collection_id"] = self.collection
        if table.model is Ranking:
            ids = np.frombuffer(self.ids[Document], np.int64)[np.array(found["documents"], np.int64)]
            row["documents"] = ids.astype("<u4").tobytes()
            row["scores"] = None if found["scores"] is None else np.array(found["scores"], "<f8").tobytes()
        elif table.model is Rating:
            row["query_id"] = self.pairs["query"][found["pair"]]
            row["document_id"] = self.pairs["document"][found["pair"]]
        elif table.model is Assignment:
            row["query_id"] = self.pairs["query"][found["pair"]]
            row["round"] = self.rounds.get(row["pair_id"], UNDRAWN)
        elif table.model is Job:
            row["kind"] = Job.Kind.RATINGS.value  # of the imports an archive has those of ratings alone
        return row

    def _renew_tokens(self, model: type[Model], rows: list[dict]) -> None:
        """Give a new token to each row whose token is in use already: tokens are unique."""
        if "token" not in rows[0]:
            return
        existing = model._default_manager.filter(token__in=among([row["token"] for row in rows], "uuid"))
        taken = {token.hex for token in existing.values_list("token", flat=True)}
        for row in rows:
            if row["token"] in taken:
                row["token"] = uuid4().hex
        self.renewed += len(taken)

    def _insert(self, table: Table, rows: list[dict], first: int) -> None:
        """Insert the rows of the lines from number `first` on; where that fails, one by one, to name the line."""
        names = list(rows[0])
        lists = [[row[name] for name in names] for row in rows]
        try:
            with transaction.atomic():
                insert(table.model, names, lists)
        except IntegrityError:
            for number, values in enumerate(lists, first):
                try:
                    with transaction.atomic():
                        insert(table.model, names, [values])
                except IntegrityError as error:
                    problem = f"it breaks a rule of the database ({' '.join(str(error).split()):.200})"
                    raise Refused([self.archive.refusal(table.member, number, problem)]) from error
            raise

    def _remember(self, model: type[Model], rows: list[dict]) -> None:
        if model is Pair:
            for name in OF_A_PAIR:
                self.pairs[name].extend(row[f"{name}_id"] for row in rows)
        elif model is Round:
            self.numbers |= {row["id"]: row["number"] for row in rows}
        elif model is Drawn:
            self.rounds |= {row["pair_id"]: self.numbers[row["round_id"]] for row in rows}


def _own_key(table: Table, found: dict[str, Any]) -> Any:
    """The natural key of a line, in the form in which other lines refer to it."""
    parts = []
    for name in table.key:
        value = plain(found[name])
        parts += value if isinstance(value, list) else [value]
    return parts[0] if len(parts) == 1 else parts


def _defaults(model: type[Model]) -> dict[str, Any]:
    """The default of each column, in the form of the database."""
    found = {}
    for column in model._meta.concrete_fields:
        default = column.get_default()
        found[column.attname] = json.dumps(default) if isinstance(default, dict | list) else default
    return found

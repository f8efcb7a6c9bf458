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
from ..importing.intake.report import REFUSALS_KEPT, Report
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
    Judge,
    Membership,
    Pair,
    Picture,
    Ranking,
    Rating,
    Role,
    Round,
    Sample,
)
from ..models.fields import PackedArrayField
from ..words import counted
from . import archive as writing
from . import package, rules
from .archive import FORMAT, VERSION, picture_file, snapshot_of
from .package import COPY_AGAIN, Unreadable
from .tables import TABLES, Table, in_archive
from .values import as_json, plain, stored

LINES_AT_ONCE = 500
LONGEST_LINE = 1 << 26  # bytes of a line
NOT_OURS_CURE = "Check that this is the file you meant; export_collection makes such archives."
EXPORT_AGAIN = "Export it again, by this version of Idealist, and do not edit it by hand."
COLUMNS = [table.model._meta.get_field(name) for table in TABLES.values() for name in table.archive]
# The models to whose rows lines refer. Rankings refer to documents, too.
NAMED_MODELS = {Document, *(column.related_model for column in COLUMNS if column.is_relation)}
PAIR_FIELDS = "query", "document"
KEYS_TABLE = "keys (tab, key, line, PRIMARY KEY (tab, key)) WITHOUT ROWID"  # the line of each natural key


@dataclass
class Archive:
    """An archive whose hashes were checked."""

    name: str
    snapshot: str
    zip: zipfile.ZipFile
    counts: dict[str, int]  # lines by member
    tables: list[Table]
    pictures: frozenset[str]  # SHA-256 of each

    def refusal(self, member: str, line: int, problem: str, cure: str = EXPORT_AGAIN) -> Refusal:
        """The refusal of a line of a member; line 0: of the whole member."""
        return Refusal(f"{self.name}, {member}", line, problem, (cure,))

    def records(self, table: Table) -> Iterator[tuple[int, dict | Refusal]]:
        """The number of each line, and its values as the database stores them, or its refusal."""
        with self.zip.open(table.member) as packed, io.BufferedReader(packed, 1 << 20) as file:
            number = 0
            while line := file.readline(LONGEST_LINE):
                number += 1
                try:
                    yield number, _record(table, line)
                except ValueError as error:
                    yield number, self.refusal(table.member, number, str(error))
                    if not line.endswith(b"\n"):
                        return  # cut off or too long: what comes next would be the rest of it


def _record(table: Table, line: bytes) -> dict[str, Any]:
    """The values of a line as the database stores them, but references to rows as they are. Raises ValueError."""
    if not line.endswith(b"\n"):
        too_long = f"the line is longer than {LONGEST_LINE >> 20} MB"
        raise ValueError(too_long if len(line) == LONGEST_LINE else "the line is cut off")
    # One level more than in an import, where the fields of a document are the line itself.
    record = strict_json.loaded(line.decode(), deepest=strict_json.DEEPEST_NESTING + 1)
    # A name is wrong if only one of the two has it.
    if wrong_names := sorted(record.keys() ^ set(table.archive)):
        raise ValueError(f"it must have exactly {', '.join(table.archive)}, and {wrong_names[0]!r} is wrong")
    rules.check(table.model, record)
    for name in table.archive:
        column = table.model._meta.get_field(name)
        if column.is_relation or isinstance(column, PackedArrayField):
            continue  # references, and the lists of a ranking: `Restoring` converts them
        try:
            record[name] = stored(column, record[name])
        except ValueError as error:
            raise ValueError(f"the field {name}: {error}") from error
    return record


@contextmanager
def opened(path: str | Path) -> Iterator[Archive]:
    """The archive, after its hashes were checked. Raises OSError and Unreadable."""
    with open(path, "rb") as file, unpacked(file, str(path)) as archive:
        yield archive


@contextmanager
def unpacked(file: BinaryIO, name: str, *, ours: bool = False) -> Iterator[Archive]:
    """The archive in an open file, after its hashes were checked. Raises OSError and Unreadable.

    `ours`: the server made it, so no budget limits its size.
    """
    zip_file, manifest = package.opened(file, name, FORMAT, VERSION, NOT_OURS_CURE)
    with zip_file:
        members = manifest["members"]  # {member: (number of its lines, its SHA-256)}
        # The tables of judges and of samples are in an archive or not.
        tables = in_archive(judges=TABLES[Judge].member in members, samples=TABLES[Sample].member in members)
        if [table.member for table in tables] != list(members):
            raise Unreadable(name, "its manifest names other files than an archive has", NOT_OURS_CURE)
        pictures = [path for path in zip_file.namelist() if rules.PICTURE.fullmatch(path)]
        if strange_files := set(zip_file.namelist()) - {*members, package.MANIFEST, *pictures}:
            raise Unreadable(name, f"it has the file {min(strange_files)!r}, which no archive has", NOT_OURS_CURE)
        if not ours:
            _refuse_too_much(name, zip_file, os.fstat(file.fileno()).st_size)
        package.check(zip_file, name, members)
        if snapshot_of({member: sha256 for member, (_, sha256) in members.items()}) != manifest.get("snapshot"):
            raise Unreadable(f"{name}, {package.MANIFEST}", "the snapshot id is of other files", COPY_AGAIN)
        for picture in pictures:
            if zip_file.getinfo(picture).file_size > MOST_BYTES:  # no export wrote it
                raise Unreadable(f"{name}, {picture}", f"a picture has at most {MOST_BYTES:,} bytes", COPY_AGAIN)
            if picture_file(package.sha256_of(package.blocks(zip_file, name, picture))) != picture:
                raise Unreadable(f"{name}, {picture}", "its name is not the SHA-256 of its content", COPY_AGAIN)
        counts = {member: lines for member, (lines, _) in members.items()}
        digests = frozenset(Path(picture).stem for picture in pictures)
        yield Archive(name, manifest["snapshot"], zip_file, counts, tables, digests)


def _refuse_too_much(name: str, zip: zipfile.ZipFile, size: int) -> None:
    allowed = budget()
    allowed.receive(size)
    try:
        allowed.check_unpacking(sum(entry.file_size for entry in zip.infolist()))
    except TooMuch as error:
        raise Unreadable(name, str(error), CURE) from error


def copy(source: Collection, *, progress: Progress, job: Job) -> Report:
    """The report of copying a collection without what people did in it. Raises as `restore`."""
    with tempfile.TemporaryFile() as file:
        progress(f"reading {source}", None, 0)
        writing.write(source, file, copied=True)
        with unpacked(file, source.name, ours=True) as archive:
            return restore(archive, job.options["slug"], progress=progress, job=job)


def restore(archive: Archive, slug: str, *, progress: Progress = silent, job: Job | None = None) -> Report:
    """The report of making a collection `slug` from the archive. If it has a refusal, nothing was written.

    The collection of a copying job counts as made now, by the account of the job, which becomes its admin. Raises
    ValueError for a slug that is taken or invalid, and Superseded if the job was cancelled.
    """
    if problem := wrong_slug(slug):
        raise ValueError(problem)
    report = Report()
    with staged(KEYS_TABLE) as keys:
        restoring = Restoring(archive, keys, report)
        restoring.check(progress)
        if report.refused:
            return report
        _report_content(archive, slug, report)
        try:
            with transaction.atomic():
                _write(restoring, slug, job, progress)
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


def _write(restoring: "Restoring", slug: str, job: Job | None, progress: Progress) -> None:
    """Write the pictures, the rows, the admin and the job. Raises Refused and Superseded."""
    archive = restoring.archive
    copy_job = job if job and job.kind == Job.Kind.COPY else None
    if copy_job:
        created_at = str(timezone.now().replace(tzinfo=None))  # in the form of the database
        restoring.collection_values |= {"name": copy_job.options["name"], "created_at": created_at}
    for digest in sorted(archive.pictures):
        store.keep(archive.zip.read(picture_file(digest)))  # a file that no row names is removed later
    try:
        with transaction.atomic():
            collection = restoring.make_collection(slug)
    except IntegrityError as error:
        problem = f"somebody made a collection {slug!r} meanwhile"
        raise Refused([Refusal(archive.name, line=0, problem=problem, cure=("Choose another name.",))]) from error
    for table in archive.tables[1:]:  # the first one is that of the collection
        restoring.write(table, progress)
    # A superuser or a command restores other archives. Superusers are admins of every collection.
    if copy_job and copy_job.by:
        Membership.objects.create(collection=collection, user=copy_job.by, role=Role.ADMIN)
    _end_job(job, collection, restoring)


def _end_job(job: Job | None, collection: Collection, restoring: "Restoring") -> None:
    """Store the end of the job, and its report. A command has no job, and gets one now. Raises Superseded."""
    report = restoring.report
    now = timezone.now()
    end_of_job = {"state": Job.State.PUBLISHED, "ended_at": now, "collection": collection}
    if job is None:
        files = [{"name": Path(restoring.archive.name).name}]
        job = Job.objects.create(kind=Job.Kind.ARCHIVE, files=files, started_at=now, **end_of_job)
    elif not job.mine().update(**end_of_job):  # the job was cancelled, or another worker took it up
        raise Superseded
    job.collection = collection
    report.job = job.pk
    if restoring.renewed_tokens:
        rows = counted(restoring.renewed_tokens, "pair or check has", "pairs and checks have")
        report.warnings.append(f"{rows} an address that is in use here, and got a new one: this is a copy.")
    Job.objects.filter(pk=job.pk).update(report=report.as_json())
    note_import(job, report)


def _report_content(archive: Archive, slug: str, report: Report) -> None:
    line_counts = {table.model._meta.model_name: archive.counts[table.member] for table in archive.tables}
    report.counts["new"] = 1
    content = [counted(line_counts["query"], "query", "queries")]
    content += [counted(line_counts[name], name) for name in ("document", "system", "rater", "rating")]
    if line_counts.get("judge"):
        content.append(counted(line_counts["judge"], "judge"))
        content.append(counted(line_counts["machinegrade"], "pair asked", "pairs asked"))
    report.facts += [f"Collection {slug} made, with {', '.join(content)}.", f"Snapshot {archive.snapshot}."]


@dataclass
class Restoring:
    """One archive on its way into the database. `keys` is a KEYS_TABLE, which finds the line of a natural key."""

    archive: Archive
    keys: sqlite3.Connection
    report: Report
    collection_values: dict[str, Any] = field(default_factory=dict)  # of the columns of its one line
    # The new id of each line of a table. Lines count from 1; place 0 is unused.
    ids: dict[type[Model], array] = field(default_factory=dict)
    # "query" and "document" -> the new id in the pair of each line; place 0 is unused.
    ids_by_pair_line: dict[str, array] = field(default_factory=lambda: {n: array("q", [0]) for n in PAIR_FIELDS})
    round_numbers: dict[int, int] = field(default_factory=dict)  # id of a round -> its number
    round_by_pair_id: dict[int, int] = field(default_factory=dict)  # id of a pair -> number of its round
    collection: int = 0  # its new id
    renewed_tokens: int = 0  # that were in use here

    # Check

    def check(self, progress: Progress) -> None:
        """Refuse wrong lines, lines that repeat a key, and lines that refer to none. Stops after a wrong file."""
        for table in self.archive.tables:
            self._check_table(table, progress)
            if self.report.refused:
                return
        for number, problem in self._picture_problems():
            self._refuse(TABLES[Picture], number, problem)

    def _check_table(self, table: Table, progress: Progress) -> None:
        """Check each line of a file, and then their number. Stops where too many lines are refused."""
        expected_lines = 1 if table.model is Collection else self.archive.counts[table.member]
        checked_lines = 0
        for batch in batched(self.archive.records(table), LINES_AT_ONCE):
            checked_lines += len(batch)
            for refusal in (record for _, record in batch if isinstance(record, Refusal)):
                self.report.refuse(refusal)
            records = [(number, record) for number, record in batch if not isinstance(record, Refusal)]
            self._remember_keys(table, records)
            for number, problem in self._resolve_references(table, records):
                self._refuse(table, number, problem)
            if table.model is Collection and records:
                self.collection_values = dict(records[0][1])
            # The file may have more or fewer lines than the manifest says, which is refused below.
            share = min(1.0, checked_lines / max(expected_lines, 1))
            progress(f"checking {table.member}", share, checked_lines)
            if self.report.refused >= REFUSALS_KEPT:
                return
        if checked_lines != expected_lines:
            self._refuse(table, 0, f"it has {checked_lines:,} lines, and must have {expected_lines:,}")

    def _refuse(self, table: Table, number: int, problem: str) -> None:
        self.report.refuse(self.archive.refusal(table.member, number, problem))

    def _remember_keys(self, table: Table, records: Sequence[tuple[int, dict]]) -> None:
        """Remember the lines to which others refer by their natural keys."""
        if not table.key or table.model not in NAMED_MODELS:
            return
        for number, record in records:
            key = as_json(_own_key(table, record))
            row = [table.member, key, number]
            is_new = self.keys.execute("INSERT OR IGNORE INTO keys VALUES (?, ?, ?)", row).rowcount
            if not is_new:
                self._refuse(table, number, f"{key} already appears on line {self._lines(table, {key})[key]:,}")

    def _resolve_references(self, table: Table, records: Sequence[tuple[int, dict]]) -> Iterator[tuple[int, str]]:
        """Put the numbers of lines in place of the keys of rows. Yields number and problem of each wrong line."""
        for name in table.archive:
            column = table.model._meta.get_field(name)
            if table.model is Ranking and name == "documents":
                yield from self._resolve_documents(records)
            elif column.is_relation:
                yield from self._resolve_column(table, name, TABLES[column.related_model], records)

    def _resolve_column(
        self, table: Table, name: str, target: Table, records: Sequence[tuple[int, dict]]
    ) -> Iterator[tuple[int, str]]:
        """Replace the references of a column by numbers of lines of `target`.

        A reference is a natural key. To a table without natural keys it is the number of a line already; in the
        same file the line must be an earlier one. Yields number and problem of each line whose reference leads
        nowhere.
        """
        may_be_none = table.model._meta.get_field(name).null
        lines_by_key = {}
        if target.key:
            lines_by_key = self._lines(target, {as_json(record[name]) for _, record in records})
        for number, record in records:
            reference = record[name]
            if reference is None and may_be_none:
                continue
            if target.key:
                line = lines_by_key.get(as_json(reference))
            else:
                last_line = number - 1 if target is table else self.archive.counts[target.member]
                # By its exact type: True is an int for isinstance, but no number of a line.
                line = reference if type(reference) is int and 1 <= reference <= last_line else None
            record[name] = line
            if line is None:
                yield number, f"{target.member} has no line {as_json(reference):.200}"

    def _resolve_documents(self, records: Sequence[tuple[int, dict]]) -> Iterator[tuple[int, str]]:
        documents = TABLES[Document]
        lines = self._lines(documents, {as_json(key) for _, record in records for key in record["documents"]})
        for number, record in records:
            numbers = [lines.get(as_json(key)) for key in record["documents"]]
            if None in numbers:
                unknown = record["documents"][numbers.index(None)]
                yield number, f"{documents.member} has no line {unknown!r:.200}"
            record["documents"] = numbers

    def _lines(self, table: Table, keys: set[str]) -> dict[str, int]:
        """{key: number of its line} of the natural keys, as JSON, that the table has."""
        rows = self.keys.execute(
            "SELECT key, line FROM keys WHERE tab = ? AND key IN (SELECT value FROM json_each(?))",
            [table.member, json.dumps(sorted(keys))],
        )
        return dict(rows.fetchall())

    def _picture_problems(self) -> Iterator[tuple[int, str]]:
        """(number of a line, problem) of each wrong picture. Number 0: no line names it.

        A line names the file of a small and of a large picture by their hashes.
        """
        named_digests = set()
        for number, record in self.archive.records(TABLES[Picture]):
            for digest in filter(None, (record["small"], record["large"])):  # "": it is not fetched
                if digest not in self.archive.pictures:
                    yield number, f"the archive has no {picture_file(digest)}"
                elif digest not in named_digests:
                    try:
                        checked(self.archive.zip.read(picture_file(digest)))
                    except Unusable as error:
                        yield number, f"{picture_file(digest)}: {error}"
                named_digests.add(digest)
        for digest in sorted(self.archive.pictures - named_digests):
            yield 0, f"no line names {picture_file(digest)}"

    # Write

    def make_collection(self, slug: str) -> Collection:
        (self.collection,) = new_ids(Collection, 1)
        values = _defaults(Collection) | self.collection_values | {"id": self.collection, "slug": slug}
        insert(Collection, list(values), [list(values.values())])
        return Collection.objects.get(pk=self.collection)

    def write(self, table: Table, progress: Progress) -> None:
        """Write the rows of a table. Raises Refused where lines break a rule of the database."""
        self.ids[table.model] = array("q", [0])  # place 0 is unused, as lines count from 1
        defaults = _defaults(table.model)
        for batch in batched(self.archive.records(table), LINES_AT_ONCE):
            # The loop is for what `_resolve_references` does to the records: it puts numbers of lines in place of
            # references, for which `_row` finds ids. It yields no problem, as all lines were checked.
            for number, problem in self._resolve_references(table, batch):
                raise AssertionError(f"line {number}: {problem}, although it was checked before")
            ids = new_ids(table.model, len(batch))
            # Before `_row` looks ids up: an event that undoes another may refer to a line of the same batch.
            self.ids[table.model].extend(ids)
            ids_and_lines = zip(ids, batch, strict=True)
            rows = [defaults | {"id": pk} | self._row(table, record) for pk, (_, record) in ids_and_lines]
            self._renew_tokens(table.model, rows)
            self._insert(table, rows, first_line=batch[0][0])
            self._keep_for_later_tables(table.model, rows)
            written = len(self.ids[table.model]) - 1  # without place 0
            progress(f"writing {table.member}", written / max(self.archive.counts[table.member], 1), written)

    def _row(self, table: Table, record: dict[str, Any]) -> dict[str, Any]:
        """The row of a line, by column.

        A line names rows of other tables by the number of their line, for which `ids` has the new id. Columns that
        no archive has, as they follow from others, are added.
        """
        row = {}
        for name, value in record.items():
            field: Any = table.model._meta.get_field(name)
            is_line_number = field.is_relation and value is not None
            row[field.attname] = self.ids[field.related_model][value] if is_line_number else value
        if any(field.name == "collection" for field in table.model._meta.concrete_fields):
            row["collection_id"] = self.collection
        if table.model is Ranking:
            ids_by_line = np.frombuffer(self.ids[Document], np.int64)
            ids = ids_by_line[np.array(record["documents"], np.int64)]
            # In the form in which a PackedArrayField stores an array.
            row["documents"] = ids.astype("<u4").tobytes()
            row["scores"] = None if record["scores"] is None else np.array(record["scores"], "<f8").tobytes()
        elif table.model is Rating:
            row["query_id"] = self.ids_by_pair_line["query"][record["pair"]]
            row["document_id"] = self.ids_by_pair_line["document"][record["pair"]]
        elif table.model is Assignment:
            row["query_id"] = self.ids_by_pair_line["query"][record["pair"]]
            row["round"] = self.round_by_pair_id.get(row["pair_id"], UNDRAWN)  # UNDRAWN: no round drew the pair
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
        self.renewed_tokens += len(taken)

    def _insert(self, table: Table, rows: list[dict], first_line: int) -> None:
        """Insert the rows of the lines from that number on. Raises Refused if the database refuses them."""
        names = list(rows[0])
        try:
            insert(table.model, names, [[row[name] for name in names] for row in rows])
        except IntegrityError as error:
            last_line = first_line + len(rows) - 1
            reason = " ".join(str(error).split())
            problem = f"a line from here to line {last_line:,} breaks a rule of the database ({reason:.200})"
            raise Refused([self.archive.refusal(table.member, first_line, problem)]) from error

    def _keep_for_later_tables(self, model: type[Model], rows: list[dict]) -> None:
        """Keep what rows of later tables need of these rows: ids of pairs, and numbers of rounds."""
        if model is Pair:
            for name in PAIR_FIELDS:
                self.ids_by_pair_line[name].extend(row[f"{name}_id"] for row in rows)
        elif model is Round:
            self.round_numbers |= {row["id"]: row["number"] for row in rows}
        elif model is Drawn:
            self.round_by_pair_id |= {row["pair_id"]: self.round_numbers[row["round_id"]] for row in rows}


def _own_key(table: Table, record: dict[str, Any]) -> Any:
    """The natural key of a line, in the form in which other lines refer to it."""
    parts = []
    for name in table.key:
        value = plain(record[name])
        parts += value if isinstance(value, list) else [value]
    return parts[0] if len(parts) == 1 else parts


def _defaults(model: type[Model]) -> dict[str, Any]:
    """{column: its default}, in the form of the database."""
    defaults = {column.attname: column.get_default() for column in model._meta.concrete_fields}
    json_defaults = {name: json.dumps(value) for name, value in defaults.items() if isinstance(value, dict | list)}
    return defaults | json_defaults

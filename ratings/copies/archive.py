"""Write a collection as an archive: a ZIP of JSON lines, from one snapshot of the database, in bounded memory.

A line has the columns of `tables`. In place of a foreign key it has the natural key of that row: a value, a list
of values, or the number of its line. An archive has no accounts, and no names but those of raters.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from ..database.bulk import among
from ..database.snapshot import snapshot
from ..formats.zipped import FixedZip, sums_as_text
from ..importing.intake.stage import Progress, silent
from ..importing.pictures import store
from ..models import Assignment, Collection, Document, Job, JudgeRun, Picture, Ranking, RatingEvent
from ..models.fields import PackedArrayField
from .tables import TABLES, Table, in_archive
from .values import as_json, plain

FORMAT, VERSION = "idealist collection", 1
MANIFEST = "manifest.json"
ROWS_AT_ONCE = 500  # few, since documents and rankings are large
LIVE_STATES = (JudgeRun.State.QUEUED, JudgeRun.State.RUNNING)
Line = dict[str, Any]


def write(
    collection: Collection,
    file: BinaryIO,
    *,
    copied: bool = False,
    judges: bool = False,
    progress: Progress = silent,
) -> str:
    """Write the archive into `file`, and return its snapshot id: the SHA-256 of its content.

    The same data give the same bytes. `copied`: for a copy of the collection, without what people did. The files
    of these tables are then empty. `judges`: with the judges, their prompts and their answers.
    """
    archive = FixedZip()
    with snapshot():
        ids = Ids(collection)
        for table in in_archive(judges=judges, samples=collection.samples.exists()):
            rows = () if copied and not table.copied else lines(table, ids)
            # `large`: a table may have 2 GB or more.
            file.writelines(archive.add(table.member, _encoded(rows, table.member, progress), large=True))
        digests = _digests(collection)
    # The id and the list of members are of the tables alone, whose lines have the hashes of the pictures.
    snapshot_id = snapshot_of(archive.sums)
    manifest = {"format": FORMAT, "version": VERSION, "snapshot": snapshot_id, "members": archive.members()}
    for number, digest in enumerate(digests, 1):
        with store.opened(digest) as picture:
            file.writelines(archive.add(picture_file(digest), [picture.read()]))
        progress("pictures", number / len(digests), number)
    file.writelines(archive.add(MANIFEST, [(json.dumps(manifest, indent=2) + "\n").encode()]))
    file.write(archive.end())
    return snapshot_id


def snapshot_of(sums: Mapping[str, str]) -> str:
    """The id of the content: the SHA-256 of the output of `sha256sum` for all members, in their order."""
    return sha256(sums_as_text(sums).encode()).hexdigest()


def file_name(slug: str, snapshot: str) -> str:
    return f"{slug}-{snapshot[:12]}.zip"


def picture_file(digest: str) -> str:
    return f"pictures/{digest}.webp"


def _encoded(rows: Iterable[Line], member: str, progress: Progress) -> Iterator[bytes]:
    for number, row in enumerate(rows, 1):
        yield (as_json(row) + "\n").encode()
        if number % 5_000 == 0:
            progress(member, None, number)


class Ids:
    """The ids of the rows of each table, sorted here as int64, so that no database sorts a million rows."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self._of: dict[type[Model], np.ndarray] = {}

    def of(self, table: Table) -> np.ndarray:
        if table.model not in self._of:
            pks = rows_of(table, self.collection).order_by().values_list("pk", flat=True)
            self._of[table.model] = np.sort(np.fromiter(pks.iterator(), np.int64))
        return self._of[table.model]


def rows_of(table: Table, collection: Collection) -> QuerySet:
    """The rows of a collection that its archive has."""
    rows = table.model._default_manager.filter(**{table.collection: collection.pk})
    if table.model is Job:  # only imports of ratings, so that they can be undone
        return rows.filter(Exists(RatingEvent.objects.filter(job=OuterRef("pk"))))
    if table.model is Assignment:
        # A leased assignment is written as open. An extra one cannot be open.
        return rows.exclude(state=Assignment.State.LEASED, extra=True)
    return rows


def lines(table: Table, ids: Ids) -> Iterator[Line]:
    """The lines of a table, in the order of the ids of its rows."""
    columns = [_column(table, name, ids) for name in table.archive]
    all_lookups = [lookup for column in columns for lookup in column.lookups]
    adapt = ADAPT.get(table.model)  # changes a line that differs from its row; None for most tables
    pks = ids.of(table)
    for start in range(0, len(pks), ROWS_AT_ONCE):
        piece = pks[start : start + ROWS_AT_ONCE].tolist()
        rows = table.model._default_manager.filter(pk__in=among(piece, "bigint"))
        batch = []
        for row in rows.order_by("pk").values(*all_lookups):
            line = {}
            for column in columns:
                line[column.name] = column.value_of([row[lookup] for lookup in column.lookups])
            if adapt:
                adapt(line)
            batch.append(line)
        # The keys of the documents of many rankings are read by one query.
        yield from _rankings(batch) if table.model is Ranking else batch


class Column(NamedTuple):
    """A column of a table in an archive."""

    name: str
    lookups: list[str]  # of the database; of a reference to a row: those of the row's natural key
    value_of: Callable[[list], Any]  # from the values of the lookups to that in a line


def _column(table: Table, name: str, ids: Ids) -> Column:
    field = table.model._meta.get_field(name)
    if isinstance(field, PackedArrayField):
        return Column(name, [name], lambda values: values[0])  # an array, which `_rankings` turns into a list
    if not field.is_relation:
        return Column(name, [name], lambda values: plain(values[0]))
    target = TABLES[field.related_model]
    if target.key:
        return Column(name, key_lookups(target, f"{name}__"), _key)
    pks = ids.of(target)
    return Column(name, [field.attname], lambda values: _line_number(pks, values[0]))


def key_lookups(table: Table, prefix: str = "") -> list[str]:
    """The lookups of the values of a natural key."""
    lookups = []
    for name in table.key:
        field = table.model._meta.get_field(name)
        if field.is_relation:
            lookups += key_lookups(TABLES[field.related_model], f"{prefix}{name}__")
        else:
            lookups.append(f"{prefix}{name}")
    return lookups


def _key(values: list) -> Any:
    """The natural key of a row that is referred to: its value, or a list of them; None for no row."""
    if None in values:
        return None
    return plain(values[0]) if len(values) == 1 else [plain(value) for value in values]


def _line_number(pks: np.ndarray, pk: int | None) -> int | None:
    """The number of the line, from 1, of the row with this id; None for no row."""
    return None if pk is None else int(np.searchsorted(pks, pk)) + 1


# Lines that differ from their rows


def _rankings(batch: list[Line]) -> list[Line]:
    ids = np.unique(np.concatenate([line["documents"] for line in batch])).tolist()
    keys = dict(Document.objects.filter(pk__in=among(ids, "bigint")).values_list("pk", "key"))
    for line in batch:
        line["documents"] = [keys[pk] for pk in line["documents"].tolist()]
        line["scores"] = None if line["scores"] is None else line["scores"].tolist()
    return batch


def _assignment(line: Line) -> None:
    if line["state"] != Assignment.State.DONE:
        line |= {"state": Assignment.State.OPEN, "rater": None}


def _picture(line: Line) -> None:
    """A picture whose files are gone will be fetched again."""
    if line["small"] and not (store.exists(line["small"]) and store.exists(line["large"])):
        line |= {"state": Picture.State.WANTED, "small": "", "large": "", "width": 0, "height": 0}


def _run(line: Line) -> None:
    """Another server must not make calls by itself."""
    if line["state"] in LIVE_STATES:
        line["state"] = JudgeRun.State.PAUSED


def _import(line: Line) -> None:
    line["files"] = [{"name": file["name"]} for file in line["files"]]


ADAPT: dict[type[Model], Callable[[Line], None]] = {
    Assignment: _assignment,
    Picture: _picture,
    JudgeRun: _run,
    Job: _import,
}


def _digests(collection: Collection) -> list[str]:
    """The SHA-256 of each picture file of the collection that exists, sorted."""
    ready = Picture.objects.filter(~Q(small=""), collection=collection, state=Picture.State.READY)
    digests = {digest for pair in ready.values_list("small", "large").iterator() for digest in pair}
    return sorted(filter(store.exists, digests))

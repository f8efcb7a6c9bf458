"""Write a collection as an archive: a ZIP of JSON lines, from one snapshot of the database, in bounded memory.

A line has the columns of `tables`. In place of a foreign key it has the natural key of that row: a value, a list
of values, or the number of its line. An archive has no accounts, and no names but those of raters.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from ..database.bulk import among
from ..database.snapshot import snapshot
from ..formats.zipped import FixedZip, sums_as_text
from ..importing.intake.stage import Progress, silent
from ..importing.pictures import store
from ..models import Assignment, Collection, Document, Job, JudgeRun, Picture, Ranking, RatingEvent
from .tables import TABLES, Table, in_archive
from .values import as_json, plain

FORMAT, VERSION = "idealist collection", 1
MANIFEST = "manifest.json"
AT_ONCE = 500  # rows: documents and rankings are large
LIVE = (JudgeRun.State.QUEUED, JudgeRun.State.RUNNING)
Line = dict[str, Any]


def write(
    collection: Collection,
    file: BinaryIO,
    *,
    copied: bool = False,
    judges: bool = False,
    progress: Progress = silent,
) -> str:
    """The snapshot id of the written archive: the SHA-256 of its content. The same data give the same bytes.

    `copied`: without what people did. `judges`: with the judges, their prompts and their answers.
    """
    archive, counts = FixedZip(), {}
    with snapshot():
        ids = Ids(collection)
        for table in in_archive(judges=judges, samples=collection.samples.exists()):
            rows = lines(table, ids) if table.copied or not copied else iter(())
            for part in archive.add(table.member, _encoded(rows, table, counts, progress), large=True):
                file.write(part)
        digests = _digests(collection)
    # The pictures themselves need not be part of it: their hashes are.
    snapshot_id = snapshot_of(archive.sums)
    members = [{"file": name, "lines": counts[name], "sha256": digest} for name, digest in archive.sums.items()]
    manifest = {"format": FORMAT, "version": VERSION, "snapshot": snapshot_id, "members": members}
    for number, digest in enumerate(digests, 1):
        with store.opened(digest) as picture:
            for part in archive.add(picture_file(digest), [picture.read()]):
                file.write(part)
        progress("pictures", number / len(digests), number)
    for part in archive.add(MANIFEST, [(json.dumps(manifest, indent=2) + "\n").encode()]):
        file.write(part)
    file.write(archive.end())
    return snapshot_id


def snapshot_of(sums: Mapping[str, str]) -> str:
    """The id of the content: the SHA-256 of the output of `sha256sum` for all members, in their order."""
    return sha256(sums_as_text(sums).encode()).hexdigest()


def file_name(slug: str, snapshot: str) -> str:
    return f"{slug}-{snapshot[:12]}.zip"


def picture_file(digest: str) -> str:
    return f"pictures/{digest}.webp"


def _encoded(rows: Iterable[Line], table: Table, counts: dict[str, int], progress: Progress) -> Iterator[bytes]:
    number = 0
    for number, row in enumerate(rows, 1):
        yield (as_json(row) + "\n").encode()
        if number % 5_000 == 0:
            progress(table.member, None, number)
    counts[table.member] = number


class Ids:
    """The ids of the rows of each table, sorted: 8 bytes each, so that no database sorts a million rows."""

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
    if table.model is Job:
        return rows.filter(Exists(RatingEvent.objects.filter(job=OuterRef("pk"))))
    if table.model is Assignment:
        # A leased assignment is written as open. An extra one cannot be open.
        return rows.exclude(state=Assignment.State.LEASED, extra=True)
    return rows


def lines(table: Table, ids: Ids) -> Iterator[Line]:
    """The lines of a table, in the order of their ids."""
    parts = {name: _part(table, name, ids) for name in table.archive}
    columns = [column for of_part, _ in parts.values() for column in of_part]
    adapted, own = ADAPTED.get(table.model, lambda found: found), ids.of(table)
    for start in range(0, len(own), AT_ONCE):
        some = table.model._default_manager.filter(pk__in=among(own[start : start + AT_ONCE].tolist(), "bigint"))
        found = []
        for row in some.order_by("pk").values_list(*columns):
            values = iter(row)
            line = {}
            for name, (of_part, joined) in parts.items():
                line[name] = joined(list(islice(values, len(of_part))))
            found.append(line)
        yield from adapted(found)


def _part(table: Table, name: str, ids: Ids) -> tuple[list[str], Callable[[list], Any]]:
    """The lookups of a column, and the function from their values to that of the line."""
    field = table.model._meta.get_field(name)
    if not field.is_relation:
        return [name], lambda found: found[0] if isinstance(found[0], np.ndarray) else plain(found[0])
    target = TABLES[field.related_model]
    if target.key:
        return lookups(target, f"{name}__"), _key
    own = ids.of(target)
    return [field.attname], lambda found: None if found[0] is None else int(np.searchsorted(own, found[0])) + 1


def lookups(table: Table, prefix: str = "") -> list[str]:
    """The lookups of the values of a natural key."""
    found = []
    for name in table.key:
        field = table.model._meta.get_field(name)
        related = TABLES[field.related_model] if field.is_relation else None
        found += lookups(related, f"{prefix}{name}__") if related else [f"{prefix}{name}"]
    return found


def _key(found: list) -> Any:
    """The key of a row that is referred to: its value, or a list of them; None for no row."""
    if None in found:
        return None
    return plain(found[0]) if len(found) == 1 else [plain(value) for value in found]


# Lines that differ from their rows


def _rankings(found: list[Line]) -> list[Line]:
    ids = np.unique(np.concatenate([line["documents"] for line in found])).tolist()
    keys = dict(Document.objects.filter(pk__in=among(ids, "bigint")).values_list("pk", "key"))
    for line in found:
        line["documents"] = [keys[pk] for pk in line["documents"].tolist()]
        line["scores"] = None if line["scores"] is None else line["scores"].tolist()
    return found


def _assignments(found: list[Line]) -> list[Line]:
    for line in found:
        if line["state"] != Assignment.State.DONE:
            line |= {"state": Assignment.State.OPEN, "rater": None}
    return found


def _pictures(found: list[Line]) -> list[Line]:
    """A picture whose files are gone will be fetched again."""
    for line in found:
        if line["small"] and not (store.exists(line["small"]) and store.exists(line["large"])):
            line |= {"state": Picture.State.WANTED, "small": "", "large": "", "width": 0, "height": 0}
    return found


def _runs(found: list[Line]) -> list[Line]:
    """Another server must not make calls by itself."""
    for line in found:
        if line["state"] in LIVE:
            line["state"] = JudgeRun.State.PAUSED
    return found


def _imports(found: list[Line]) -> list[Line]:
    for line in found:
        line["files"] = [{"name": file["name"]} for file in line["files"]]
    return found


ADAPTED: dict[type[Model], Callable[[list[Line]], list[Line]]] = {
    Ranking: _rankings,
    Assignment: _assignments,
    Picture: _pictures,
    JudgeRun: _runs,
    Job: _imports,
}


def _digests(collection: Collection) -> list[str]:
    """The files of the pictures, in a fixed order."""
    ready = Picture.objects.filter(~Q(small=""), collection=collection, state=Picture.State.READY)
    digests = {each for pair in ready.values_list("small", "large").iterator() for each in pair}
    return sorted(filter(store.exists, digests))

"""An archive -> a new collection: checked whole, then written in one transaction."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any
from uuid import uuid4

import numpy as np
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Manager

from ..formats.refusal import Refusal
from ..intake.report import Report, counted
from ..intake.stage import Progress, batched, silent, staged
from ..models import (
    Adjudication,
    Anchor,
    Assignment,
    Check,
    Collection,
    Document,
    Grade,
    Guidelines,
    Job,
    Pair,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    System,
)
from .members import BY_NAME, MEMBERS, Member
from .reading import Archive

# What a line is named by -> its number, for every member and each of its unique groups of fields.
TABLE = "line (what TEXT, key TEXT, number INTEGER, PRIMARY KEY (what, key)) WITHOUT ROWID"
AT_ONCE = 2_000
RANKED_AT_ONCE = 100
REMEMBERED = 20_000
TICK = 5_000

Row = dict[str, Any]


def restore(archive: Archive, slug: str, *, progress: Progress = silent) -> Report:
    """Make a collection called `slug` of the archive. Where the report holds a refusal, nothing was written.

    Raises ValueError for a slug that is taken or cannot stand in an address.
    """
    _refuse_slug(slug)
    report = Report()
    with staged(TABLE) as stage:
        lines = _Lines(stage)
        for member in MEMBERS:
            _look_through(archive, member, lines, report, progress)
        if not report.refused:
            try:
                with transaction.atomic():
                    _Restored(archive, lines, slug, report, progress).write()
            except IntegrityError as error:
                problem = f"the database refuses it ({error})".replace("\n", " ")
                cure = "Check whether somebody made a collection of this name meanwhile."
                report.refuse(Refusal(archive.name, 0, problem, cure))
            else:
                _tell(archive, slug, report)
    return report


def _tell(archive: Archive, slug: str, report: Report) -> None:
    n = report.counts
    held = [counted(n["queries"], "query", "queries"), counted(n["documents"], "document")]
    held += [counted(n["systems"], "system"), counted(n["raters"], "rater"), counted(n["ratings"], "rating")]
    report.facts.append(f"Collection {slug} made, with {', '.join(held)}.")
    report.facts.append(f"Snapshot {archive.snapshot}.")
    if n["tokens"]:
        said = counted(n["tokens"], "pair or check has", "pairs and checks have")
        report.warnings.append(f"{said} an address that is in use here, and got a new one: this is a copy.")


def _refuse_slug(slug: str) -> None:
    if Collection.objects.filter(slug=slug).exists():
        raise ValueError(f"There is a collection {slug!r} already. Choose another name with --slug")
    try:
        Collection._meta.get_field("slug").run_validators(slug)
    except ValidationError as error:
        cannot = f"The name {slug!r} cannot stand in an address"
        raise ValueError(f"{cannot}. Use at most 80 letters, digits, - and _") from error


class _Lines:
    """On disk: the number of the line that a member names so. What was asked lately is remembered."""

    def __init__(self, stage: sqlite3.Connection) -> None:
        self.stage = stage
        self.number = lru_cache(REMEMBERED)(self.looked_up)

    def looked_up(self, what: str, key: str) -> int | None:
        row = self.stage.execute("SELECT number FROM line WHERE what = ? AND key = ?", (what, key)).fetchone()
        return row and row[0]

    def keep(self, what: str, key: str, number: int) -> bool:
        """False where another line is named so."""
        kept = self.stage.execute("INSERT OR IGNORE INTO line VALUES (?, ?, ?)", (what, key, number))
        return kept.rowcount == 1


def _key(parts: Iterable) -> str:
    return "\0".join(map(str, parts))


# Check


def _look_through(archive: Archive, member: Member, lines: _Lines, report: Report, progress: Progress) -> None:
    number = 0
    for number, item in enumerate(archive.rows(member), 1):
        if number % TICK == 0:
            progress(f"checking {member.name}", number / max(archive.lines[member.file], 1), number)
        refused = item if isinstance(item, Refusal) else _wrong(archive, member, lines, *item)
        if refused:
            report.refuse(refused)
    told = 1 if member.name == "collection" else archive.lines[member.file]
    if number != told:
        report.refuse(archive.refusal(member, 0, f"there are {number:,} lines, and it must have {told:,}"))


def _wrong(archive: Archive, member: Member, lines: _Lines, number: int, row: Row) -> Refusal | None:
    for target, named in member.refers:
        for key in named(row):
            if lines.number(target, _key(key)) is None:
                return archive.refusal(
                    member, number, f"{BY_NAME[target].file} has no {' and '.join(map(str, key))}"
                )
    if row.get("number", number) != number:
        return archive.refusal(member, number, f"the number is {row['number']:,}")
    for place, fields in enumerate(member.unique):
        key = tuple(row[name] for name in fields)
        what = f"{member.name} by {place}" if place else member.name
        if None not in key and not lines.keep(what, _key(key), number):
            before = lines.looked_up(what, _key(key))
            said = f"{' and '.join(map(str, key))} stands on line {before:,} already"
            return archive.refusal(member, number, said)
    return None


# Write


class _Restored:
    """The collection that is being made. `ids`: of each member the id of each line."""

    def __init__(self, archive: Archive, lines: _Lines, slug: str, report: Report, progress: Progress) -> None:
        self.archive, self.lines, self.report, self.progress = archive, lines, report, progress
        self.collection = Collection(slug=slug)
        self.ids = {member.name: np.zeros(archive.lines[member.file] + 1, np.int64) for member in MEMBERS}

    def write(self) -> None:
        self._collection()
        for name, make, at_once in (
            ("grades", self._grade, AT_ONCE),
            ("guidelines", self._guidelines, AT_ONCE),
            ("queries", self._query, AT_ONCE),
            ("documents", self._document, AT_ONCE),
            ("systems", self._system, AT_ONCE),
            ("rankings", self._ranking, RANKED_AT_ONCE),
            ("raters", self._rater, AT_ONCE),
            ("pairs", self._pair, AT_ONCE),
            ("assignments", self._assignment, AT_ONCE),
            ("ratings", self._rating, AT_ONCE),
            ("adjudications", self._adjudication, AT_ONCE),
            ("imports", self._import, AT_ONCE),
            ("events", self._event, AT_ONCE),
            ("checks", self._check, AT_ONCE),
        ):
            self._member(BY_NAME[name], make, at_once)
        self.collection.touch()

    def _member(self, member: Member, make: Callable[[Row], Any], at_once: int) -> None:
        after = getattr(self, f"_after_{member.name}", None)
        done = 0
        for batch in self._batches(member, at_once):
            rows = [make(row) for row in batch]
            manager = type(rows[0])._default_manager
            if "token" in member.fields:
                self._renew_tokens(manager, rows)
            made = manager.bulk_create(rows, batch_size=at_once)
            self.ids[member.name][done + 1 : done + len(made) + 1] = [row.pk for row in made]
            if after:
                after(made, batch)
            done += len(made)
            self.progress(f"writing {member.name}", done / max(self.archive.lines[member.file], 1), done)
        self.report.counts[member.name] = done

    def _batches(self, member: Member, at_once: int) -> Iterator[list[Row]]:
        """An undo comes in a later batch than what it undoes, whose id it needs."""
        rows = (row for _, row in self.archive.rows(member))
        if member.name != "events":
            yield from batched(rows, at_once)
            return
        batch: list[Row] = []
        for row in rows:
            if len(batch) == at_once or (batch and (row["undoes"] or 0) >= batch[0]["number"]):
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def _renew_tokens(self, manager: Manager, rows: list[Pair] | list[Check]) -> None:
        """A copy beside its original gets its own: a token stands for one pair alone."""
        taken = set(manager.filter(token__in=[row.token for row in rows]).values_list("token", flat=True))
        for row in rows:
            if row.token in taken:
                row.token = uuid4()
        self.report.counts["tokens"] += len(taken)

    def _id(self, name: str, *key: Any) -> int:
        return int(self.ids[name][self.lines.number(name, _key(key))])

    def _maybe(self, name: str, *key: Any) -> int | None:
        return None if None in key else self._id(name, *key)

    # One object for each line

    def _collection(self) -> None:
        ((_, row),) = self.archive.rows(BY_NAME["collection"])
        for name, value in row.items():
            setattr(self.collection, name, value)
        self.collection.save()
        Collection.objects.filter(pk=self.collection.pk).update(created_at=row["created_at"])

    def _grade(self, row: Row) -> Grade:
        return Grade(collection=self.collection, **row)

    def _guidelines(self, row: Row) -> Guidelines:
        return Guidelines(collection=self.collection, **row)

    def _query(self, row: Row) -> Query:
        return Query(collection=self.collection, **row)

    def _document(self, row: Row) -> Document:
        return Document(collection=self.collection, **row)

    def _system(self, row: Row) -> System:
        return System(collection=self.collection, **row)

    def _ranking(self, row: Row) -> Ranking:
        documents = np.array([self._id("documents", key) for key in row["documents"]], np.int64)
        system, query = self._id("systems", row["system"]), self._id("queries", row["query"])
        scores = None if row["scores"] is None else np.array(row["scores"], np.float64)
        return Ranking(system_id=system, query_id=query, documents=documents, scores=scores)

    def _rater(self, row: Row) -> Rater:
        return Rater(collection=self.collection, **{name: row[name] for name in row if name != "queries"})

    def _pair(self, row: Row) -> Pair:
        facts = {name: row[name] for name in ("token", "wanted", "depth", "retired_at")}
        return Pair(**self._of_query(row), **facts)

    def _assignment(self, row: Row) -> Assignment:
        rater = self._maybe("raters", row["rater"])
        return Assignment(
            pair_id=self._pair_id(row),
            rater_id=rater,
            state=Assignment.State.DONE if rater else Assignment.State.OPEN,
            extra=row["extra"],
            collection=self.collection,
            query_id=self._id("queries", row["query"]),
            depth=row["depth"],
            lot=row["lot"],
        )

    def _rating(self, row: Row) -> Rating:
        facts = {name: row[name] for name in ("reason", "comment", "revision", "created_at", "changed_at")}
        grade = self._maybe("grades", row["grade"])
        whose = {"pair_id": self._pair_id(row), "rater_id": self._id("raters", row["rater"])}
        return Rating(**whose, grade_id=grade, **facts, **self._of_query(row))

    def _adjudication(self, row: Row) -> Adjudication:
        grade = self._id("grades", row["grade"])
        return Adjudication(
            pair_id=self._pair_id(row), grade_id=grade, reason=row["reason"], created_at=row["created_at"]
        )

    def _import(self, row: Row) -> Job:
        files = [{"name": name} for name in row["files"]]
        facts = {"kind": Job.Kind.RATINGS, "state": row["state"], "ended_at": row["ended_at"]}
        return Job(collection=self.collection, files=files, attended=True, **facts)

    def _event(self, row: Row) -> RatingEvent:
        linked = ("number", "query", "document", "rater", "undoes", "import")
        return RatingEvent(
            pair_id=self._pair_id(row),
            rater_id=self._maybe("raters", row["rater"]),
            undoes_id=int(self.ids["events"][row["undoes"]]) if row["undoes"] else None,
            job_id=int(self.ids["imports"][row["import"]]) if row["import"] else None,
            **{name: row[name] for name in row if name not in linked},
        )

    def _check(self, row: Row) -> Check:
        return Check(
            pair_id=self._pair_id(row),
            rater_id=self._id("raters", row["rater"]),
            event_id=int(self.ids["events"][row["event"]]) if row["event"] else None,
            **{name: row[name] for name in ("kind", "token", "created_at")},
        )

    def _of_query(self, row: Row) -> dict[str, int]:
        return {
            "query_id": self._id("queries", row["query"]),
            "document_id": self._id("documents", row["document"]),
        }

    def _pair_id(self, row: Row) -> int:
        return self._id("pairs", row["query"], row["document"])

    # What lies in other tables, or is written as something else than what it was made as

    def _after_guidelines(self, made: list[Guidelines], rows: list[Row]) -> None:
        self._dated(Guidelines, made, rows)

    def _after_systems(self, made: list[System], rows: list[Row]) -> None:
        self._dated(System, made, rows)

    def _after_imports(self, made: list[Job], rows: list[Row]) -> None:
        self._dated(Job, made, rows)

    def _dated(self, model: type, made: list, rows: list[Row]) -> None:
        """Django writes the present time as that of making."""
        for each, row in zip(made, rows, strict=True):
            model.objects.filter(pk=each.pk).update(created_at=row["created_at"])

    def _after_raters(self, made: list[Rater], rows: list[Row]) -> None:
        link = Rater.queries.through
        links = [
            link(rater_id=rater.pk, query_id=self._id("queries", key))
            for rater, row in zip(made, rows, strict=True)
            for key in row["queries"]
        ]
        link.objects.bulk_create(links, batch_size=AT_ONCE)

    def _after_pairs(self, made: list[Pair], rows: list[Row]) -> None:
        Anchor.objects.bulk_create(
            Anchor(
                pair=pair,
                use=row["anchor"]["use"],
                grade_id=self._id("grades", row["anchor"]["grade"]),
                explanation=row["anchor"]["explanation"],
                created_at=row["anchor"]["created_at"],
            )
            for pair, row in zip(made, rows, strict=True)
            if row["anchor"]
        )

"""An archive -> a new collection: checked whole, then written in pieces that nobody sees, then given its slug."""

import json
import sqlite3
from array import array
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Field, Model

from ..bulk import among, insert, new_ids
from ..intake.publishing import GROWING, Landing, land, remove_dead_archives
from ..intake.report import Report, counted
from ..intake.stage import Progress, silent, staged
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
from .checking import TABLES, check, joined, pieces
from .members import BY_NAME, MEMBERS, NUMBER, Member
from .reading import Archive

MODELS: dict[str, type[Model]] = {
    "grades": Grade,
    "guidelines": Guidelines,
    "queries": Query,
    "documents": Document,
    "systems": System,
    "rankings": Ranking,
    "raters": Rater,
    "queries_of_raters": Rater.queries.through,
    "pairs": Pair,
    "anchors": Anchor,
    "assignments": Assignment,
    "ratings": Rating,
    "adjudications": Adjudication,
    "imports": Job,
    "events": RatingEvent,
    "checks": Check,
}
OF_IMPORTS = {"kind": Job.Kind.RATINGS.value, "attended": True}
NAMED = {target for member in MEMBERS for target, _ in member.refers.values()} | {"documents"}

Ids = dict[str, array]  # of each member that is named: the id of each line, 8 bytes


def restore(archive: Archive, slug: str = "", *, progress: Progress = silent, job: Job | None = None) -> Report:
    """Make a collection called `slug` of the archive. Where the report holds a refusal, nothing was written.

    Raises ValueError for a slug that is taken or cannot stand in an address. A job that checks needs none. In
    memory are a piece of what is written and 8 bytes for each line that others name.
    """
    checking = bool(job and job.checking)
    if not checking and (problem := wrong_slug(slug)):
        raise ValueError(f"{problem}.")
    report = Report()
    with staged(*TABLES) as stage:
        check(archive, stage, report, progress)
        if not (report.refused or checking):
            remove_dead_archives()
            write = partial(_write, stage, slug, archive, report, progress)
            land(Collection(slug=None, **_about(stage)), [archive], report, Job.Kind.ARCHIVE, job, write)
        if not report.refused:
            _tell(archive, _about(stage)["name"] if checking else slug, checking, report)
    return report


def wrong_slug(slug: str) -> str:
    """Why no collection can have it, and to choose another: to go on with how. "" where it can."""
    if Collection.objects.filter(slug=slug).exists():
        return f"There is a collection {slug!r} already. Choose another name"
    try:
        Collection._meta.get_field("slug").clean(slug, None)
    except ValidationError:
        return f"The name {slug!r} cannot stand in an address. Give one of at most 80 letters, digits, - and _"
    return ""


def _about(stage: sqlite3.Connection) -> dict[str, Any]:
    names = BY_NAME["collection"].fields
    (row,) = stage.execute("SELECT " + ", ".join(f'"{name}"' for name in names) + " FROM collection")
    return dict(zip(names, row, strict=True))


def _tell(archive: Archive, name: str, checking: bool, report: Report) -> None:
    n = report.counts
    held = [counted(n["queries"], "query", "queries"), counted(n["documents"], "document")]
    held += [counted(n["systems"], "system"), counted(n["raters"], "rater"), counted(n["ratings"], "rating")]
    said = f"Collection {name}, with" if checking else f"Collection {name} made, with"
    report.facts.append(f"{said} {', '.join(held)}.")
    report.facts.append(f"Snapshot {archive.snapshot}.")
    if n["tokens"]:
        said = counted(n["tokens"], "pair or check has", "pairs and checks have")
        report.warnings.append(f"{said} an address that is in use here, and got a new one: this is a copy.")


# Write


def _write(
    stage: sqlite3.Connection, slug: str, archive: Archive, report: Report, progress: Progress, place: Landing
) -> None:
    """Every member in its order, so that what a line names is there; then the slug, by which all of it is seen."""
    copy = _Copy(stage, place, report, progress)
    for name in MODELS:
        copy.member(BY_NAME[name])
    place.analyze(*(set(MODELS.values()) - set(GROWING)))
    report.counts["new"] = 1
    collection = Collection.written.filter(pk=place.job.collection_id)
    created_at = datetime.fromisoformat(_about(stage)["created_at"]).replace(tzinfo=UTC)
    try:
        with place.published(report):
            collection.update(slug=slug, created_at=created_at)
    except IntegrityError:
        report.counts.clear()
        problem = f"somebody made a collection {slug!r} meanwhile"
        report.refuse(archive.refusal(0, problem, "Choose another name."))


class _Copy:
    """What is on disk goes into the record. `ids`: of each member that is named, those of its lines."""

    def __init__(self, stage: sqlite3.Connection, place: Landing, report: Report, progress: Progress) -> None:
        self.stage, self.place, self.report, self.progress = stage, place, report, progress
        self.ids: Ids = {}

    def member(self, member: Member) -> None:
        model, total, done = MODELS[member.name], self.report.counts[member.name], 0
        fields = [field for field in model._meta.concrete_fields if not field.primary_key]
        own = self.ids[member.name] = array("q", [0])
        select, given = self._select(member, fields)
        linked = [(1 + fields.index(field), known) for field, known in self._links(member, fields)]
        for rows in pieces(self.stage.execute(select, given)):
            with self.place.piece(len(rows)):
                new = new_ids(model, len(rows))
                made = [[pk, *values] for pk, (_, *values) in zip(new, rows, strict=True)]
                if member.name in NAMED:
                    own.extend(new)
                for place, known in linked:
                    for row in made:
                        if row[place] is not None:
                            row[place] = known(row[place])
                if "token" in member.fields:
                    self._renew_tokens(model, made, 1 + fields.index(model._meta.get_field("token")))
                insert(model, ["id", *(field.column for field in fields)], made)
            done += len(rows)
            self.progress(f"writing {member.name}", done / total, done)

    def _select(self, member: Member, fields: Sequence[Field]) -> tuple[str, list]:
        """The bytes of each line, and a value for each column: a line that it names, a field, or what is usual."""
        values, joins, given = ["m.size"], [], []
        for field in fields:
            if field.name in member.refers:
                name = f"t{len(joins)}"
                joins.append(joined(member, name, member.refers[field.name]))
                values.append(f"{name}.{NUMBER}")
            elif field.name in member.fields:
                values.append(f'm."{field.name}"')
            else:
                values.append("?")
                given.append(self._usual(member, field))
        said = f'SELECT {", ".join(values)} FROM "{member.name}" AS m {" ".join(joins)} ORDER BY m.{NUMBER}'
        return said, given

    def _usual(self, member: Member, field: Field) -> Any:
        # Of an event it belongs to the version that it made here.
        if field.name == "collection" and member.name != "events":
            return self.place.job.collection_id
        usual = OF_IMPORTS.get(field.name) if member.name == "imports" else None
        usual = field.get_default() if usual is None else usual
        return json.dumps(usual) if isinstance(usual, dict | list) else usual

    def _links(self, member: Member, fields: Sequence[Field]) -> Iterator[tuple[Field, Callable]]:
        """The columns in which a line stands, and what gives its id."""
        for field in fields:
            if field.name in member.refers:
                yield field, self.ids[member.refers[field.name][0]].__getitem__
            elif member.name == "rankings" and field.name == "documents":
                ids = np.frombuffer(self.ids["documents"], np.int64)
                yield field, lambda lines, ids=ids: ids[np.frombuffer(lines, "<u4")].astype("<u4").tobytes()

    def _renew_tokens(self, model: type[Model], rows: list[list], place: int) -> None:
        """A copy beside its original gets its own: a token stands for one pair alone."""
        tokens = [row[place] for row in rows]
        here = model.objects.filter(token__in=among(tokens, "uuid")).values_list("token", flat=True)
        taken = {token.hex for token in here}
        for row in rows:
            if row[place] in taken:
                row[place] = uuid4().hex
        self.report.counts["tokens"] += len(taken)

"""Restore an archive as a new collection: check it, write it in hidden pieces, then make it visible by a slug."""

import json
import sqlite3
from array import array
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Field, Model
from django.utils import timezone

from ..database.bulk import among, insert, new_ids
from ..intake.publishing import GROWING, Landing, land, remove_dead_archives
from ..intake.report import Report
from ..intake.stage import Progress, silent, staged
from ..models import (
    UNDRAWN,
    Adjudication,
    Anchor,
    Assignment,
    Check,
    Collection,
    Document,
    Drawn,
    Grade,
    Guidelines,
    Job,
    Judge,
    JudgeRun,
    JudgeSample,
    JudgeUse,
    JudgeVersion,
    MachineGrade,
    Membership,
    Pair,
    Picture,
    Presentation,
    Probe,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    Role,
    Round,
    SampledPair,
    System,
)
from ..pictures import store
from ..words import counted
from .checking import TABLES, check, joined, pieces
from .members import BY_NAME, EVERY, PAIR
from .reading import Archive
from .shape import NUMBER, Member

MODELS: dict[str, type[Model]] = {
    "grades": Grade,
    "guidelines": Guidelines,
    "presentations": Presentation,
    "queries": Query,
    "documents": Document,
    "pictures": Picture,
    "systems": System,
    "rankings": Ranking,
    "raters": Rater,
    "queries_of_raters": Rater.queries.through,
    "pairs": Pair,
    "rounds": Round,
    "drawn": Drawn,
    "anchors": Anchor,
    "assignments": Assignment,
    "ratings": Rating,
    "adjudications": Adjudication,
    "imports": Job,
    "events": RatingEvent,
    "checks": Check,
    "judges": Judge,
    "judge_versions": JudgeVersion,
    "judge_uses": JudgeUse,
    "judge_runs": JudgeRun,
    "machine_grades": MachineGrade,
    "judge_probes": Probe,
    "judge_samples": JudgeSample,
    "sampled_pairs": SampledPair,
}
OF_IMPORTS = {"kind": Job.Kind.RATINGS.value, "attended": True}
NAMED = {target for member in EVERY for target, _ in member.refers.values()} | {"documents"}

Ids = dict[str, array]  # member → the id of each line, 8 bytes; only members that others refer to


def restore(
    archive: Archive,
    slug: str = "",
    *,
    name: str = "",
    maker: AbstractBaseUser | None = None,
    progress: Progress = silent,
    job: Job | None = None,
) -> Report:
    """The report of making a collection `slug` from the archive. If it has a refusal, nothing was written.

    With another `name` the collection counts as new, made now. `maker` becomes its admin. A job that only checks
    needs no slug. Raises ValueError for a slug that is taken or invalid. Needs memory for one piece, and 8 bytes
    for each line that others refer to.
    """
    checking = bool(job and job.checking)
    if not checking and (problem := wrong_slug(slug)):
        raise ValueError(problem)
    report = Report()
    with staged(*TABLES) as stage:
        check(archive, stage, report, progress)
        if name:
            now = str(timezone.now().replace(tzinfo=None))
            stage.execute("UPDATE collection SET name = ?, created_at = ?", [name, now])
        if report.refused:
            return report
        fields = _collection_fields(stage)
        tell = partial(_report_facts, archive, fields["name"] if checking else slug, checking, report)
        if checking:
            tell()
        else:
            remove_dead_archives()
            write = partial(_write, stage, slug, maker, archive, report, progress)
            collection = Collection(slug=None, **fields)
            land(collection, [archive], report, Job.Kind.ARCHIVE, job, write, tell)
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


def _collection_fields(stage: sqlite3.Connection) -> dict[str, Any]:
    names = BY_NAME["collection"].fields
    (row,) = stage.execute("SELECT " + ", ".join(f'"{name}"' for name in names) + " FROM collection")
    about = dict(zip(names, row, strict=True))
    return about | {"aim": json.loads(about["aim"])}


def _report_facts(archive: Archive, name: str, checking: bool, report: Report) -> None:
    n = report.counts
    content = [counted(n["queries"], "query", "queries"), counted(n["documents"], "document")]
    content += [counted(n["systems"], "system"), counted(n["raters"], "rater"), counted(n["ratings"], "rating")]
    if n["judges"]:
        content += [counted(n["judges"], "judge"), counted(n["machine_grades"], "pair asked", "pairs asked")]
    made = f"Collection {name}, with" if checking else f"Collection {name} made, with"
    report.facts.append(f"{made} {', '.join(content)}.")
    report.facts.append(f"Snapshot {archive.snapshot}.")
    if n["tokens"]:
        rows = counted(n["tokens"], "pair or check has", "pairs and checks have")
        report.warnings.append(f"{rows} an address that is in use here, and got a new one: this is a copy.")


# Write


def _write(
    stage: sqlite3.Connection,
    slug: str,
    maker: AbstractBaseUser | None,
    archive: Archive,
    report: Report,
    progress: Progress,
    place: Landing,
) -> None:
    """Write all members, each after those that it refers to, and at last the slug, which makes all visible."""
    for number, digest in enumerate(sorted(archive.pictures), 1):
        store.keep(archive.picture(digest))  # a file that no row names is removed later
        progress("writing pictures", number / len(archive.pictures), number)
    copy = _Copy(stage, place, report, progress)
    for member in archive.members[1:]:
        copy.member(member)
    place.analyze(*({MODELS[member.name] for member in archive.members[1:]} - set(GROWING)))
    report.counts["new"] = 1
    collection = Collection.written.filter(pk=place.job.collection_id)
    created_at = datetime.fromisoformat(_collection_fields(stage)["created_at"]).replace(tzinfo=UTC)
    try:
        with place.published(report):
            collection.update(slug=slug, created_at=created_at)
            if maker:
                Membership.objects.create(collection=place.job.collection, user=maker, role=Role.ADMIN)
    except IntegrityError:
        report.counts.clear()
        problem = f"somebody made a collection {slug!r} meanwhile"
        report.refuse(archive.refusal(0, problem, "Choose another name."))


class _Copy:
    """Copies the stage into the database."""

    def __init__(self, stage: sqlite3.Connection, place: Landing, report: Report, progress: Progress) -> None:
        self.stage, self.place, self.report, self.progress = stage, place, report, progress
        self.ids: Ids = {}

    def member(self, member: Member) -> None:
        model, total, done = MODELS[member.name], self.report.counts[member.name], 0
        fields = [field for field in model._meta.concrete_fields if not field.primary_key]
        own = self.ids[member.name] = array("q", [0])
        select, parameters = self._select(member, fields)
        linked = [(1 + fields.index(field), id_of) for field, id_of in self._links(member, fields)]
        for rows in pieces(self.stage.execute(select, parameters)):
            with self.place.piece(len(rows)):
                new = new_ids(model, len(rows))
                records = [[pk, *values] for pk, (_, *values) in zip(new, rows, strict=True)]
                if member.name in NAMED:
                    own.extend(new)
                for place, id_of in linked:
                    for record in records:
                        if record[place] is not None:
                            record[place] = id_of(record[place])
                if "token" in member.fields:
                    self._renew_tokens(model, records, 1 + fields.index(model._meta.get_field("token")))
                insert(model, ["id", *(field.column for field in fields)], records)
            done += len(rows)
            self.progress(f"writing {member.name}", done / total, done)

    def _select(self, member: Member, fields: Sequence[Field]) -> tuple[str, list]:
        """A SELECT of the size of each line and a value for each column of the model, and its parameters.

        A value is the number of a line that is referred to, a field of the line, or a default. The round of an
        assignment is a copy that the queue keeps. It is taken from the pair, so that they always agree.
        """
        values, joins, parameters = ["m.size"], [], []
        for field in fields:
            named = member.named.get(field.name, field.name)
            if field.name in member.refers:
                name = f"t{len(joins)}"
                joins.append(joined(member, name, member.refers[field.name]))
                values.append(f"{name}.{NUMBER}")
            elif named in member.fields:
                values.append(f'm."{named}"')
            elif member.name == "assignments" and field.name == "round":
                joins.append(joined(member, "of_pair", ("drawn", PAIR)))
                values.append(f"COALESCE(of_pair.round, {UNDRAWN})")
            else:
                values.append("?")
                parameters.append(self._default(member, field))
        select = f'SELECT {", ".join(values)} FROM "{member.name}" AS m {" ".join(joins)} ORDER BY m.{NUMBER}'
        return select, parameters

    def _default(self, member: Member, field: Field) -> Any:
        if field.name == "collection":
            return self.place.job.collection_id
        default = OF_IMPORTS.get(field.name) if member.name == "imports" else None
        default = field.get_default() if default is None else default
        return json.dumps(default) if isinstance(default, dict | list) else default

    def _links(self, member: Member, fields: Sequence[Field]) -> Iterator[tuple[Field, Callable]]:
        """The fields whose values are line numbers, each with the function from such a number to an id."""
        for field in fields:
            if field.name in member.refers:
                yield field, self.ids[member.refers[field.name][0]].__getitem__
            elif member.name == "rankings" and field.name == "documents":
                ids = np.frombuffer(self.ids["documents"], np.int64)
                yield field, lambda lines, ids=ids: ids[np.frombuffer(lines, "<u4")].astype("<u4").tobytes()

    def _renew_tokens(self, model: type[Model], rows: list[list], place: int) -> None:
        """Give a new token to each row whose token is in use already: tokens are unique."""
        tokens = [row[place] for row in rows]
        existing = model.objects.filter(token__in=among(tokens, "uuid")).values_list("token", flat=True)
        taken = {token.hex for token in existing}
        for row in rows:
            if row[place] in taken:
                row[place] = uuid4().hex
        self.report.counts["tokens"] += len(taken)

"""Freeze an evaluation: store its inputs in canonical form, its numbers, and the circumstances."""

import hashlib
import inspect
import json
import tempfile
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache

import numpy as np
import pandas as pd
from django.conf import settings as django_settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from ratings import audit
from ratings.models import Collection

from .. import record, scores
from ..analyses import report
from ..cache import Columns
from ..decisive import Aim, State, systems_of
from ..measures import Judgments, Measure, Options, Rankings, parse_measure
from ..models import FrozenEvaluation, FrozenPart
from ..record import InUse, Record
from ..scores import Evaluation, Setup
from ..significance import bootstrap_interval
from . import content
from .content import File, Settings
from .expected import defined, expected_in, machine_lines, pool_lines, round_lines, stored

IN_MEMORY = 1 << 24  # bytes of compressed content; more is buffered in a temporary file
AT_ONCE = 16  # parts that are written with one statement
DIGEST = "digests/"  # prefix of the part with a file's digests by query
NUMBERS = {"values": "<f8", "codes": "|i1", "seen": "<f8"}  # parts with an array of queries and columns each


class NameTaken(ValueError):
    """Another frozen evaluation of the collection has the name."""


@dataclass(frozen=True)
class About:
    """The circumstances of a frozen evaluation. No part of the hash."""

    collection: str  # slug
    collection_name: str
    profile: str
    record_version: int  # record.Version.number
    scale_version: int
    guidelines_version: int  # 0: there were none
    presentation_version: int  # likewise
    grades: list[list[str]]  # value and label, lowest first
    judgments: int
    ratings: int  # grades by people
    raters: int
    adjudicated: int  # adjudicated pairs, whether used or not
    software: str
    expected: dict = field(default_factory=dict)  # the expected values by measure: see StoredOutlook


def freeze(
    collection: Collection,
    name: str,
    measures: Iterable[Measure | str],
    setup: Setup,
    note: str = "",
    by=None,
    expected: bool = False,
) -> tuple[FrozenEvaluation, bool]:
    """The frozen evaluation of what `evaluate` gives now, and whether it is new: one content is frozen once.

    `by` is the account that froze it; `expected`: with the expected values of the measures that have them. Raises
    NameTaken, and ValueError as `evaluate` does.
    """
    measures = tuple(dict.fromkeys(scores.measure_for(collection, str(measure)) for measure in measures))
    options = setup.options
    used = record.machines(collection) if expected else ()
    # Read before the rows, which can then only be newer than the version that stands beside them.
    version, terms = record.version(collection), record.terms(collection)
    found, judgments = scores.read(collection, options, setup.systems, setup.rule, setup.adjudications)
    if not found.systems or not judgments.count.any():
        raise ValueError(f"{collection.slug} has no numbers yet that could be frozen.")
    asked = Settings(
        measures=measures,
        options=options,
        rule=setup.rule,
        adjudications=setup.adjudications,
        interval=interval(),
        judgments=content.QRELS if content.fits_qrels(judgments.grade) else content.GRADES,
        systems=tuple(_with_empty(found)),
        expected=_to_expect(collection, measures, options, found.systems, used) if expected else None,
    )
    evaluation = scored(collection.slug, found.queries, judgments, found.rankings, asked)
    about = About(
        collection=collection.slug,
        collection_name=collection.name,
        profile=setup.profile,
        record_version=version.number,
        scale_version=terms.scale_version,
        guidelines_version=terms.guidelines_version,
        presentation_version=terms.presentation_version,
        grades=[list(grade) for grade in terms.grades],
        judgments=len(judgments.grade),
        ratings=len(found.ratings.grade),
        raters=len(np.unique(found.ratings.rater)),
        adjudicated=len(found.ratings.adjudicated.grade),
        software=software(),
    )
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as room:
        parts = Parts(room)
        files = _write_content(collection, found, judgments, asked, used, parts)
        if asked.expected:
            # From the files, so that whoever computes them again has the same order of documents.
            told = expected_in(asked, parts.lines)
            evaluation = replace(evaluation, expected=told)
            about = replace(about, expected=stored(told, found.systems))
        _write_numbers(evaluation, parts)
        made = FrozenEvaluation(
            collection=collection,
            name=name,
            note=note,
            hash=content.hash_of(files),
            created_at=timezone.now(),
            created_by=by,
            settings=asked.as_text(),
            files=json.dumps([asdict(file) for file in files]),
            about=json.dumps(asdict(about)),
            summary=json.dumps(list(summary_rows(evaluation)), allow_nan=False),
        )
        return _saved(made, parts)


def _to_expect(
    collection: Collection,
    measures: Iterable[Measure],
    options: Options,
    systems: Sequence[str],
    used: Sequence[InUse],
) -> dict:
    """What `Settings.expected` has. ValueError where nothing can be expected, or without all of its systems."""
    about = [*(systems_of(collection) or collection.systems.order_by("name").values_list("name", flat=True))]
    if not set(about) <= set(systems):
        raise ValueError("expected values rest on the rankings of all systems: leave out --system.")
    return {
        "measures": [str(measure) for measure in defined(measures, options)],
        "scale": record.scale(collection),
        "systems": [name for name in systems if name in about],
        **({"machines": [each.machine.as_json() for each in used]} if used else {}),
    }


def _saved(made: FrozenEvaluation, parts: "Parts") -> tuple[FrozenEvaluation, bool]:
    """The frozen evaluation in the database and True, or an existing one with the same content and False."""
    others = made.collection.frozen_evaluations
    with suppress(IntegrityError), transaction.atomic():
        made.save()
        parts.write(made)
        audit.note(audit.Act.FROZEN, made.collection, about=made.name, sha256=made.hash)
        return made, True
    # It existed before, or somebody froze the same content at the same moment.
    same = others.filter(hash=made.hash).first()
    if same is None:
        raise NameTaken(
            f"another frozen evaluation of this collection is called {made.name!r}; take another name."
        )
    return same, False


class Parts:
    """Compressed parts, buffered until all are made, so that the write transaction is short."""

    def __init__(self, room) -> None:
        self.room = room
        self.known: list[tuple[str, int, int]] = []  # name, place, length

    def keep(self, name: str, place: int, data: bytes) -> None:
        packed = zlib.compress(data)
        self.known.append((name, place, len(packed)))
        self.room.write(packed)

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a file that was kept, each with its \\n."""
        place = 0
        for known, _, length in self.known:
            if known == name:
                self.room.seek(place)
                yield from zlib.decompress(self.room.read(length)).splitlines(keepends=True)
            place += length
        self.room.seek(place)

    def write(self, frozen: FrozenEvaluation) -> None:
        self.room.seek(0)
        for start in range(0, len(self.known), AT_ONCE):
            FrozenPart.objects.bulk_create(
                FrozenPart(frozen=frozen, name=name, place=place, content=self.room.read(length))
                for name, place, length in self.known[start : start + AT_ONCE]
            )


def scored(
    name: str, queries: pd.DataFrame, judgments: Judgments, rankings: dict[str, Rankings], asked: Settings
) -> Evaluation:
    """The evaluation of these arrays by these settings; `queries` has the columns key and weight."""
    evaluation = scores.of_arrays(name, queries["key"], judgments, rankings, asked.measures, asked.options)
    table = Columns(replace(evaluation.table.record, queries=queries), evaluation.table.of)
    return replace(evaluation, rule=asked.rule, adjudications=asked.adjudications, table=table)


def interval() -> dict:
    """Level, draws and seed of the bootstrap intervals."""
    known = inspect.signature(bootstrap_interval).parameters
    return {name: known[name].default for name in ("level", "draws", "seed")}


@cache
def software() -> str:
    """The name and version of this program."""
    project = tomllib.loads((django_settings.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['name'].capitalize()} {project['version']}"


def summary_rows(evaluation: Evaluation) -> Iterator[dict]:
    """The summary as plain rows, one for each system and measure; None where there is no value."""
    for (system, measure), row in zip(
        evaluation.summary.index, evaluation.summary.to_dict("records"), strict=True
    ):
        yield {"system": system, "measure": measure} | {name: report.known(row[name]) for name in row}


def _with_empty(found: Record) -> Iterator[content.System]:
    for system in content.named(found.systems):
        rankings = found.rankings[system.system]
        empty = found.queries["key"][rankings.present & (rankings.length == 0)]
        yield replace(system, empty=tuple(empty))


def _write_content(
    collection: Collection,
    found: Record,
    judgments: Judgments,
    asked: Settings,
    used: Sequence[InUse],
    parts: Parts,
) -> list[File]:
    writer, digests = content.Writer(parts.keep), Digests(len(found.queries))
    listed = (rankings.documents for rankings in found.rankings.values())
    keys = record.Keys([judgments.document, *listed])
    files = [
        writer.write(content.SETTINGS, [asked.as_text()]),
        writer.write(content.QUERIES, content.query_lines(found.queries)),
        writer.write(asked.judgments, digests.seen(_judgment_lines(found, judgments, asked.judgments, keys))),
    ]
    digests.keep(asked.judgments, parts)
    for system in asked.systems:
        files.append(writer.write(system.run, digests.seen(_run_lines(collection, found, system, keys))))
        digests.keep(system.run, parts)
    if asked.expected:
        files += _write_rounds(collection, asked, used, writer)
    return files


def _write_rounds(
    collection: Collection, asked: Settings, used: Sequence[InUse], writer: content.Writer
) -> list[File]:
    measure = parse_measure(asked.expected["measures"][0])
    systems = tuple(asked.expected["systems"])
    aim = Aim(measure, asked.options, rule=asked.rule, adjudications=asked.adjudications, systems=systems)
    state = State.of(collection, aim, used)
    keys = record.Keys([state.pool.document])
    files = [
        writer.write(content.POOL, pool_lines(state, keys)),
        writer.write(content.ROUNDS, round_lines(state, keys)),
    ]
    return [*files, writer.write(content.MACHINES, machine_lines(state, keys))] if used else files


class Digests:
    """A hash of eight bytes for each query of a file, by which `changes` finds the queries that differ.

    Of a run only its documents are hashed: other scores in the same order are no other ranking. Of judgments the
    grades are hashed, whichever form the file has.
    """

    def __init__(self, queries: int) -> None:
        self.of = np.zeros(queries, "<u8")

    def seen(self, groups: Iterable[tuple[int, str, str]]) -> Iterator[str]:
        """The lines of each (row of the query, text to hash, lines), hashed as they pass."""
        self.of[:] = 0
        for row, text, lines in groups:
            self.of[row] = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
            yield lines

    def keep(self, name: str, parts: Parts) -> None:
        parts.keep(DIGEST + name, 0, self.of.tobytes())


def _judgment_lines(
    found: Record, judgments: Judgments, name: str, keys: record.Keys
) -> Iterator[tuple[int, str, str]]:
    line = content.qrels_line if name == content.QRELS else content.grade_line
    ends = np.append(0, np.cumsum(judgments.count))
    for place, query in enumerate(found.queries["key"]):
        rows = slice(ends[place], ends[place + 1])
        listed = sorted(zip(keys.of(judgments.document[rows]), judgments.grade[rows].tolist(), strict=True))
        if listed:
            counts = "\n".join(f"{document} {grade!r}" for document, grade in listed)
            yield place, counts, "".join(line(query, document, grade) for document, grade in listed)


def _run_lines(
    collection: Collection, found: Record, system: content.System, keys: record.Keys
) -> Iterator[tuple[int, str, str]]:
    queries = found.queries["key"].tolist()
    for place, pks, results in record.results(collection, found, system.system):
        documents = keys.of(pks)
        yield place, "\n".join(documents), content.run_lines(queries[place], documents, results, system.tag)


def _write_numbers(evaluation: Evaluation, parts: Parts) -> None:
    for name, dtype in NUMBERS.items():
        data = evaluation.table.of[name].astype(dtype).tobytes()
        for place, start in enumerate(range(0, max(len(data), 1), content.PIECE)):
            parts.keep(name, place, data[start : start + content.PIECE])

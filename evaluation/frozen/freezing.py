"""Freeze an evaluation: store its inputs in canonical form, its numbers and its circumstances."""

import hashlib
import inspect
import json
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pandas as pd
from django.conf import settings as django_settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from ratings.models import Collection
from ratings.people import audit

from .. import record, scores
from ..expected import scope
from ..measures import Judgments, Measure, Options, Rankings
from ..models import FrozenEvaluation, FrozenPart
from ..record import InUse, Record
from ..record.cache import Columns
from ..scores import Asked, Evaluation
from ..scores.expected import estimator, systems_of
from ..significance import bootstrap_interval
from . import content
from .content import File, Settings

IN_MEMORY = 1 << 24  # bytes of compressed content; more is buffered in a temporary file
AT_ONCE = 16  # parts written with one statement
DIGEST = "digests/"  # prefix of the name of the part with a file's digests by query
NUMBERS = {"values": "<f8", "codes": "|i1", "seen": "<f8"}  # arrays [queries, columns] by name, with their types


class NameTaken(ValueError):
    """Another frozen evaluation of the collection has the name."""


@dataclass(frozen=True)
class About:
    """The circumstances of a frozen evaluation, which are no part of the hash. Fields are members of JSON."""

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
    adjudicated: int  # adjudicated pairs, whether or not adjudications are used
    software: str
    expected: dict = field(default_factory=dict)  # `Expected.as_json` by measure


def freeze(
    collection: Collection,
    name: str,
    asked: Asked,
    beside: Iterable[Measure | str] = (),
    note: str = "",
    by=None,
    expected: bool = False,
) -> tuple[FrozenEvaluation, bool]:
    """Freezes the present evaluation. Returns it, and whether it is new: equal content is frozen only once.

    beside: further measures, with the same settings; by: the account that freezes; expected: with the expected
    values of the measures that have them. NameTaken, and ValueError as from `evaluate`.
    """
    more = (scores.measure_for(collection, str(measure)) for measure in beside)
    measures = tuple(dict.fromkeys([asked.measure, *more]))
    used = record.machines(collection) if expected else ()
    # Read before the rows, so that the rows can be newer than the stored version and never older.
    version, terms = record.version(collection), record.terms(collection)
    data, judgments = scores.read(collection, asked)
    if not data.systems or not judgments.count.any():
        raise ValueError(f"{collection.slug} has no numbers yet that could be frozen.")
    settings = Settings(
        measures=measures,
        options=asked.options,
        rule=asked.rule,
        adjudications=asked.adjudications,
        interval=interval(),
        judgments=content.QRELS if content.fits_qrels(judgments.grade) else content.GRADES,
        systems=tuple(_with_empty(data)),
        expected=_expected_settings(collection, measures, asked.options, data.systems, used) if expected else {},
    )
    evaluation = evaluate_arrays(collection.slug, data.queries, judgments, data.rankings, settings)
    about = About(
        collection=collection.slug,
        collection_name=collection.name,
        profile=asked.profile,
        record_version=version.number,
        scale_version=terms.scale_version,
        guidelines_version=terms.guidelines_version,
        presentation_version=terms.presentation_version,
        grades=[list(grade) for grade in terms.grades],
        judgments=len(judgments.grade),
        ratings=len(data.ratings.grade),
        raters=len(np.unique(data.ratings.rater)),
        adjudicated=len(data.ratings.adjudicated.grade),
        software=software(),
    )
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as buffer:
        parts = Parts(buffer)
        files = _write_content(collection, data, judgments, settings, used, parts)
        if settings.expected:
            # From the files, so that computing them again has the same order of documents.
            evaluation = replace(evaluation, expected=estimator().expected_in(settings, parts.lines))
            means = {str(measure): told.as_json() for measure, told in evaluation.expected.items()}
            about = replace(about, expected=means)
        _write_numbers(evaluation, parts)
        frozen = FrozenEvaluation(
            collection=collection,
            name=name,
            note=note,
            hash=content.hash_of(files),
            created_at=timezone.now(),
            created_by=by,
            settings=settings.as_text(),
            files=json.dumps([asdict(file) for file in files]),
            about=json.dumps(asdict(about)),
            summary=json.dumps(list(summary_rows(evaluation)), allow_nan=False),
        )
        return _save(frozen, parts)


def _expected_settings(
    collection: Collection,
    measures: Sequence[Measure],
    options: Options,
    systems: Sequence[str],
    used: Sequence[InUse],
) -> dict:
    """The members of `Settings.expected`.

    ValueError where expected values are not defined, and where one of their systems is not among `systems`.
    """
    needed = [*(systems_of(collection) or collection.systems.order_by("name").values_list("name", flat=True))]
    if not set(needed) <= set(systems):
        raise ValueError("expected values rest on the rankings of all systems: leave out --system.")
    defined = [measure for measure in measures if scope.is_defined(measure, options)]
    if not defined:
        scope.refuse(measures[0], options)
    return {
        "measures": list(map(str, defined)),
        "scale": record.scale(collection),
        "systems": [name for name in systems if name in needed],
        **({"machines": [each.machine.as_json() for each in used]} if used else {}),
    }


def _save(frozen: FrozenEvaluation, parts: "Parts") -> tuple[FrozenEvaluation, bool]:
    """Saves the frozen evaluation. Returns it and True, or an existing one with the same content and False."""
    others = frozen.collection.frozen_evaluations
    with suppress(IntegrityError), transaction.atomic():
        frozen.save()
        parts.write(frozen)
        audit.note(audit.Act.FROZEN, frozen.collection, about=frozen.name, sha256=frozen.hash)
        return frozen, True
    # It existed before, or somebody froze the same content at the same moment.
    same = others.filter(hash=frozen.hash).first()
    if same is None:
        raise NameTaken(
            f"another frozen evaluation of this collection is called {frozen.name!r}; take another name."
        )
    return same, False


class Parts:
    """Compressed parts, buffered until all are made, so that the write transaction is short."""

    def __init__(self, buffer) -> None:
        self.buffer = buffer
        self.index: list[tuple[str, int, int]] = []  # name, place, length

    def keep(self, name: str, place: int, data: bytes) -> None:
        packed = zlib.compress(data)
        self.index.append((name, place, len(packed)))
        self.buffer.write(packed)

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a buffered file, each with its \\n."""
        start = 0
        for known, _, length in self.index:
            if known == name:
                self.buffer.seek(start)
                yield from zlib.decompress(self.buffer.read(length)).splitlines(keepends=True)
            start += length
        self.buffer.seek(start)

    def write(self, frozen: FrozenEvaluation) -> None:
        """Writes all parts into the database."""
        self.buffer.seek(0)
        for start in range(0, len(self.index), AT_ONCE):
            FrozenPart.objects.bulk_create(
                FrozenPart(frozen=frozen, name=name, place=place, content=self.buffer.read(length))
                for name, place, length in self.index[start : start + AT_ONCE]
            )


def evaluate_arrays(
    name: str, queries: pd.DataFrame, judgments: Judgments, rankings: dict[str, Rankings], asked: Settings
) -> Evaluation:
    """The evaluation of these arrays by these settings. queries: with the columns key and weight."""
    evaluation = scores.of_arrays(name, queries["key"], judgments, rankings, asked.asked, asked.measures)
    return replace(
        evaluation, table=Columns(replace(evaluation.table.record, queries=queries), evaluation.table.of)
    )


def interval() -> dict:
    """The level, draws and seed of the bootstrap intervals, by name."""
    parameters = inspect.signature(bootstrap_interval).parameters
    return {name: parameters[name].default for name in ("level", "draws", "seed")}


def software() -> str:
    """The name and version of this program."""
    return f"Idealist {django_settings.VERSION}"


def summary_rows(evaluation: Evaluation) -> Iterator[dict]:
    """The summary as JSON, a row for each system and measure; None where there is no value."""
    for row in evaluation.by_column.values():
        yield {"system": row.system, "measure": row.measure} | row.numbers


def _with_empty(data: Record) -> Iterator[content.System]:
    """The systems of the record, each with its queries that have an empty ranking."""
    for system in content.systems_of(data.systems):
        rankings = data.rankings[system.system]
        empty = data.queries["key"][rankings.present & (rankings.length == 0)]
        yield replace(system, empty=tuple(empty))


def _write_content(
    collection: Collection,
    data: Record,
    judgments: Judgments,
    asked: Settings,
    used: Sequence[InUse],
    parts: Parts,
) -> list[File]:
    """Writes the canonical files and their digests. Returns the files, in their order."""
    writer, digests = content.Writer(parts.keep), Digests(len(data.queries))
    listed = (rankings.documents for rankings in data.rankings.values())
    keys = record.Keys([judgments.document, *listed])
    files = [
        writer.write(content.SETTINGS, [asked.as_text()]),
        writer.write(content.QUERIES, content.query_lines(data.queries)),
        writer.write(asked.judgments, digests.update(_judgment_lines(data, judgments, asked.judgments, keys))),
    ]
    digests.keep(asked.judgments, parts)
    for system in asked.systems:
        files.append(writer.write(system.run, digests.update(_run_lines(collection, data, system, keys))))
        digests.keep(system.run, parts)
    if asked.expected:
        files += [writer.write(name, lines) for name, lines in estimator().files(collection, asked, used)]
    return files


class Digests:
    """A hash of eight bytes for each query of a file, by which `changes` finds the queries that differ.

    Of a run only the documents are hashed, since other scores in the same order are the same ranking. Of judgments
    the grades are hashed, in whichever format the file is.
    """

    def __init__(self, queries: int) -> None:
        self.values = np.zeros(queries, "<u8")

    def update(self, groups: Iterable[tuple[int, str, str]]) -> Iterator[str]:
        """The lines of each (row of the query, text to hash, lines), whose texts are hashed on the way."""
        self.values[:] = 0
        for row, text, lines in groups:
            self.values[row] = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
            yield lines

    def keep(self, name: str, parts: Parts) -> None:
        parts.keep(DIGEST + name, 0, self.values.tobytes())


def _judgment_lines(
    data: Record, judgments: Judgments, name: str, keys: record.Keys
) -> Iterator[tuple[int, str, str]]:
    """The groups of lines of the file of judgments, for `Digests.update`."""
    line = content.qrels_line if name == content.QRELS else content.grade_line
    ends = np.append(0, np.cumsum(judgments.count))
    for place, query in enumerate(data.queries["key"]):
        rows = slice(ends[place], ends[place + 1])
        listed = sorted(zip(keys.of(judgments.document[rows]), judgments.grade[rows].tolist(), strict=True))
        if listed:
            hashed = "\n".join(f"{document} {grade!r}" for document, grade in listed)
            yield place, hashed, "".join(line(query, document, grade) for document, grade in listed)


def _run_lines(
    collection: Collection, data: Record, system: content.System, keys: record.Keys
) -> Iterator[tuple[int, str, str]]:
    """The groups of lines of a run file, for `Digests.update`."""
    queries = data.queries["key"].tolist()
    for place, pks, results in record.results(collection, data, system.system):
        documents = keys.of(pks)
        yield place, "\n".join(documents), content.run_lines(queries[place], documents, results, system.tag)


def _write_numbers(evaluation: Evaluation, parts: Parts) -> None:
    for name, dtype in NUMBERS.items():
        data = evaluation.table.of[name].astype(dtype).tobytes()
        for place, start in enumerate(range(0, max(len(data), 1), content.PIECE)):
            parts.keep(name, place, data[start : start + content.PIECE])

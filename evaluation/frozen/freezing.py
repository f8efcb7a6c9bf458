"""Freeze an evaluation: store its inputs in canonical form, its numbers and its circumstances."""

import hashlib
import inspect
import json
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

AT_ONCE = 16  # parts written with one statement
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
    parts = Parts()
    files = [parts.write(name, lines) for name, lines in _files(collection, data, judgments, settings, used)]
    if settings.expected:
        # From the files, so that computing them again has the same order of documents.
        evaluation = replace(evaluation, expected=estimator().expected_in(settings, parts.lines))
        means = {str(measure): told.as_json() for measure, told in evaluation.expected.items()}
        about = replace(about, expected=means)
    for array, dtype in NUMBERS.items():
        numbers = evaluation.table.of[array].astype(dtype).tobytes()
        for place, start in enumerate(range(0, max(len(numbers), 1), content.PIECE)):
            parts.keep(array, place, numbers[start : start + content.PIECE])
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
        for part in parts.rows:
            part.frozen = frozen
        FrozenPart.objects.bulk_create(parts.rows, AT_ONCE)
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
    """Compressed parts, in memory until all are made, so that the write transaction is short."""

    def __init__(self) -> None:
        self.rows: list[FrozenPart] = []

    def keep(self, name: str, place: int, piece: bytes) -> None:
        self.rows.append(FrozenPart(name=name, place=place, content=zlib.compress(piece)))

    def write(self, name: str, groups: Iterable[str]) -> File:
        """Keeps a file of groups of whole lines. Returns its name, size and hash."""
        digest, lines, size = hashlib.sha256(), 0, 0
        for place, piece in enumerate(content.pieces_of(groups)):
            digest.update(piece)
            lines, size = lines + piece.count(b"\n"), size + len(piece)
            self.keep(name, place, piece)
        return File(name, lines, size, digest.hexdigest())

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a file, each with its \\n."""
        for row in self.rows:
            if row.name == name:
                yield from zlib.decompress(row.content).splitlines(keepends=True)


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


def _files(
    collection: Collection, data: Record, judgments: Judgments, asked: Settings, used: Sequence[InUse]
) -> Iterator[tuple[str, Iterable[str]]]:
    """The name of each canonical file and its groups of lines, in their order."""
    listed = (rankings.documents for rankings in data.rankings.values())
    keys = record.Keys([judgments.document, *listed])
    yield content.SETTINGS, [asked.as_text()]
    yield content.QUERIES, content.query_lines(data.queries)
    yield asked.judgments, _judgment_lines(data, judgments, asked.judgments, keys)
    for system in asked.systems:
        yield system.run, _run_lines(collection, data, system, keys)
    if asked.expected:
        yield from estimator().files(collection, asked, used)


def _judgment_lines(data: Record, judgments: Judgments, name: str, keys: record.Keys) -> Iterator[str]:
    """The lines of the judgments of each query."""
    line = content.qrels_line if name == content.QRELS else content.grade_line
    ends = np.append(0, np.cumsum(judgments.count))
    for place, query in enumerate(data.queries["key"]):
        rows = slice(ends[place], ends[place + 1])
        listed = sorted(zip(keys.of(judgments.document[rows]), judgments.grade[rows].tolist(), strict=True))
        yield "".join(line(query, document, grade) for document, grade in listed)


def _run_lines(collection: Collection, data: Record, system: content.System, keys: record.Keys) -> Iterator[str]:
    """The lines of each ranking of a run."""
    queries = data.queries["key"].tolist()
    for place, pks, results in record.results(collection, data, system.system):
        yield content.run_lines(queries[place], keys.of(pks), results, system.tag)

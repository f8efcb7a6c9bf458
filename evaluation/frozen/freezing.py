"""Freeze an evaluation: store its inputs in canonical form, its numbers and its circumstances."""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pandas as pd
from django.conf import settings as django_settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from ratings.models import Collection
from ratings.people import audit
from ratings.pool import ageing

from .. import record, scores
from ..measures import Judgments, Measure, Rankings
from ..models import FrozenEvaluation, FrozenPart
from ..record import InUse, Record
from ..record.cache import Columns
from ..scores import Asked, Evaluation
from ..scores.expected import estimator, is_defined, refuse_undefined, systems_of
from ..significance.draws import BOOTSTRAP_DRAWS, SEED
from . import content
from .content import File, Settings

PARTS_PER_STATEMENT = 16  # written
# The types of the arrays that are stored, by name: each is [queries, columns], with a column for each measure of
# each system.
STORED_ARRAYS = {"values": "<f8", "codes": "|i1", "seen": "<f8"}
INTERVAL = {"level": 0.95, "draws": BOOTSTRAP_DRAWS, "seed": SEED}  # of `bootstrap_interval` by default


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
    older_texts: int = 0  # ratings that were given to an older text of their document
    expected: dict = field(default_factory=dict)  # `Expected.as_json` by measure


def freeze(
    collection: Collection,
    name: str,
    asked: Asked,
    beside: Iterable[Measure | str] = (),
    *,
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
    version = record.version(collection)
    terms = record.terms(collection)
    data, judgments = scores.read(collection, asked)
    if not data.systems or not judgments.count.any():
        raise ValueError(f"{collection.slug} has no numbers yet that could be frozen.")
    settings = Settings(
        measures=measures,
        options=asked.options,
        rule=asked.rule,
        adjudications=asked.adjudications,
        left_out=asked.left_out,
        left_out_queries=tuple(data.left_out_queries),
        interval=INTERVAL,
        judgments=content.QRELS if content.fits_qrels(judgments.grade) else content.GRADES,
        systems=tuple(_systems(data)),
        expected=_expected_settings(collection, asked, measures, data.systems, used) if expected else {},
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
        software=f"Idealist {django_settings.VERSION}",
        older_texts=ageing.to_older_text(ageing.of_collection(collection)).count(),
    )
    parts = Parts()
    files = [parts.write(name, lines) for name, lines in _files(collection, data, judgments, settings, used)]
    if settings.expected:
        # From the files, so that computing them again has the same order of documents.
        expected_means = estimator().expected_in(settings, parts.lines)
        evaluation = replace(evaluation, expected=expected_means)
        about = replace(about, expected={str(each): means.as_json() for each, means in expected_means.items()})
    for array, dtype in STORED_ARRAYS.items():
        numbers = evaluation.table.of[array].astype(dtype).tobytes()
        for place, start in enumerate(range(0, max(len(numbers), 1), content.PIECE_BYTES)):
            parts.keep(array, place, numbers[start : start + content.PIECE_BYTES])
    summary = [
        {"system": row.system, "measure": row.measure} | row.numbers for row in evaluation.by_column.values()
    ]
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
        summary=json.dumps(summary, allow_nan=False),
    )
    return _save(frozen, parts)


def _expected_settings(
    collection: Collection,
    asked: Asked,
    measures: Sequence[Measure],
    systems: Sequence[str],
    used: Sequence[InUse],
) -> dict:
    """The members of `Settings.expected`: the measures that have expected values, the scale, systems and machines.

    Expected values are what means become once all pairs are judged. measures: all that are frozen, the asked one
    first; systems: the names of those that are frozen; used: the machines whose grades help to estimate.
    ValueError where no measure has expected values, and where these need a system that is not frozen.
    """
    # Expected values are about all systems or, where the order of rating was made to decide between chosen systems
    # (the decisive order), about these.
    needed = set(systems_of(collection) or collection.systems.values_list("name", flat=True))
    if not needed <= set(systems):
        raise ValueError("expected values rest on the rankings of all systems: leave out --system.")
    defined = [measure for measure in measures if is_defined(replace(asked, measure=measure))]
    if not defined:
        refuse_undefined(asked)  # raises the ValueError that says why
    members = {
        "measures": list(map(str, defined)),
        "scale": record.scale(collection),
        "systems": [name for name in systems if name in needed],
    }
    if used:
        members["machines"] = [in_use.machine._asdict() for in_use in used]
    return members


def _save(frozen: FrozenEvaluation, parts: "Parts") -> tuple[FrozenEvaluation, bool]:
    """Saves the frozen evaluation. Returns it and True, or an existing one with the same content and False.

    parts: the compressed pieces of its files and arrays. Raises NameTaken.
    """
    try:
        with transaction.atomic():
            frozen.save()
            for part in parts.rows:
                part.frozen = frozen
            FrozenPart.objects.bulk_create(parts.rows, PARTS_PER_STATEMENT)
            audit.note(audit.Act.FROZEN, frozen.collection, about=frozen.name, sha256=frozen.hash)
    except IntegrityError:
        # Hash and name are unique in a collection. Either the hash existed before, or somebody froze the same
        # content at the same moment; or else the name is taken.
        same = frozen.collection.frozen_evaluations.filter(hash=frozen.hash).first()
        if same is None:
            problem = f"another frozen evaluation of this collection is called {frozen.name!r}; take another name."
            raise NameTaken(problem) from None
        return same, False
    return frozen, True


class Parts:
    """Compressed parts, in memory until all are made, so that the write transaction is short."""

    def __init__(self) -> None:
        self.rows: list[FrozenPart] = []

    def keep(self, name: str, place: int, piece: bytes) -> None:
        self.rows.append(FrozenPart(name=name, place=place, content=zlib.compress(piece)))

    def write(self, name: str, groups: Iterable[str]) -> File:
        """Keeps a file of groups of whole lines. Returns its name, size and hash."""
        digest = hashlib.sha256()
        lines = size = 0
        for place, piece in enumerate(content.pieces_of(groups)):
            digest.update(piece)
            lines += piece.count(b"\n")
            size += len(piece)
            self.keep(name, place, piece)
        return File(name, lines=lines, bytes=size, sha256=digest.hexdigest())

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a file, each with its \\n."""
        for row in self.rows:
            if row.name == name:
                yield from zlib.decompress(row.content).splitlines(keepends=True)


def evaluate_arrays(
    name: str, queries: pd.DataFrame, judgments: Judgments, rankings: dict[str, Rankings], settings: Settings
) -> Evaluation:
    """The evaluation of these arrays by these settings. queries: with the columns key and weight."""
    evaluation = scores.of_arrays(name, queries["key"], judgments, rankings, settings.asked, settings.measures)
    left_out = settings.left_out_queries
    with_texts_and_weights = replace(evaluation.table.record, queries=queries, left_out_queries=left_out)
    return replace(evaluation, table=Columns(with_texts_and_weights, evaluation.table.of))


def _systems(data: Record) -> Iterator[content.System]:
    """The systems of the record, each with its queries that have an empty ranking, and whether others are gaps."""
    for system in content.systems_of(data.systems):
        rankings = data.rankings[system.system]
        empty = data.queries["key"][rankings.present & (rankings.length == 0)]
        yield replace(system, empty=tuple(empty), gaps=rankings.gaps)


def _files(
    collection: Collection, data: Record, judgments: Judgments, settings: Settings, used: Sequence[InUse]
) -> Iterator[tuple[str, Iterable[str]]]:
    """The name of each canonical file and its text, in their order: texts of whole lines, one after the other.

    used: the machines whose grades help to estimate expected values.
    """
    # The keys of all documents in judgments and rankings, which have pks.
    keys = record.Keys([judgments.document, *(rankings.documents for rankings in data.rankings.values())])
    yield content.SETTINGS, [settings.as_text()]
    yield content.QUERIES, content.query_lines(data.queries)
    yield settings.judgments, _judgment_lines(data, judgments, settings.judgments, keys)
    for system in settings.systems:
        yield system.run, _run_lines(collection, data, system, keys)
    if settings.expected:
        yield from estimator().files(collection, settings, used)


def _judgment_lines(data: Record, judgments: Judgments, name: str, keys: record.Keys) -> Iterator[str]:
    """The lines of the judgments of each query. name: of the file, which decides the form of a line."""
    line = content.qrels_line if name == content.QRELS else content.grade_line
    ends = np.append(0, np.cumsum(judgments.count))
    for place, query in enumerate(data.queries["key"]):
        rows = slice(ends[place], ends[place + 1])
        documents = keys.of(judgments.document[rows])
        by_document = sorted(zip(documents, judgments.grade[rows].tolist(), strict=True))
        yield "".join(line(query, document, grade) for document, grade in by_document)


def _run_lines(collection: Collection, data: Record, system: content.System, keys: record.Keys) -> Iterator[str]:
    """The lines of each ranking of a run."""
    queries = data.queries["key"].tolist()
    for place, documents, system_scores in record.results(collection, data, system.system):
        yield content.run_lines(queries[place], keys.of(documents), system_scores, system.tag)

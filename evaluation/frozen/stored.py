"""Read a frozen evaluation from the database: its settings, files and numbers."""

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..measures import parse_measure
from ..models import FrozenEvaluation, FrozenPart
from ..record import Record
from ..record.cache import Columns
from ..scores import Evaluation, Standing
from ..scores.expected import Expected, estimator
from . import content
from .content import File, Lines, Settings
from .freezing import NUMBERS, About, evaluate_arrays

AT_ONCE = 4  # parts fetched at a time


def settings_of(frozen: FrozenEvaluation) -> Settings:
    return Settings.parse(frozen.settings)


def files_of(frozen: FrozenEvaluation) -> list[File]:
    return [File(**row) for row in json.loads(frozen.files)]


def runs_of(frozen: FrozenEvaluation) -> dict[str, File]:
    """The run file of each system, by its name."""
    files = {file.name: file for file in files_of(frozen)}
    return {system.system: files[system.run] for system in settings_of(frozen).systems}


def about(frozen: FrozenEvaluation) -> About:
    return About(**json.loads(frozen.about))


def standings_of(frozen: FrozenEvaluation) -> dict[tuple[str, str], Standing]:
    """The stored standings by (system, measure): a later version could compute others."""
    rows = [Standing.of(row) for row in json.loads(frozen.summary)]
    return {(row.system, row.measure): row for row in rows}


def pieces(frozen: FrozenEvaluation, name: str) -> Iterator[bytes]:
    """The content of a canonical file or array, in chunks."""
    rows = FrozenPart.objects.filter(frozen=frozen, name=name).order_by("place").values_list("content", flat=True)
    for packed in rows.iterator(chunk_size=AT_ONCE):
        yield zlib.decompress(packed)


def lines_of(frozen: FrozenEvaluation) -> Lines:
    """A function from the name of a canonical file to its lines."""

    def lines(name: str) -> Iterator[bytes]:
        for piece in pieces(frozen, name):
            yield from piece.splitlines(keepends=True)

    return lines


def recomputed(frozen: FrozenEvaluation) -> Evaluation:
    """The evaluation computed again from the stored files. Raises Broken."""
    facts = about(frozen)
    return computed(facts.collection, settings_of(frozen), lines_of(frozen), facts.profile)


def computed(name: str, asked: Settings, lines: Lines, profile: str) -> Evaluation:
    """The evaluation computed from canonical files. Raises Broken."""
    judged = content.Judged.read(asked, lines)
    rankings = {
        system.system: judged.rankings(system, lines(system.run), asked.options.ties) for system in asked.systems
    }
    evaluation = evaluate_arrays(name, judged.queries, judged.judgments, rankings, asked)
    by_profile = replace(evaluation.asked, profile=profile)
    expected = estimator().expected_in(asked, lines) if asked.expected else {}
    return replace(evaluation, asked=by_profile, expected=expected)


def evaluation_of(frozen: FrozenEvaluation) -> Evaluation:
    """The evaluation with the stored numbers. Four database queries."""
    asked = settings_of(frozen)
    queries = content.read_queries(lines_of(frozen)(content.QUERIES))
    systems = tuple(system.system for system in asked.systems)
    shape = (len(queries), len(asked.measures) * len(systems))
    of = {
        name: np.frombuffer(b"".join(pieces(frozen, name)), dtype).reshape(shape)
        for name, dtype in NUMBERS.items()
    }
    facts = about(frozen)
    data = Record(facts.collection, queries, systems, ratings=None, values=None, rankings={})
    return Evaluation(
        collection=facts.collection,
        asked=replace(asked.asked, profile=facts.profile),
        measures=asked.measures,
        systems=systems,
        table=Columns(data, of),
        bounds={},
        expected={parse_measure(measure): Expected.from_json(each) for measure, each in facts.expected.items()},
        stored=standings_of(frozen),
    )

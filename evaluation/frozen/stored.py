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
from .freezing import STORED_ARRAYS, About, evaluate_arrays

PARTS_AT_A_TIME = 4  # fetched


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
    for packed in rows.iterator(chunk_size=PARTS_AT_A_TIME):
        yield zlib.decompress(packed)


def lines_of(frozen: FrozenEvaluation) -> Lines:
    """A function from the name of a canonical file to its lines."""

    def lines(name: str) -> Iterator[bytes]:
        for piece in pieces(frozen, name):
            yield from piece.splitlines(keepends=True)

    return lines


def computed(name: str, settings: Settings, lines: Lines, profile: str) -> Evaluation:
    """The evaluation computed from canonical files."""
    judged = content.Judged.read(settings, lines)
    rankings = {system.system: judged.rankings(system, lines(system.run)) for system in settings.systems}
    evaluation = evaluate_arrays(name, judged.queries, judged.judgments, rankings, settings)
    with_profile = replace(evaluation.asked, profile=profile)
    expected = estimator().expected_in(settings, lines) if settings.expected else {}
    return replace(evaluation, asked=with_profile, expected=expected)


def evaluation_of(frozen: FrozenEvaluation) -> Evaluation:
    """The evaluation with the numbers that were stored when it was frozen; nothing is computed.

    Four database queries.
    """
    settings, facts = settings_of(frozen), about(frozen)
    # `lines_of` returns a function, from the name of a file to its lines.
    queries = content.read_queries(lines_of(frozen)(content.QUERIES))
    systems = tuple(system.system for system in settings.systems)
    shape = (len(queries), len(settings.measures) * len(systems))  # a column for each measure and system
    arrays = {}
    for name, dtype in STORED_ARRAYS.items():
        stored_bytes = b"".join(pieces(frozen, name))
        arrays[name] = np.frombuffer(stored_bytes, dtype).reshape(shape)
    left_out = settings.left_out_queries
    # Without ratings, values of grades, and rankings: numbers that are stored need none.
    data = Record(facts.collection, queries, systems, None, values=None, rankings={}, left_out_queries=left_out)
    return Evaluation(
        # The settings have all options, and no profile: it decides no number, so it is among the circumstances.
        asked=replace(settings.asked, profile=facts.profile),
        measures=settings.measures,
        table=Columns(data, arrays),
        expected={parse_measure(measure): Expected.from_json(means) for measure, means in facts.expected.items()},
        stored=standings_of(frozen),
    )

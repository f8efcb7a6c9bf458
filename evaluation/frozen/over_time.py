"""The frozen evaluations of a collection over time: the means of each system, and the changes in between."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..measures import Measure
from ..models import FrozenEvaluation
from ..scores import Evaluation, Standing
from . import content
from .freezing import evaluate_arrays
from .stored import about, lines_of, runs_of, settings_of, standings_of

MOST = 1_000_000  # lines of runs scored for one page
CACHED = 256  # runs whose scores are cached in memory


@dataclass(frozen=True)
class Point:
    """One frozen evaluation, and the changes since the one before."""

    frozen: FrozenEvaluation
    means: list[dict]  # system, mean, low, high and queries
    changed: list[str]  # of "guidelines", "scale", "systems"


def labels(frozen: FrozenEvaluation) -> list[str]:
    """Its measures, each with its fingerprint: only means with the same label are comparable."""
    asked = settings_of(frozen)
    return [f"{each} {asked.asked.fingerprint_of(each)}" for each in asked.measures]


def points(all_frozen: Sequence[FrozenEvaluation], label: str) -> list[Point]:
    """The points of the frozen evaluations with this label, in their order."""
    rows = []
    for frozen in all_frozen:
        measures = dict(zip(labels(frozen), settings_of(frozen).measures, strict=True))
        if label in measures:
            rows.append((frozen, _means(standings_of(frozen), str(measures[label]))))
    return _with_changes(rows)


def rescored(all_frozen: Sequence[FrozenEvaluation], judged_by: FrozenEvaluation, measure: Measure) -> list[Point]:
    """The points of all frozen evaluations, scored by the queries, judgments and options of one of them.

    ValueError where that takes more than MOST lines of runs.
    """
    sizes = {
        _key(system, file, judged_by): file.lines for frozen in all_frozen for system, file in _systems(frozen)
    }
    left = sum(lines for key, lines in sizes.items() if key not in _scored)
    if left > MOST:
        raise ValueError(
            f"{left:,} lines of runs would have to be scored again, which takes longer than a reader waits. "
            "Take bundles of them: evaluate_files scores the runs of one with the judgments of another."
        )
    judged, asked, rows = None, settings_of(judged_by), []
    for frozen in all_frozen:
        means = []
        for system, file in _systems(frozen):
            key = _key(system, file, judged_by)
            if key not in _scored:
                judged = judged or content.Judged.read(asked, lines_of(judged_by))
                rankings = judged.rankings(system, lines_of(frozen)(system.run), asked.options.ties)
                while len(_scored) >= CACHED:
                    del _scored[next(iter(_scored))]
                _scored[key] = evaluate_arrays(
                    frozen.name, judged.queries, judged.judgments, {system.system: rankings}, asked
                )
            means += _means(_scored[key].by_column, str(measure), system.system)
        rows.append((frozen, means))
    return _with_changes(rows)


def _systems(frozen: FrozenEvaluation) -> Iterator[tuple[content.System, content.File]]:
    """Each system with its run file."""
    runs = runs_of(frozen)
    return ((system, runs[system.system]) for system in settings_of(frozen).systems)


# Entries stay valid, since neither runs nor judgments of frozen evaluations ever change.
_scored: dict[tuple, Evaluation] = {}


def _key(system: content.System, file: content.File, judged_by: FrozenEvaluation) -> tuple:
    return file.sha256, system.empty, judged_by.hash


def _means(standings: Mapping[tuple[str, str], Standing], measure: str, name: str | None = None) -> list[dict]:
    """The mean of each system in the measure, under `name` (None: the name of the system)."""
    return [
        {"system": name or row.system, "mean": row.mean, "low": row.low, "high": row.high, "queries": row.queries}
        for row in standings.values()
        if row.measure == measure
    ]


def _with_changes(rows: Sequence[tuple[FrozenEvaluation, list[dict]]]) -> list[Point]:
    """The points of these frozen evaluations and means, each with the changes since the one before."""
    before = [None, *(frozen for frozen, _ in rows)]
    return [
        Point(frozen, means, changed_since(last, frozen) if last else [])
        for last, (frozen, means) in zip(before, rows, strict=False)
    ]


def changed_since(before: FrozenEvaluation, frozen: FrozenEvaluation) -> list[str]:
    """Those of "guidelines", "scale" and "systems" that changed; new judgments are no change."""
    old, new = about(before), about(frozen)
    changed = []
    if old.guidelines_version != new.guidelines_version:
        changed.append("guidelines")
    if (old.scale_version, old.grades) != (new.scale_version, new.grades):
        changed.append("scale")
    digests = [{name: file.sha256 for name, file in runs_of(each).items()} for each in (before, frozen)]
    if digests[0] != digests[1]:
        changed.append("systems")
    return changed

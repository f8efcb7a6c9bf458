"""The frozen evaluations of a collection over time: the means of each system, and the changes in between."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..models import FrozenEvaluation
from ..scores import Standing
from .stored import about, runs_of, settings_of, standings_of


@dataclass(frozen=True)
class Point:
    """One frozen evaluation, and the changes since the one before."""

    frozen: FrozenEvaluation
    measure: str
    means: list[Standing]  # highest first
    changed: list[str]  # of "guidelines", "scale", "systems"


def labels(frozen: FrozenEvaluation) -> list[str]:
    """Its measures, each with its fingerprint: only means with the same label are comparable."""
    settings = settings_of(frozen)
    # Only means over all searches of a log stand for a share of them.
    of_log = " est=log" if any(row.traffic is not None for row in standings_of(frozen).values()) else ""
    return [f"{measure} {settings.asked.fingerprint_of(measure)}{of_log}" for measure in settings.measures]


def points(all_frozen: Sequence[FrozenEvaluation], label: str) -> list[Point]:
    """The points of the frozen evaluations with this label, in their order."""
    points: list[Point] = []
    for frozen in all_frozen:
        measure_of = dict(zip(labels(frozen), map(str, settings_of(frozen).measures), strict=True))
        if label in measure_of:
            standings = [row for row in standings_of(frozen).values() if row.measure == measure_of[label]]
            changed = changed_since(points[-1].frozen, frozen) if points else []
            standings.sort(key=lambda row: (row.mean is None, -(row.mean or 0), row.system))
            points.append(Point(frozen, measure_of[label], standings, changed))
    return points


def changed_since(before: FrozenEvaluation, frozen: FrozenEvaluation) -> list[str]:
    """Those of "guidelines", "scale" and "systems" that changed; new judgments are no change."""
    old, new = about(before), about(frozen)
    changed = []
    if old.guidelines_version != new.guidelines_version:
        changed.append("guidelines")
    if (old.scale_version, old.grades) != (new.scale_version, new.grades):
        changed.append("scale")
    if _digests(before) != _digests(frozen):
        changed.append("systems")
    return changed


def _digests(frozen: FrozenEvaluation) -> dict[str, str]:
    """The SHA-256 of each run, by system."""
    return {name: file.sha256 for name, file in runs_of(frozen).items()}

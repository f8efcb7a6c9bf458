"""Expected values now and before each round, as a JSON document and CSV tables."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from ratings.models import Collection

from ..measures import Measure
from ..page.documents import Table, table_of
from ..scores import Asked
from ..scores.expected import Difference, Expected
from .aims import aim_of


@dataclass(frozen=True)
class Stage:
    """Expected values of the systems before a round, or now. None = no value."""

    when: str
    judged: int  # pairs
    wrong: float | None  # the chance of a wrong order
    means: dict[str, tuple[float | None, float | None, float | None]]  # of each system: mean, low, high
    best: dict[str, float | None]  # the chance of each to be the best
    machines: tuple[str, ...] = ()  # whose grades helped to predict
    triage: tuple[str, ...] = ()  # machines by whose grades the round drew some pairs at a higher rate


def now(expected: Expected) -> Stage:
    """The present stage."""
    means = {row.system: (row.mean, row.low, row.high) for row in expected.means}
    best = {row.system: row.best for row in expected.means}
    return Stage("now", expected.judged, expected.wrong, means, best, tuple(map(str, expected.machines)))


def stages(collection: Collection, measure: Measure, fingerprint: str) -> tuple[list[Stage], list[Asked]]:
    """The stages before each round that was drawn for this measure, and the aims of the other rounds.

    One database query.
    """
    passed, aims = [], {}
    for made in collection.rounds.order_by("number"):
        aim = _of_round(collection, made.aim, aims)
        if aim is None or (aim.measure, aim.fingerprint) != (measure, fingerprint):
            continue
        seen, systems = made.seen, made.aim["systems"]
        columns = zip(seen["mean"], seen["low"], seen["high"], strict=True)
        means = dict(zip(systems, columns, strict=True))
        best = dict(zip(systems, seen["best"], strict=True))
        named = [tuple(seen.get(each, ())) for each in ("machines", "triage")]
        passed.append(Stage(f"before round {made.number}", made.judged, seen["wrong"], means, best, *named))
    others = [aim for aim in aims.values() if aim and (aim.measure, aim.fingerprint) != (measure, fingerprint)]
    return passed, others


def _of_round(collection: Collection, stored: dict, known: dict[str, Asked | None]) -> Asked | None:
    """The aim of a round; None where it no longer fits, because the scale changed."""
    asked = {name: value for name, value in stored.items() if name not in ("systems", "gains")}
    key = json.dumps(asked, sort_keys=True)
    if key not in known:
        try:
            known[key] = aim_of(collection, **asked)
        except ValueError:
            known[key] = None
    return known[key]


def differences(expected: Expected) -> list[Difference]:
    """The difference of every two systems with an expected mean, the higher one second; none without intervals."""
    if expected.without:
        return []
    names = [row.system for row in reversed(expected.means) if row.mean is not None]
    return [expected.difference(first, second) for first, second in combinations(names, 2)]


# As files


def document(collection: str, label: str, expected: Expected | None, why: str, every: Sequence[Stage]) -> dict:
    """The JSON document. `label`: measure and fingerprint; `why`: why there are no expected values, or ""."""
    known = {"collection": collection, "label": label, "why": why}
    if expected is None:
        return known | {"systems": [], "differences": [], "stages": []}
    return known | {
        "measure": expected.measure,
        "options": expected.options,
        "facts": expected.facts(),
        "systems": [asdict(row) for row in expected.means],
        "differences": [asdict(row) for row in differences(expected)],
        "stages": [
            {name: getattr(stage, name) for name in ("when", "judged", "wrong", "machines", "triage")}
            | {
                "systems": [
                    {"system": name, "mean": mean, "low": low, "high": high, "best": stage.best[name]}
                    for name, (mean, low, high) in stage.means.items()
                ],
            }
            for stage in every
        ],
    }


def table(expected: Expected | None) -> Table:
    """The CSV table of differences: a row for each pair of systems."""
    header = ["first", "second", "measure", "difference", "low", "high", "est", "options"]
    if expected is None:
        return header, []
    stated = {"measure": expected.measure, "est": expected.est, "options": expected.options}
    return table_of(header, (asdict(row) | stated for row in differences(expected)))


def rounds_table(every: Sequence[Stage], label: str) -> Table:
    """The CSV table of stages: a row for each stage and system."""
    header = ["when", "judged", "wrong", "system", "expected", "expected_low", "expected_high", "best"]
    return [*header, "machines", "triage", "options"], [
        [stage.when, stage.judged, stage.wrong, name, *numbers, stage.best[name]]
        + ["; ".join(stage.machines), "; ".join(stage.triage), label]
        for stage in every
        for name, numbers in stage.means.items()
    ]

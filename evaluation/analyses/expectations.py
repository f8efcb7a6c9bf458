"""What is expected while judgments are missing, as a JSON document and rows of CSV; and how it developed."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from ratings.models import Collection

from ..decisive import Aim, Difference, Expected
from ..measures import Measure
from .report import Table


@dataclass(frozen=True)
class Stage:
    """How the systems stood when a round was drawn, or now. None = no value."""

    when: str
    judged: int  # pairs
    wrong: float | None  # the chance of a wrong order
    means: dict[str, tuple[float | None, float | None, float | None]]  # of each system: mean, low, high
    best: dict[str, float | None]  # the chance of each to be the best
    machines: tuple[str, ...] = ()  # that helped to predict
    triage: tuple[str, ...] = ()  # by whose grades the round drew some pairs more readily

    @property
    def width(self) -> float | None:
        """The mean width of the intervals."""
        widths = [high - low for _, low, high in self.means.values() if low is not None and high is not None]
        return sum(widths) / len(widths) if widths else None

    @property
    def first(self) -> str:
        """The system with the highest expected mean; "" where there is none."""
        known = {name: mean for name, (mean, *_) in self.means.items() if mean is not None}
        return max(known, key=known.get, default="")

    @property
    def of_first(self) -> float | None:
        return self.best.get(self.first)


def now(told: Expected) -> Stage:
    means = {row.system: (row.mean, row.low, row.high) for row in told.means}
    best = {row.system: row.best for row in told.means}
    return Stage("now", told.judged, told.wrong, means, best, tuple(map(str, told.machines)))


def stages(collection: Collection, measure: Measure, fingerprint: str) -> tuple[list[Stage], list[Aim]]:
    """How the systems stood before each round that was drawn for this measure; and what others were drawn for.

    One database query.
    """
    found, aims = [], {}
    for made in collection.rounds.order_by("number"):
        aim = _aim_of(collection, made.aim, aims)
        if aim is None or not aim.is_of(measure, fingerprint):
            continue
        seen, systems = made.seen, made.aim["systems"]
        columns = zip(seen["mean"], seen["low"], seen["high"], strict=True)
        means = dict(zip(systems, columns, strict=True))
        best = dict(zip(systems, seen["best"], strict=True))
        named = [tuple(seen.get(each, ())) for each in ("machines", "triage")]
        found.append(Stage(f"before round {made.number}", made.judged, seen["wrong"], means, best, *named))
    others = [aim for aim in aims.values() if aim is not None and not aim.is_of(measure, fingerprint)]
    return found, others


def _aim_of(collection: Collection, stored: dict, known: dict[str, Aim | None]) -> Aim | None:
    """The aim of a round; None where it has lost its meaning, since the scale changed."""
    asked = {name: value for name, value in stored.items() if name not in ("systems", "gains")}
    key = json.dumps(asked, sort_keys=True)
    if key not in known:
        try:
            known[key] = Aim.of(collection, **asked)
        except ValueError:
            known[key] = None
    return known[key]


def differences(told: Expected) -> list[Difference]:
    """All pairs of systems that have an expected mean, the higher one second; none without intervals."""
    if told.without:
        return []
    names = [row.system for row in reversed(told.means) if row.mean is not None]
    return [told.difference(first, second) for first, second in combinations(names, 2)]


# As files


def document(collection: str, label: str, told: Expected | None, why: str, every: Sequence[Stage]) -> dict:
    """`label`: measure and fingerprint; `why` there are no expected values."""
    known = {"collection": collection, "label": label, "why": why}
    if told is None:
        return known | {"systems": [], "differences": [], "stages": []}
    return known | {
        "measure": told.measure,
        "options": told.options,
        "facts": told.facts(),
        "systems": [asdict(row) for row in told.means],
        "differences": [asdict(row) for row in differences(told)],
        "stages": [
            {
                "when": stage.when,
                "judged": stage.judged,
                "wrong": stage.wrong,
                "machines": list(stage.machines),
                "triage": list(stage.triage),
                "systems": [
                    {"system": name, "mean": mean, "low": low, "high": high, "best": stage.best[name]}
                    for name, (mean, low, high) in stage.means.items()
                ],
            }
            for stage in every
        ],
    }


def table(told: Expected | None) -> Table:
    """A row for each pair of systems."""
    header = ["first", "second", "measure", "difference", "low", "high", "est", "options"]
    if told is None:
        return header, []
    stated = [told.est, told.options]
    rows = differences(told)
    return header, [
        [row.first, row.second, told.measure, row.difference, row.low, row.high, *stated] for row in rows
    ]


def table_of(every: Sequence[Stage], label: str) -> Table:
    """A row for each stage and system."""
    header = ["when", "judged", "wrong", "system", "expected", "expected_low", "expected_high", "best"]
    return [*header, "machines", "triage", "options"], [
        [stage.when, stage.judged, stage.wrong, name, *numbers, stage.best[name], *_named(stage), label]
        for stage in every
        for name, numbers in stage.means.items()
    ]


def _named(stage: Stage) -> list[str]:
    return ["; ".join(stage.machines), "; ".join(stage.triage)]

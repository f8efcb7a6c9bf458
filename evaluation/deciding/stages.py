"""Expected values now and before each round, as a JSON document and CSV tables."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from ratings.models import Collection, Round

from ..measures import Measure
from ..page.documents import Table, table_of
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
    return Stage(
        when="now",
        judged=expected.judged,
        wrong=expected.wrong,
        means={row.system: (row.mean, row.low, row.high) for row in expected.means},
        best={row.system: row.best for row in expected.means},
        machines=tuple(map(str, expected.machines)),
    )


def stages(collection: Collection, measure: Measure, fingerprint: str) -> list[Stage]:
    """The expected values before each round that was drawn for this measure and these options, the oldest first.

    fingerprint: the options in short, as text. One database query.
    """
    of_this_aim = []
    for drawn in collection.rounds.order_by("number"):
        # What the round was drawn for. The systems and the gains may have changed since: rounds for the same
        # measure and options still count.
        members = {name: value for name, value in drawn.aim.items() if name not in ("systems", "gains")}
        try:
            aim = aim_of(collection, **members)
        except ValueError:  # the options no longer fit the collection, because the scale changed
            continue
        if (aim.measure, aim.fingerprint) == (measure, fingerprint):
            of_this_aim.append(_stage_before(drawn))
    return of_this_aim


def _stage_before(drawn: Round) -> Stage:
    """The expected values before a round, as `drawing.expected_before` made them when it was drawn.

    `Round.seen` has {"wrong", "mean", "low", "high", "best"}, where the last four are lists by system, in the
    order of "systems" in `Round.aim`. It has "machines" and "triage" only if there were any.
    """
    seen, systems = drawn.seen, drawn.aim["systems"]
    columns = zip(seen["mean"], seen["low"], seen["high"], strict=True)
    return Stage(
        when=f"before round {drawn.number}",
        judged=drawn.judged,
        wrong=seen["wrong"],
        means=dict(zip(systems, columns, strict=True)),
        best=dict(zip(systems, seen["best"], strict=True)),
        machines=tuple(seen.get("machines", ())),
        triage=tuple(seen.get("triage", ())),
    )


def differences(expected: Expected) -> list[Difference]:
    """The difference of every two systems with an expected mean, the higher one second; none without intervals."""
    if expected.without:
        return []
    names = [row.system for row in reversed(expected.means) if row.mean is not None]
    return [expected.difference(first, second) for first, second in combinations(names, 2)]


# As files


def document(collection: str, label: str, expected: Expected | None, why: str, history: Sequence[Stage]) -> dict:
    """The JSON document of the expected values now, their differences, and those at each stage of `history`.

    label: measure and fingerprint of the options; expected: None for no expected values, for the reason `why`,
    which is "" where there are some; history: the stages before each round and now.
    """
    head = {"collection": collection, "label": label, "why": why}
    if expected is None:
        return head | {"systems": [], "differences": [], "stages": []}
    return head | {
        "measure": expected.measure,
        "options": expected.options,
        "facts": expected.facts(),
        "systems": [asdict(row) for row in expected.means],
        "differences": [asdict(row) for row in differences(expected)],
        "stages": [
            {
                **{name: getattr(stage, name) for name in ("when", "judged", "wrong", "machines", "triage")},
                "systems": [
                    {"system": name, "mean": mean, "low": low, "high": high, "best": stage.best[name]}
                    for name, (mean, low, high) in stage.means.items()
                ],
            }
            for stage in history
        ],
    }


def table(expected: Expected | None) -> Table:
    """The CSV table of differences: a row for each pair of systems."""
    header = ["first", "second", "measure", "difference", "low", "high", "est", "options"]
    if expected is None:
        return header, []
    stated = {"measure": expected.measure, "est": expected.est, "options": expected.options}
    return table_of(header, (asdict(row) | stated for row in differences(expected)))


def rounds_table(history: Sequence[Stage], label: str) -> Table:
    """The CSV table of stages: a row for each stage and system."""
    header = ["when", "judged", "wrong", "system", "expected", "expected_low", "expected_high", "best"]
    return [*header, "machines", "triage", "options"], [
        [stage.when, stage.judged, stage.wrong, name, *numbers, stage.best[name]]
        + ["; ".join(stage.machines), "; ".join(stage.triage), label]
        for stage in history
        for name, numbers in stage.means.items()
    ]

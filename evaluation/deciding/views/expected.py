"""The page of expected values: expected means, their intervals, and how both developed over rounds."""

from collections.abc import Sequence
from dataclasses import replace

from django.http import HttpRequest, HttpResponse

from ratings.models import Collection
from ratings.people.access import readers_page

from ... import charts
from ...expected.order import LEAST_DIFFERENCE, MOST_CHANCE_OF_WRONG
from ...page.address import page, with_options
from ...page.charts import Chart, charted
from ...page.downloads import Files, files
from ...page.holdings import NextStep, holdings, next_step
from ...page.numbers import decimals
from ...record import cache, machines
from ...scores import Asked
from ...scores.expected import Difference, Expected, expecting, systems_of
from .. import stages
from ..drawing import ORDERS
from ..stages import Stage
from ..state import State
from ..stop import Forecast, forecast

MOST_IN_MATRIX = 20  # systems
# Over rounds, intervals are drawn for all systems if there are at most MOST_WITH_INTERVALS, else for the highest.
MOST_WITH_INTERVALS, HIGHEST_WITH_INTERVALS = 4, 2


@readers_page
@with_options()
def expected(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The page of expected means: what the means become once all pairs are judged. Without rounds, what to do."""
    context = page(request, collection, "compare", asked)
    found = expecting(collection, asked)  # `found.expected` is None where there are no expected values
    if not found.rounds:
        context["next_step"] = next_step(collection, holdings(collection)) or no_rounds(collection)
        return charted(request, "evaluation/expected.html", context)
    # "apart" is how far apart two means are for their order to matter.
    context |= {"expecting": found, "expected_means": found.expected, "apart": LEAST_DIFFERENCE}
    if found.expected:
        history = history_of(collection, asked, found.expected)
        if len(history) == 1:  # it has only the stage "now": nothing developed yet
            history = []
        context |= {
            "matrix": matrix(found.expected),
            "most_in_matrix": MOST_IN_MATRIX,
            "stages": [(stage, in_order(stage, found.expected)) for stage in history],
            "charts": charts_of(history, found.expected, asked),
            "stop": when_to_stop(collection, asked, found.expected),
        }
    return charted(request, "evaluation/expected.html", context)


def when_to_stop(collection: Collection, asked: Asked, present: Expected) -> Forecast | None:
    """The forecast of when to stop. Cached, since it takes as long as the estimate."""
    aim = replace(asked, systems=systems_of(collection))
    used = machines(collection)
    name = ("when to stop", aim, present.rounds, used)
    return cache.whole(collection, name, lambda: forecast(collection, State.of(collection, aim, used), present))


def no_rounds(collection: Collection) -> NextStep:
    """The next step where there are no rounds."""
    lack = "There is no interval for unjudged documents, because no round was drawn yet."
    if collection.order in ORDERS:
        return NextStep(lack, "The worker draws the first one within minutes after raters can get pairs.")
    decisive, random = Collection.Order.DECISIVE.label, Collection.Order.RANDOM.label
    return NextStep(
        lack,
        f"Choose the order “{decisive}” or “{random}” on the page Pool. Idealist then draws the pairs to judge "
        "with known chances, and the means have an interval long before all pairs are judged.",
    )


def history_of(collection: Collection, asked: Asked, present: Expected | None) -> list[Stage]:
    """The expected values before each round and now. present: those of now; without them there is no stage."""
    if present is None:
        return []
    return [*stages.stages(collection, asked.measure, asked.fingerprint), stages.now(present)]


def in_order(stage: Stage, present: Expected) -> list[float | None]:
    """The expected means of a stage in the order of the table; None for a system that it lacks."""
    return [stage.means[row.system][0] if row.system in stage.means else None for row in present.means]


def matrix(present: Expected) -> list[tuple[str, list[Difference | None]]]:
    """(system, its difference to each of the others), highest expected mean first; None on the diagonal."""
    names = [row.system for row in present.means if row.mean is not None][:MOST_IN_MATRIX]
    if present.without or len(names) < 2:
        return []
    rows = []
    for name in names:
        differences = [None if name == other else present.difference(other, name) for other in names]
        rows.append((name, differences))
    return rows


def charts_of(history: Sequence[Stage], present: Expected, asked: Asked) -> dict[str, Chart]:
    """The charts over rounds, by id: of the expected means, and of the chance of a wrong order.

    A chart without points is left out, and the chart of the chance also with only one point. history: the expected
    values before each round and now; present: the expected values now, the highest mean first. In the rows of the
    chart of means `leader` accents the line, and `barred` draws the interval as a bar.
    """
    with_interval = [row.system for row in present.means]  # with many systems, only the highest get one
    if len(with_interval) > MOST_WITH_INTERVALS:
        with_interval = with_interval[:HIGHEST_WITH_INTERVALS]
    rows = [
        {"system": name, "when": stage.when, "judged": stage.judged, "expected": mean, "low": low, "high": high}
        | {"leader": name == present.leader, "barred": name in with_interval}
        for stage in history
        for name, (mean, low, high) in stage.means.items()
        if mean is not None
    ]
    means_now = ", ".join(f"{row.system} {decimals(row.mean)}" for row in present.means if row.mean is not None)
    alt_text = f"Expected mean {asked.measure} by system before each round and now. Now: {means_now}."
    by_id = {}
    if rows:
        by_id["rounds"] = Chart("rounds", charts.over_rounds(rows, bounded=asked.bounded), alt_text)
    with_chance = [stage for stage in history if stage.wrong is not None]
    if len(with_chance) > 1:
        points = [{"judged": stage.judged, "wrong": stage.wrong, "when": stage.when} for stage in with_chance]
        texts = [f"{stage.wrong:.0%} at {stage.judged:,}" for stage in with_chance]
        alt_text = f"Chance of a wrong order by pairs judged, from {texts[0]}, {texts[-1]}."
        by_id["wrong"] = Chart("wrong", charts.wrong_over_rounds(points, MOST_CHANCE_OF_WRONG), alt_text)
    return by_id


# As files


@files()
def expected_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV has a row for each pair of systems; the JSON document has everything."""
    found = expecting(collection, asked)
    history = history_of(collection, asked, found.expected)
    why = found.why if found.rounds else "No round was drawn."
    return Files(
        f"{collection.slug}-expected-{asked.measure}",
        table=lambda: stages.table(found.expected),
        json=lambda: stages.document(collection.slug, asked.label, found.expected, why, history),
    )


@files()
def expected_rounds_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """A row for each system and round: its expected values when the round was drawn."""
    found = expecting(collection, asked)
    history = history_of(collection, asked, found.expected)
    label = found.expected.options if found.expected else asked.fingerprint
    return Files(
        f"{collection.slug}-expected-rounds-{asked.measure}", table=lambda: stages.rounds_table(history, label)
    )

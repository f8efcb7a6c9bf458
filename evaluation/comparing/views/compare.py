"""The page Compare: pairs of systems on the same queries, and whether their differences are significant.

The columns of its CSV are in `results.comparison.table`.
"""

from dataclasses import replace
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from ratings.models import Collection
from ratings.people.access import readers_page

from ... import record, scores
from ...page.address import (
    PICTURE_PARAMETERS,
    CannotAnswer,
    evaluated,
    page,
    parameters_without,
    with_expected_in,
    with_options,
)
from ...page.charts import Chart, charted
from ...page.downloads import Files, files
from ...page.step_by_step import step_by_step
from ...record import cache
from ...results import comparison
from ...results.comparison import Compared
from ...results.leader import MOST_COMPARED, Selection, rows_against, tested
from ...results.machine_only import differences_of, scores_by_machine
from ...results.trust import unevenly_judged
from ...scores import Asked
from ...scores.asked import query_string
from ...scores.expected import MOST_PAIRS, expecting
from ...significance import ALPHA, FEWEST, POWER
from .. import pictures, verdicts
from ..chosen import ALL, NOTHING_TO_COMPARE, named_in, nothing_to_compare, selection_in, too_few
from ..gate import gate_of


@readers_page
@with_options("baseline", "pairs", "expected", many=["system"])
@step_by_step("compare")
def compare(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The page: systems to choose and, of those that are chosen, how they differ."""
    evaluation = evaluated(collection, asked)
    selection = selection_in(request, evaluation)
    context = page(request, collection, "compare", asked) | {
        "ranked": list(evaluation.means),
        "most": MOST_COMPARED,
        "hidden": hidden(request),  # parameters that the form sends anew
        "baseline": request.GET.get("baseline", ""),
        # The systems with a tick: those that are compared, or those of an address that compares none.
        "chosen": selection.systems if selection else named_in(request),
        "pairs": request.GET.get("pairs", ""),
    }
    if selection:
        result = tested(evaluation, selection)
        context |= comparison_in(request, collection, asked, result, selection)
        context |= pictures.matrix_of(result, selection) | gate_in(collection, asked, selection)
        # The most and the least judged system, if they differ much: the latter may be better than its mean and,
        # with a grade below 0, worse. `page` has read the lowest grade for its form of options.
        lowest_grade = context["form"]["lowest"]
        context["uneven"] = unevenly_judged(evaluation, selection.systems, lowest_grade)
    elif len(evaluation.means) > 1:
        context["too_few"] = too_few(request)
    else:
        context["next_step"] = nothing_to_compare(collection, asked)
    return charted(request, "evaluation/compare.html", context)


def comparison_in(
    request: HttpRequest, collection: Collection, asked: Asked, result: Compared, selection: Selection
) -> dict:
    """The context about the pairs: their rows, what the tests tell, expected differences, the chart.

    Expected differences are those that are expected once all of the pool is judged.
    """
    rows = rows_against(selection.baseline, result)
    expected = expecting(collection, asked)
    for row in rows:
        parameters = [*hidden(request), ("baseline", row["baseline"]), ("system", row["system"])]
        row["url"] = reverse("differences", args=[collection.slug]) + query_string(parameters)
        if expected.with_intervals:
            row.update(expected.with_intervals.between(row["baseline"], row["system"]))
    also_expected = {"expected": "1"} if expected.with_intervals else {}  # for links to pages that show them, too
    pairs = [(row["baseline"], row["system"]) for row in rows]
    by_machines = scores_by_machine(collection, asked)  # by the grades of language models alone
    judged_shares = [result.evaluation.standing(name).judged for name in selection.systems]
    return {
        "expecting": expected,
        "misleads": expected.misleads(asked, judged_shares),  # whether the order of rating biases plain means
        "selection": selection,
        "compared": result,
        "rows": rows,
        "queries": rows[0]["url"],  # the page of queries of the first pair
        "why_dropped": scores.why(result.why_dropped),
        "why_none": verdicts.reasons(rows),
        "judged_by": verdicts.judged_by(result),
        "tests": result.tests.drawn >= FEWEST,  # whether there are enough queries to test
        "fewest": FEWEST,
        "lacking": FEWEST - result.tests.drawn,  # queries; of use where there are too few
        "signs": verdicts.signs(result),
        "files": query_string_with(request, **also_expected),
        "label": result.evaluation.label,
        "alpha": ALPHA,
        "power": f"{POWER:.0%}".replace("%", " %"),
        "keep_all": query_string_with(request, pairs=ALL, **also_expected),
        "charts": titled(pictures.forest(rows, selection.baseline), collection, result, selection.baseline),
        **verdicts.said(result, rows),
        **(differences_of(by_machines, pairs, asked) if by_machines else {}),
    }


def gate_in(collection: Collection, asked: Asked, selection: Selection) -> dict:
    """The context of _gate.html, where one of two selected systems is a baseline that a person chose; else {}.

    The gate tells whether a release is worse than baselines by more than a margin. Here the release is the other
    system. `against`: the row of the gate about this baseline. `no_gate`: the reason why there is no gate, that a
    baseline was deleted, whichever systems are selected.
    """
    try:
        baselines = record.baselines(collection)
    except ValueError as error:
        return {"no_gate": str(error)}
    if len(selection.systems) != 2:
        return {}
    first, second = selection.systems
    if first not in baselines and second not in baselines:
        return {}
    # Of two baselines the first is taken as the baseline, and the second as the release.
    baseline, release = (first, second) if first in baselines else (second, first)
    anchors = [name for name in baselines if name != release]  # all that the release is compared with

    make = partial(gate_of, collection, asked, release, anchors=anchors, most_pairs=MOST_PAIRS)
    # From the cache, as expected gains take seconds for a large pool.
    gate = cache.small_value(collection, record.version(collection), ("gate", asked, release, *anchors), make)
    row_by_baseline = {row["anchor"]: row for row in gate["anchors"]}
    return {"gate": gate, "against": row_by_baseline[baseline]}


def titled(charts: dict[str, Chart], collection: Collection, result: Compared, baseline: str) -> dict[str, Chart]:
    """The charts with the title and the caption of their picture files."""
    title = f"{collection.name}: difference in mean {result.evaluation.asked.measure} from {baseline}"
    caption = f"95 % interval of the difference, n = {result.tests.queries}.\n{result.evaluation.label}"
    return {name: chart.titled(title, caption, str(collection.slug)) for name, chart in charts.items()}


# As files


@files("baseline", "pairs", "expected", many=["system"])
def compare_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """A row for each pair, in the CSV and JSON of the command `compare`. `comparison.table` has the columns."""
    result = for_file(request, collection, asked)
    return Files(
        f"{collection.slug}-compare-{asked.measure}",
        table=lambda: comparison.table([result]),
        json=lambda: comparison.document([result]),
    )


def for_file(request: HttpRequest, collection: Collection, asked: Asked) -> Compared:
    """The comparison that the address asks for, with expected values if it asks for them. Raises CannotAnswer."""
    evaluation = evaluated(collection, asked)
    selection = selection_in(request, evaluation)
    if selection is None:
        raise CannotAnswer(too_few(request) if len(evaluation.means) > 1 else NOTHING_TO_COMPARE)
    result = tested(evaluation, selection)
    return replace(result, evaluation=with_expected_in(request, collection, evaluation))


def query_string_with(request: HttpRequest, **changes: str) -> str:
    """The query string of this page with some parameters changed: for its files, and for all pairs."""
    return query_string([*parameters_without(request, {*changes, *PICTURE_PARAMETERS}), *changes.items()])


def hidden(request: HttpRequest) -> list[tuple[str, str]]:
    """Parameters of the address that the form of this page has no control for."""
    return parameters_without(request, {"baseline", "system", "pairs", "expected", *PICTURE_PARAMETERS})

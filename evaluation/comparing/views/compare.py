"""The page Compare: pairs of systems on the same queries, and whether their differences are significant.

The columns of its CSV are in `results.comparison.table`.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from ratings.models import Collection
from ratings.people.access import readers_page

from ... import charts, scores
from ...deciding import sentences as expectations
from ...deciding.expecting import expecting, with_expected_in
from ...measures.refusal import refuse_unknown
from ...page.address import CannotAnswer, page, with_options
from ...page.charts import Chart, charted, dot
from ...page.documents import known
from ...page.downloads import Files, files
from ...page.numbers import decimals
from ...page.words import counted
from ...record.drawn import rounds_so_far
from ...results import comparison
from ...results.comparison import Compared
from ...results.leader import MOST, Selection, best_first, rows_against, scores_and_ranking, tested
from ...results.machine_only import alone_in, differences_of
from ...results.sentences import uneven
from ...results.step_by_step import step_by_step
from ...scores import Asked
from ...significance import (
    ALPHA,
    CANNOT_TELL,
    FEWEST,
    HIGHER,
    LOWER,
    POWER,
    TWO_SYSTEMS,
)
from ..empty import NOTHING, nothing_to_compare
from ..parameters import kept_parameters, query_string

MATRIX_FROM = 4  # systems from which all pairs are more than the pairs with one
ALL = "all"
# The tests of a verdict, by the field with their p: where all differences are equal, there is no t.
TESTS = {"p": "the paired t test", "p_randomised": "the randomisation test"}


@readers_page
@with_options("baseline", "pairs", "expected", many=["system"])
@step_by_step("compare")
def compare(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    evaluation, ranked = scores_and_ranking(collection, asked)
    selection = selection_in(request, evaluation, ranked)
    # Ticked are the systems that are compared, or else were chosen.
    context = page(request, collection, "compare", asked) | {
        "ranked": ranked,
        "most": MOST,
        "hidden": hidden(request),
        "baseline": request.GET.get("baseline", ""),
        "chosen": selection.systems if selection else named_in(request),
        "pairs": request.GET.get("pairs", ""),
    }
    if selection is None:
        if len(ranked) > 1:
            context["too_few"] = too_few(request)
        else:
            context["next_step"] = nothing_to_compare(collection, asked)
        return charted(request, "evaluation/compare.html", context)
    result = tested(evaluation, asked.measure, selection)
    rows = rows_against(selection.baseline, result)
    for row in rows:
        row["url"] = address_of_queries(request, collection, row)
    found = expecting(collection, asked, rounds_so_far(collection))
    for row in rows if found.interval else []:
        row |= found.interval.between(row["baseline"], row["system"])
    with_these = {"expected": "1"} if found.interval else {}
    context |= {
        "expecting": found,
        "machines": expectations.machines(found.expected.facts()) if found.expected else "",
        "selection": selection,
        "compared": result,
        "rows": rows,
        "queries": rows[0]["url"],
        "why_dropped": scores.why(result.why_dropped),
        "why_none": reasons(rows),
        "judged_by": judged_by(result),
        "tests": result.tests.queries >= FEWEST,
        "fewest": FEWEST,
        **said(result, rows),
        "signs": signs(result),
        "files": ending_with(request, **with_these),
        "label": asked.label,
        "alpha": ALPHA,
        "power": f"{POWER:.0%}".replace("%", " %"),
        "keep_all": ending_with(request, pairs=ALL, **with_these),
    }
    judged = {name: known(evaluation.summary["judged"][name, str(asked.measure)]) for name in selection.systems}
    context["misleads"] = found.misleads(asked, judged.values())
    context["uneven"], least = uneven(
        judged, str(asked.at("Judged")), asked.measure, asked.options, context["form"]["lowest"]
    )
    if least:
        context["least_judged"] = collection.systems.filter(name=least).first()
    if every := alone_in(collection, asked):
        context |= differences_of(every, [(row["baseline"], row["system"]) for row in rows], asked)
    drawn = [row for row in rows if row["difference"] is not None]
    if drawn:
        dots = [
            dot(row["system"], row["difference"], row["low"], row["high"], row["queries"])
            | {"significant": row["significant"], "url": row["url"]}
            for row in drawn
        ]
        spec = charts.differences(dots)
        context["charts"] = {"forest": Chart("forest", spec, alt_text(drawn, selection.baseline))}
    if len(selection.systems) >= MATRIX_FROM:
        every_pair = replace(selection, all_pairs=True)
        every = result if selection.all_pairs else tested(evaluation, asked.measure, every_pair)
        context |= {"matrix": matrix(every, ranked), "critical": every.tests.critical, "every": every}
    return charted(request, "evaluation/compare.html", context)


# Who with whom


def selection_in(
    request: HttpRequest, evaluation: scores.Evaluation, ranked: Sequence[tuple[str, float]]
) -> Selection | None:
    """The selection in the address; None where nothing can be compared. Raises CannotAnswer."""
    baseline, pairs = request.GET.get("baseline", ""), request.GET.get("pairs", "")
    asked_for = named_in(request)
    for name in asked_for:
        refuse_unknown("system", name, evaluation.systems)
    if pairs not in ("", ALL):
        raise CannotAnswer(
            f"unknown pairs {pairs!r}; write {ALL}, or leave it out to compare each with the baseline."
        )
    order = [name for name, _ in ranked]
    if baseline and baseline not in order:
        raise CannotAnswer(f"{baseline} has no mean in this measure, so nothing can be compared with it.")
    if any(request.GET.getlist("system")):
        order = [name for name in order if name in asked_for]
    if len(asked_for) > MOST:
        raise CannotAnswer(
            f"at most {MOST} systems are compared on a page, not {len(asked_for)}; "
            "the command compare takes any number."
        )
    if not baseline:
        return best_first([(name, mean) for name, mean in ranked if name in order])
    others = [name for name in order if name != baseline]
    if not others:
        return None
    kept = others[: MOST - 1]
    return Selection(baseline, tuple(kept), True, pairs == ALL and len(kept) > 1, len(others) - len(kept))


def named_in(request: HttpRequest) -> list[str]:
    """The baseline and the other systems that the address names."""
    return [*dict.fromkeys(filter(None, [request.GET.get("baseline"), *request.GET.getlist("system")]))]


def too_few(request: HttpRequest) -> str:
    """The sentence on systems that were chosen, of which fewer than two can be compared."""
    chosen = named_in(request)
    if len(chosen) == 1:
        return f"Only {chosen[0]} is chosen, so there is nothing to compare. Tick another system."
    return "Fewer than two of the chosen systems have a mean in this measure. Tick another system."


# In words


def said(result: Compared, rows: Sequence[dict]) -> dict:
    """The context of the verdict on every pair: who differs, who is equal on every query, and who is open."""
    verdicts = [(verdict, [row for row in rows if row["verdict"] == verdict]) for verdict in (HIGHER, LOWER)]
    equal = [row["system"] for row in rows if row["ties"] == result.tests.queries]
    open_ = [row for row in rows if not row["significant"] and row["system"] not in equal]
    return {
        "verdicts": [(verdict, group, [row["system"] for row in group]) for verdict, group in verdicts if group],
        "equal": equal,
        "open": [row["system"] for row in open_],
        "nearest": min((row for row in open_ if row["more"]), key=lambda row: row["more"], default=None),
    }


def judged_by(result: Compared) -> str:
    systems, pairs = len(result.systems), len(result.pairs)
    if result.tests.correction == "hsd":
        return f"Tukey's HSD for all pairs of {counted(systems, 'system', 'systems')}"
    used = {
        "p" if test.p is not None else "p_randomised" for test in result.tests.pairs if test.p_holm is not None
    }
    test = " and ".join(name for field, name in TESTS.items() if field in used) or TESTS["p"]
    if pairs == 1:
        return test
    return f"{test} with Holm's correction for {counted(pairs, 'comparison', 'comparisons')}"


def signs(result: Compared) -> str:
    """The draws and the seed of the randomisation test, as text."""
    if result.tests.exact:
        return f"all {2**result.tests.queries:,} signs"
    return f"{result.tests.draws:,} draws, seed {result.tests.seed}"


def reasons(rows: Sequence[dict]) -> list[str]:
    """Why numbers are missing, a text for each pair. A correction that does not apply is no missing number."""
    why = {row["system"]: sorted({*row["why"].values()} - {TWO_SYSTEMS}) for row in rows}
    return [f"{system}: no value where {', '.join(texts)}" for system, texts in why.items() if texts]


# As pictures


def alt_text(rows: Sequence[dict], baseline: str) -> str:
    parts = [f"{row['system']} {decimals(row['difference'])}, {row['verdict']}" for row in rows]
    return f"Difference of means to {baseline}: {'; '.join(parts)}."


def matrix(result: Compared, ranked: Sequence[tuple[str, float]]) -> list[tuple[str, list[dict | None]]]:
    """(system, its difference to each of the others), highest mean first; None on the diagonal."""
    cells = {}
    for row in result.rows():
        first, second, significant = row["baseline"], row["system"], row["verdict"] != CANNOT_TELL
        value, facts = row["difference"], {"significant": significant, "p": row["p_hsd"]}
        cells[second, first] = {"value": value} | facts
        cells[first, second] = {"value": None if value is None else -value} | facts
    order = [name for name, _ in ranked if name in result.systems]
    return [(name, [cells.get((name, other)) for other in order]) for name in order]


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
    evaluation, ranked = scores_and_ranking(collection, asked)
    selection = selection_in(request, evaluation, ranked)
    if selection is None:
        raise CannotAnswer(too_few(request) if len(ranked) > 1 else NOTHING)
    result = tested(evaluation, asked.measure, selection)
    return replace(result, evaluation=with_expected_in(request, collection, asked, evaluation))


def ending_with(request: HttpRequest, **changes: str) -> str:
    """The query string of this page with some parameters changed: for its files, and for all pairs."""
    return query_string([*kept_parameters(request, changes), *changes.items()])


def address_of_queries(request: HttpRequest, collection: Collection, row: dict) -> str:
    """The address of the page of differences by query for the two systems of a row."""
    parts = [*hidden(request), ("baseline", row["baseline"]), ("system", row["system"])]
    return reverse("differences", args=[collection.slug]) + query_string(parts)


def hidden(request: HttpRequest) -> list[tuple[str, str]]:
    """Parameters of the address that the form of this page has no control for."""
    return kept_parameters(request, ("baseline", "system", "pairs", "expected"))

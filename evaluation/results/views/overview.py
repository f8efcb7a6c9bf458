"""The overview of results: which system is best, how reliable that is, and where systems differ."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse

from ratings.models import Collection
from ratings.people.access import readers_page
from ratings.pool.progress.counts import gold_hits

from ... import record, scores
from ...agreement.coefficients import ordinal_alpha
from ...measures import cautions, effective
from ...page import options
from ...page.address import bounded_in, evaluated, page, with_judgments, with_options
from ...page.charts import charted
from ...page.downloads import Files, files
from ...page.expecting import Expecting, expecting, is_defined, wanted_in, with_expected_in
from ...page.holdings import holdings, next_step
from ...record import InUse, cache
from ...record.drawn import rounds_so_far
from ...scores import Asked, Evaluation
from ...scores.expected import systems_of
from .. import csv_and_json, heat
from ..charts import curves_chart, cutoffs_of, expected_chart, means_chart
from ..leader import lead_of
from ..machine_only import alone_in, table_of
from ..step_by_step import step_by_step
from ..trust import trust_of, uneven

SHORT = 60  # rows of a table; a longer one has a page of its own


@readers_page
@with_options("expected")
@step_by_step("results")
def overview(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    held = holdings(collection)
    context = page(request, collection, "results", asked) | {
        "n": held,
        "next_step": next_step(collection, held),
    }
    if held["systems"] and held["queries"] and held["judged"]:
        # Not cached with the results: a pair that becomes gold changes no score.
        context["gold"] = gold_hits(collection)
        rounds, wanted = rounds_so_far(collection), wanted_in(request)
        used = record.machines(collection) if rounds or wanted else ()
        key = ("overview", asked, rounds, used, wanted, collection.order, systems_of(collection))
        context |= cache.whole(collection, key, lambda: results(collection, asked, rounds, used, wanted))
        if every := alone_in(collection, asked):
            context |= table_of(every, context["evaluation"].names, asked)
    return charted(request, "evaluation/overview.html", context)


def results(collection: Collection, asked: Asked, rounds: int, used: tuple[InUse, ...], wanted: bool) -> dict:
    """The context about scores, the same for all readers of this version."""
    expected = expecting(collection, asked, rounds, wanted, used)
    beside = [*asked.cumulative, *asked.at_cutoffs]
    evaluation = with_judgments(collection, asked, beside, bounded_in(collection, asked))
    if expected.headline:
        evaluation = replace(evaluation, first=tuple(row.system for row in expected.headline.means))
    grades = record.scale(collection)
    return {
        "evaluation": evaluation,
        "standings": evaluation.standings,
        "lead": lead_of(collection, evaluation, expected),
        "trust": trust_of(evaluation),
        "uneven": uneven(evaluation, evaluation.names, grades[0] if grades else 0.0),
        "alpha": ordinal_alpha(scores.read(collection, asked)[0].ratings, grades),
        "too_large": scores.has_bounds(asked.measure) and not evaluation.bounds,
        "unjudged_words": options.unjudged(asked.measure, asked.options) if asked.reads_judgments else "",
        "cautions": cautions(effective(asked.measure, asked.options), evaluation.judgments.grade),
        "described": options.in_force(asked),
        **expected_in(evaluation, expected),
        **pictures(evaluation, expected),
    }


def expected_in(evaluation: Evaluation, expected: Expecting) -> dict:
    """The context of expected values: each of the standings with the expected mean of its system."""
    told = expected.expected
    return {
        "expecting": expected,
        "could_expect": not expected.rounds and is_defined(evaluation.asked),
        "expected_rows": [(each, told.of(each.system) if told else None) for each in evaluation.standings],
        "misleads": expected.misleads(evaluation.asked, [each.judged for each in evaluation.standings]),
    }


def pictures(evaluation: Evaluation, expected: Expecting) -> dict:
    """The context of the charts and of the tables below them."""
    shaded, cutoffs = heat.shaded(evaluation), cutoffs_of(evaluation)
    shades = heat.picture(evaluation, shaded)
    told = expected.interval
    return {
        "differ": heat.differ(evaluation, shaded),
        "heat": shades,
        "heads": heat.heads(evaluation),
        "matrix": matrix(evaluation, shaded),
        "cutoffs": [measure.cutoff for measure in cutoffs],
        "curve": evaluation.across(cutoffs),
        "gains": evaluation.across(evaluation.asked.cumulative),
        "gain_labels": evaluation.asked.labels_beside(evaluation.asked.cumulative),
        "charts": {
            "means": expected_chart(evaluation, told) if told else means_chart(evaluation),
            **({"heat": shades["chart"]} if "chart" in shades else {}),
            **curves_chart(evaluation, cutoffs),
        },
    }


def matrix(evaluation: Evaluation, shaded: heat.Shaded) -> list[dict] | None:
    """The rows of the table of queries, easiest first; None where they are too many for this page."""
    if len(shaded.value) > SHORT:
        return None
    shown = heat.rows(evaluation, shaded)
    return [shown[row] for row in evaluation.by_ease()]


@files("expected")
def overview_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV and JSON of `evaluate`: a row for each system and measure of the page's first tables."""
    evaluation = evaluated(collection, asked, asked.cumulative, bounded_in(collection, asked))
    evaluation = with_expected_in(request, collection, asked, evaluation)
    return Files(
        f"{collection.slug}-systems-{asked.measure}",
        table=lambda: csv_and_json.means(evaluation),
        json=lambda: csv_and_json.document(evaluation),
    )

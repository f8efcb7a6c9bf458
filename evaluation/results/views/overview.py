"""The overview of results: which system is best, how reliable that is, and where systems differ."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse

from ratings.models import Collection, Role
from ratings.people.access import readers_page
from ratings.pool.progress.counts import gold_hits

from ... import record, scores
from ...agreement.coefficients import ordinal_alpha, word
from ...measures import cautions, effective
from ...page import options
from ...page.address import bounded_measures, evaluated, page, wanted_in, with_expected_in, with_options
from ...page.charts import Chart, charted
from ...page.downloads import Files, files
from ...page.holdings import holdings, next_step
from ...page.step_by_step import step_by_step
from ...record import cache
from ...scores import Asked, Evaluation
from ...scores.expected import basis_of, expecting, is_defined
from .. import csv_and_json, heat
from ..charts import curves_chart, cutoffs_of, means_caption, means_chart
from ..leader import lead_of
from ..machine_only import scores_by_machine, table_of
from ..trust import older_texts, trust_of, unevenly_judged

MOST_TABLE_ROWS = 60  # rows of a table; a longer one has a page of its own


@readers_page
@with_options("expected")
@step_by_step("results")
def overview(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The page: what the collection has and, once there are scores, what they tell."""
    held = holdings(collection)  # counts by name
    context = page(request, collection, "results", asked) | {
        "n": held,
        "next_step": next_step(collection, held),
        "may_set_default": collection.role == Role.ADMIN,
    }
    if held["systems"] and held["queries"] and held["judged"]:
        expected = wanted_in(request)  # whether the address asks for expected values
        key = ("overview", asked, expected, basis_of(collection, expected))
        context |= cache.whole(collection, key, lambda: results(collection, asked, expected))
        # Not cached with the results: these change while scores stay the same. Gold: pairs with a known grade, by
        # which raters are checked. The title of the chart of means has the name of the collection.
        context["gold"] = gold_hits(collection)
        # In a new dict, since the present one is in the cache and must not change.
        context["charts"] = context["charts"] | {"means": named_means(collection, context)}
        if by_machines := scores_by_machine(collection, asked):
            context |= table_of(by_machines, context["evaluation"].names, asked)
    return charted(request, "evaluation/overview.html", context)


def results(collection: Collection, asked: Asked, expected: bool) -> dict:
    """The context about scores. It is the same for all readers until the collection changes, so that it is cached.

    expected: whether the address asks for expected values. A collection that drew rounds of pairs to be judged has
    them on the page in any case.
    """
    other_measures = [*asked.cumulative, *asked.at_cutoffs]
    evaluation = evaluated(collection, asked, other_measures, bounded_measures(collection, asked), judgments=True)
    evaluation = replace(evaluation, expecting=expecting(collection, asked, expected))
    grades = record.scale(collection)  # lowest first
    alpha = ordinal_alpha(scores.read(collection, asked)[0].ratings, grades)  # [0]: the record
    return {
        "evaluation": evaluation,
        "standings": evaluation.standings,
        "lead": lead_of(collection, evaluation),
        "trust": trust_of(evaluation),
        "older_texts": older_texts(collection),
        # By the lowest grade: if it is below 0, the least judged system may also be worse than it looks.
        "uneven": unevenly_judged(evaluation, evaluation.names, min(grades, default=0.0)),
        "alpha": alpha,
        # Alpha as a word; "" where there is no alpha, or too few pairs to go by.
        "agreement": "" if alpha["few"] or alpha["value"] is None else word(alpha["value"]),
        # Whether bounds are defined but take too long here: see `bounded_measures`.
        "too_large": scores.has_bounds(asked.measure) and not evaluation.bounds,
        "unjudged_words": options.unjudged(asked.measure, asked.options) if asked.reads_judgments else "",
        "cautions": cautions(effective(asked.measure, asked.options), evaluation.judgments.grade),
        "described": options.in_force(asked),
        **expected_in(evaluation),
        **charts_and_tables(evaluation),
    }


def expected_in(evaluation: Evaluation) -> dict:
    """The context of expected values: each of the standings with the expected mean of its system."""
    outlook, standings = evaluation.expecting, evaluation.standings
    means = outlook.expected
    return {
        "expecting": outlook,
        "could_expect": not outlook.rounds and is_defined(evaluation.asked),
        "expected_rows": [(row, means.of(row.system) if means else None) for row in standings],
        "misleads": outlook.misleads(evaluation.asked, [row.judged for row in standings]),
    }


def named_means(collection: Collection, context: dict) -> Chart:
    """The chart of means with the title and the caption of its picture file."""
    evaluation = context["evaluation"]
    title = f"{collection.name}: mean {evaluation.asked.measure} of each system"
    return context["charts"]["means"].titled(title, means_caption(evaluation), collection.slug)


def charts_and_tables(evaluation: Evaluation) -> dict:
    """The context of the charts and of the tables below them.

    wins: how many queries each system wins; heat: the heat map of queries by systems; heads, matrix: the columns
    and the rows of the same numbers as a table; curve: the standings of each system at the cutoffs; gains: the
    standings in CG, DCG and IDCG; gain_labels: measure and options of each of these whose options in force are not
    those of the asked measure.
    """
    grid, cutoffs = heat.shaded(evaluation), cutoffs_of(evaluation)
    heat_map = heat.picture(evaluation, grid)
    return {
        "wins": heat.wins(evaluation, grid),
        "heat": heat_map,
        "heads": heat.heads(evaluation),
        "matrix": matrix(evaluation, grid),
        "cutoffs": [measure.cutoff for measure in cutoffs],
        "curve": evaluation.across(cutoffs),
        "gains": evaluation.across(evaluation.asked.cumulative),
        "gain_labels": evaluation.asked.labels_beside(evaluation.asked.cumulative),
        "charts": {
            "means": means_chart(evaluation),
            # A heat map with too many cells for a chart is drawn as lines.
            **({"heat": heat_map["chart"]} if "chart" in heat_map else {}),
            **curves_chart(evaluation, cutoffs),
        },
    }


def matrix(evaluation: Evaluation, grid: heat.Shaded) -> list[dict] | None:
    """The rows of the table of queries, easiest first; None where they are too many for this page."""
    if len(grid.value) > MOST_TABLE_ROWS:
        return None
    rows = heat.rows(evaluation, grid)
    return [rows[place] for place in evaluation.by_ease()]


@files("expected")
def overview_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV and JSON of `evaluate`: a row for each system and measure of the page's first tables."""
    evaluation = evaluated(collection, asked, asked.cumulative, bounded_measures(collection, asked))
    evaluation = with_expected_in(request, collection, evaluation)
    ratings_of_older_texts = older_texts(collection)
    return Files(
        f"{collection.slug}-systems-{asked.measure}",
        table=lambda: csv_and_json.means(evaluation, ratings_of_older_texts),
        json=lambda: csv_and_json.document(evaluation, older_texts=ratings_of_older_texts),
    )

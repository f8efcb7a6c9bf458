"""The overview of results: which system is best, how reliable that is, and where systems differ."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse

from ratings.models import Collection
from ratings.people.access import readers_page
from ratings.pool.progress.counts import gold_hits

from ... import record, scores
from ...agreement.coefficients import ordinal_alpha
from ...deciding import not_expected, systems_of
from ...deciding.expecting import expecting, is_defined, wanted_in, with_expected_in
from ...deciding.sentences import named_machines
from ...measures import cautions, effective
from ...page import options
from ...page.address import page, with_options
from ...page.charts import charted
from ...page.downloads import Files, files
from ...page.holdings import holdings, next_step
from ...page.numbers import counts
from ...record import InUse, cache
from ...record.drawn import rounds_so_far
from ...scores import Asked
from .. import csv_and_json, heat, sentences
from ..answer import Answer, bounded_in, evaluated
from ..charts import curves_of, drawn_curves, expected_chart, means_chart
from ..leader import lead_of
from ..machine_only import alone_in, table_of
from ..step_by_step import step_by_step
from ..trust import neutral_mean, trust_of

SHORT = 60  # rows of a table; a longer one has a page of its own


@readers_page
@with_options("expected")
@step_by_step("results")
def overview(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    held = holdings(collection)
    context = page(request, collection, "results", asked) | {
        "n": held,
        "heading": sentences.heading(collection.name, held["systems"], held["queries"]),
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
            systems = [standing.system.name for standing, _ in context["standings"]]
            context |= table_of(every, systems, asked)
    return charted(request, "evaluation/overview.html", context)


def results(collection: Collection, asked: Asked, rounds: int, used: tuple[InUse, ...], wanted: bool) -> dict:
    """The context about scores, the same for all readers of this version."""
    expected = expecting(collection, asked, rounds, wanted, used)
    answer = Answer.of(collection, asked, [*asked.cumulative, *asked.at_cutoffs], bounds=True)
    if expected.headline:
        answer = replace(answer, first=tuple(row.system for row in expected.headline.means))
    shaded = heat.shaded(answer)
    shades = heat.picture(answer, shaded)
    below = int(shaded.below.sum())
    neutral = neutral_mean(answer)
    rows = [
        (standing, [answer.standing(standing.system.name, measure) for measure in asked.cumulative])
        for standing in answer.standings
    ]
    told = expected.expected
    means = {row.system: row for row in told.means} if told else {}
    cutoffs, curve = curves_of(answer)
    judged = {standing.system.name: standing.judged for standing in answer.standings}
    uneven, least = sentences.uneven(
        judged, str(asked.at("Judged")), asked.measure, asked.options, (record.scale(collection) or [0.0])[0]
    )
    return {
        "lead": lead_of(collection, asked, answer, expected),
        "expecting": expected,
        "could_expect": not expected.rounds and is_defined(asked),
        "expected_rows": [
            (standing, means.get(standing.system.name) or not_expected(standing.system.name))
            for standing in answer.standings
        ],
        "machines": named_machines(told.facts()) if told else "",
        "misleads": expected.misleads(asked, judged.values()),
        "uneven": uneven,
        "least_judged": answer.systems.get(least),
        "alpha": ordinal_alpha(answer.record.ratings, sorted(answer.record.values.grades.values())),
        "standings": rows,
        "bounded": any(standing.lowest is not None for standing in answer.standings),
        "too_large": scores.has_bounds(asked.measure) and not answer.evaluation.bounds,
        "weighted": answer.evaluation.is_weighted,
        "counts": any(standing.total is not None for standing in answer.standings),
        "gains": [str(measure) for measure in asked.cumulative],
        "gain_labels": [label for measure in asked.cumulative if (label := asked.label_beside(measure))],
        "judged_label": str(asked.at("Judged")),
        "top_label": f"in the top {asked.measure.cutoff}" if asked.measure.cutoff else "in the rankings",
        "unjudged_words": options.unjudged(asked.measure, asked.options) if asked.reads_judgments else "",
        "trust": trust_of(answer),
        "lined": sum(standing.mean is not None for standing in answer.standings) > 1,
        "counted": counts(standing.queries for standing in answer.standings),
        "neutral": neutral,
        "described": options.in_force(asked),
        "cautions": cautions(effective(asked.measure, asked.options), answer.judgments.grade),
        "differing": sentences.differing(answer.standings, asked.measure, *heat.wins(answer), below),
        "heat": shades,
        "heads": heat.heads(answer),
        "matrix": matrix(answer, shaded),
        "cutoffs": cutoffs,
        "curve": curve,
        "curve_measure": str(asked.to(None)),
        "curve_label": f"{asked.to(None)}@k {asked.fingerprint}",
        "charts": {
            "means": expected_chart(answer, expected.interval, neutral)
            if expected.interval
            else means_chart(answer, neutral),
            **({"heat": shades["chart"]} if "chart" in shades else {}),
            **drawn_curves(answer, cutoffs, curve),
        },
    }


def matrix(answer: Answer, shaded: heat.Shaded) -> list[dict] | None:
    """The rows of the table of queries, easiest first; None where they are too many for this page."""
    if len(shaded.value) > SHORT:
        return None
    shown = heat.rows(answer, shaded)
    return [shown[row] for row in answer.by_ease()]


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

"""The overview of results: which system is best, how reliable that is, and where systems differ."""

from dataclasses import replace

import numpy as np
from django.http import HttpRequest, HttpResponse

from ratings.models import Collection
from ratings.people.access import readers_page
from ratings.pool.progress.counts import gold_hits

from ... import charts, record, scores
from ...agreement.coefficients import ordinal_alpha
from ...deciding import Expected, not_expected, systems_of
from ...deciding import sentences as expectations
from ...deciding.expecting import expecting, is_defined, wanted_in, with_expected_in
from ...measures import cautions, effective
from ...page import options
from ...page.address import page, with_options
from ...page.charts import Chart, charted
from ...page.downloads import Files, files
from ...page.holdings import holdings, next_step
from ...page.numbers import counts, decimals
from ...record import InUse, cache
from ...record.drawn import rounds_so_far
from ...scores import Asked
from .. import csv_and_json, heat, sentences
from ..answer import Answer, as_row, bounded_in, evaluated
from ..curves import curves_of
from ..leader import lead_of
from ..machine_only import alone_in, table_of
from ..standings import Standing
from ..step_by_step import step_by_step

SHORT = 60  # rows of a table; a longer one has a page of its own
WORTH_A_LOOK = 0.9  # judged share below which a warning is shown


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
        "machines": expectations.machines(told.facts()) if told else "",
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
        "trust": trust(answer),
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


def trust(answer: Answer) -> dict:
    """The context about reliability: judged share, holes, undefined queries."""
    holes, places = answer.holes()
    judged = [standing for standing in answer.standings if standing.judged is not None]
    worst = min(judged, key=lambda standing: standing.judged, default=None)
    same = worst is not None and all(standing.judged == worst.judged for standing in judged)
    most = max(answer.standings, key=lambda standing: standing.undefined)
    counts_any = any(standing.queries for standing in answer.standings)
    return {
        "judged": float(np.mean([standing.judged for standing in judged])) if judged else None,
        "worst": None if same else worst,
        "look": worst is not None and worst.judged < WORTH_A_LOOK,
        "holes": holes,
        "places": places,
        # Why no place can be judged or a hole.
        "nothing": "" if places else "no system returns a document" if counts_any else "no query counts",
        "undefined": most.undefined,
        "why": most.why,
        "negative": answer.negative,
    }


def neutral_mean(answer: Answer) -> float | None:
    """The mean score of an empty list, where negative judgments lift it above 0."""
    if answer.asked.measure.name != "nDCG" or not answer.negative:
        return None
    defined = answer.neutral[~np.isnan(answer.neutral)]
    mean = float(defined.mean()) if defined.size else 0.0
    return mean if mean > 0 else None


def means_chart(answer: Answer, neutral: float | None) -> Chart:
    parts = [f"{standing.system.name} {decimals(standing.mean)}" for standing in answer.standings]
    alt_text = f"Mean {answer.asked.measure} by system, highest first: {', '.join(parts)}."
    rows = [
        as_row(each, "mean", "low", "high", "lowest", "highest", "queries", leader=each is answer.standings[0])
        for each in answer.standings
        if each.mean is not None
    ]
    return Chart("means", charts.means(rows, bounded=answer.asked.bounded, neutral=neutral), alt_text)


def expected_chart(answer: Answer, told: Expected, neutral: float | None) -> Chart:
    """The expected means with their intervals, and the plain ones beside them."""
    means = {row.system: row for row in told.means}
    rows = [
        as_row(
            standing,
            *("mean", "low", "high", "lowest", "highest"),
            expected=mean.mean,
            expected_low=mean.low,
            expected_high=mean.high,
            final=told.final,
            leader=told.leader == mean.system,
        )
        for standing in answer.standings
        if (mean := means.get(standing.system.name)) and mean.mean is not None
    ]
    parts = [
        f"{row['system']} {decimals(row['expected'])} ({decimals(row['expected_low'])} to "
        f"{decimals(row['expected_high'])}), plain {decimals(row['mean'])}"
        for row in rows
    ]
    alt_text = f"Expected mean {told.measure} by system, with its 90 % interval for missing judgments: "
    spec = charts.expected_means(rows, bounded=answer.asked.bounded, neutral=neutral)
    return Chart("means", spec, f"{alt_text}{'; '.join(parts)}.")


def drawn_curves(answer: Answer, cutoffs: list[int], curve: list[tuple[str, list[Standing]]]) -> dict[str, Chart]:
    leader = answer.standings[0].system.name
    rows = [
        as_row(standing, "low", "high", cutoff=cutoff, value=standing.mean, leader=name == leader)
        for name, standings in curve
        for cutoff, standing in zip(cutoffs, standings, strict=True)
        if standing.mean is not None
    ]
    if not rows:
        return {}
    last = ", ".join(f"{name} {decimals(standings[-1].mean)}" for name, standings in curve)
    alt_text = f"Mean {answer.asked.to(None)}@k by system for k from {cutoffs[0]} to {cutoffs[-1]}. "
    alt_text += f"At {cutoffs[-1]}: {last}."
    return {"curves": Chart("curves", charts.curves(rows, bounded=answer.asked.bounded), alt_text)}


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

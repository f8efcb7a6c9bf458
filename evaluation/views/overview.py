"""The results of a collection: which system is best, how far that can be believed, where they differ."""

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ratings.models import Collection
from ratings.progress import gold_hits

from .. import charts, kept, report, scores
from ..measures import MEASURES, Measure, cautions
from ..templatetags.numbers import decimals
from . import agreement, compare, heat, panel, sentences
from .answer import Answer, Standing, bounded_in, evaluated, holdings, next_step
from .asked import Asked, for_analysts, page
from .export import csv_response, json_response

CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100)

# More rows than this belong on a page of their own.
SHORT = 60

# Below this share of judged places a mean says more about the judgments than about the system.
WORTH_A_LOOK = 0.9


@require_safe
@for_analysts
def overview(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    held = holdings(collection)
    context = page(request, collection, "results", asked) | {
        "n": held,
        "heading": sentences.heading(collection.name, held.systems, held.queries),
        "next_step": next_step(collection, held),
    }
    if held.systems and held.queries and held.judged:
        # Apart from what is kept: a pair that becomes gold changes no number of a system.
        context["gold"] = gold_hits(collection)
        context |= kept.whole(collection, ("overview", asked), lambda: results(collection, asked))
    return render(request, "evaluation/overview.html", context)


def results(collection: Collection, asked: Asked) -> dict:
    """What the page says and draws of the scores, the same for everybody who looks at this state."""
    answer = Answer.of(collection, asked, [*gains(asked), *steps(asked)], bounds=True)
    shown = heat.rows(answer)
    below = sum(cell.below for row in shown for cell in row.values)
    counted = max(standing.queries for standing in answer.standings)
    neutral = neutral_mean(answer)
    rows = [
        (standing, [answer.standing(standing.system.name, measure).mean for measure in gains(asked)])
        for standing in answer.standings
    ]
    cutoffs, curve = curves(answer)
    judged = {standing.system.name: standing.judged for standing in answer.standings}
    uneven, least = sentences.uneven(judged, str(asked.at("Judged")), asked.options.unjudged == "zero")
    return {
        "lead": sentences.leading(answer.standings, str(asked.measure), compare.of_best(collection, asked)),
        "uneven": uneven,
        "least_judged": answer.systems.get(least),
        "alpha": agreement.alpha_in(collection),
        "standings": rows,
        "bounded": any(standing.lowest is not None for standing in answer.standings),
        "too_large": scores.has_bounds(asked.measure) and not answer.evaluation.bounds,
        "weighted": answer.evaluation.is_weighted,
        "counts": any(standing.total is not None for standing in answer.standings),
        "gains": [str(measure) for measure in gains(asked)],
        "judged_label": str(asked.at("Judged")),
        "top_label": f"in the top {asked.measure.cutoff}" if asked.measure.cutoff else "in the rankings",
        "unjudged_words": panel.unjudged(asked.options),
        "trust": trust(answer),
        "most_counted": counted,
        "neutral": neutral,
        "described": panel.described(asked.options, asked.rule, asked.adjudications, asked.departing),
        "cautions": cautions(asked.options, answer.judgments.grade),
        "differing": sentences.differing(answer.standings, heat.wins(answer), counted, below),
        "heat": heat.picture(answer, shown),
        "heads": heat.heads(answer),
        "matrix": [shown[row] for row in answer.by_ease()] if len(shown) <= SHORT else None,
        "cutoffs": cutoffs,
        "curve": curve,
        "curve_label": f"{asked.to(None)}@k {asked.fingerprint}",
        "charts": {
            "means": charts.means(dots(answer), bounded=asked.bounded, neutral=neutral),
            "means_say": says(answer),
            **drawn_curves(answer, cutoffs, curve),
        },
    }


def gains(asked: Asked) -> list[Measure]:
    return [asked.at(name) for name in ("CG", "DCG", "IDCG") if name != asked.measure.name]


def steps(asked: Asked) -> list[Measure]:
    """The measure at the cutoffs of the curve; none where it takes no cutoff."""
    if not MEASURES[asked.measure.name].takes_cutoff:
        return []
    cutoffs = {*CUTOFFS, asked.measure.cutoff} - {None}
    return [asked.to(cutoff) for cutoff in sorted(cutoffs)]


def trust(answer: Answer) -> dict:
    """The strip that says whether the numbers can be believed yet."""
    holes, places = answer.holes()
    judged = [standing for standing in answer.standings if standing.judged is not None]
    worst = min(judged, key=lambda standing: standing.judged, default=None)
    same = worst is not None and all(standing.judged == worst.judged for standing in judged)
    most = max(answer.standings, key=lambda standing: standing.undefined)
    return {
        "judged": float(np.mean([standing.judged for standing in judged])) if judged else None,
        "worst": None if same else worst,
        "look": worst is not None and worst.judged < WORTH_A_LOOK,
        "holes": holes,
        "places": places,
        "undefined": most.undefined,
        "why": most.why,
        "negative": answer.negative,
    }


def neutral_mean(answer: Answer) -> float | None:
    """What an empty list scores on average, where negative judgments lift it above 0."""
    if answer.asked.measure.name != "nDCG" or not answer.negative:
        return None
    mean = answer.neutral.mean()
    return float(mean) if mean > 0 else None


def dots(answer: Answer) -> list[dict]:
    leader = answer.standings[0].system.name
    return [
        {
            "system": standing.system.name,
            "mean": standing.mean,
            "low": standing.low,
            "high": standing.high,
            "lowest": standing.lowest,
            "highest": standing.highest,
            "queries": standing.queries,
            "leader": standing.system.name == leader,
        }
        for standing in answer.standings
        if standing.mean is not None
    ]


def says(answer: Answer) -> str:
    """The chart of means in words."""
    parts = [f"{standing.system.name} {decimals(standing.mean)}" for standing in answer.standings]
    return f"Mean {answer.asked.measure} by system, highest first: {', '.join(parts)}."


def curves(answer: Answer) -> tuple[list[int], list[tuple[str, list[Standing]]]]:
    """The cutoffs down to the deepest ranking, and how each system stands at them."""
    deepest = max((int(answer.record.rankings[name].length.max(initial=0)) for name in answer.systems), default=0)
    within = [measure for measure in steps(answer.asked) if measure.cutoff <= max(deepest, 2)]
    table = [(name, [answer.standing(name, measure) for measure in within]) for name in answer.names]
    return [measure.cutoff for measure in within], table


def drawn_curves(answer: Answer, cutoffs: list[int], curve: list[tuple[str, list[Standing]]]) -> dict:
    leader = answer.standings[0].system.name
    rows = [
        {
            "system": name,
            "cutoff": cutoff,
            "value": standing.mean,
            "low": standing.low,
            "high": standing.high,
            "leader": name == leader,
        }
        for name, standings in curve
        for cutoff, standing in zip(cutoffs, standings, strict=True)
        if standing.mean is not None
    ]
    if not rows:
        return {}
    last = ", ".join(f"{name} {decimals(standings[-1].mean)}" for name, standings in curve)
    return {
        "curves": charts.curves(rows, bounded=answer.asked.bounded),
        "curves_say": f"Mean {answer.asked.measure.name}@k by system for k from {cutoffs[0]} to {cutoffs[-1]}. "
        f"At {cutoffs[-1]}: {last}.",
    }


@require_safe
@for_analysts
def overview_csv(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """One row for each system and measure of the page's first tables, as `evaluate --format csv` gives them."""
    evaluation = evaluated(collection, asked, [asked.measure, *gains(asked)], bounds=bounded_in(collection, asked))
    return csv_response(request, file_name(asked, collection), *report.means(evaluation, asked.profile))


@require_safe
@for_analysts
def overview_json(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The same as a document, as `evaluate --format json` gives it."""
    evaluation = evaluated(collection, asked, [asked.measure, *gains(asked)], bounds=bounded_in(collection, asked))
    return json_response(file_name(asked, collection), report.document(evaluation, asked.profile))


def file_name(asked: Asked, collection: Collection) -> str:
    return f"{collection.slug}-systems-{asked.measure}"

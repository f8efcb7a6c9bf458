"""Why on this query: two rankings side by side with the ideal list, and the way from their sums to nDCG."""

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from ratings.models import Assignment, Collection, Query

from .. import report, scores
from ..measures import Explanation, Measure
from . import arithmetic, lists, panel, running
from .answer import Answer, NextStep, bounded_in, evaluated, holdings, known, next_step
from .asked import Asked, CannotAnswer, for_analysts, page
from .export import csv_response, json_response

# So many lines can be told apart in the chart; with more systems it draws the two chosen.
LINES = 8


@require_safe
@for_analysts
def query(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    found = get_object_or_404(Query, collection=collection, pk=pk)
    answer = Answer.of(collection, asked, summed(asked), bounds=True)
    place = int(np.flatnonzero(answer.record.queries["pk"] == found.pk)[0])
    every = standings(answer, place)
    pks = answer.record.queries["pk"].tolist()
    context = page(request, collection, "queries", asked) | {
        "query": found,
        "all": every,
        "bounded": any(each["lowest"] is not None for each in every),
        "previous": pks[place - 1] if place else None,
        "next": pks[place + 1] if place + 1 < len(pks) else None,
        "keep": asked.keep,
        "hidden": [(name, value) for name, value in request.GET.items() if name not in ("left", "right")],
    }
    if not every:
        context["next_step"] = next_step(collection, holdings(collection))
        return render(request, "evaluation/query.html", context)
    context["judged"] = bool(answer.judgments.count[place])
    if not context["judged"]:
        context["next_step"] = not_judged(found)
    left, right = chosen(request, every)
    if request.GET.get("left") or request.GET.get("right"):
        context["keep"] = kept(asked, left, right)
    names = [each["system"].name for each in every]
    if len(names) > LINES:
        names = list(dict.fromkeys(each["system"].name for each in (left, right) if each))
    context |= compared(answer, place, explanations_of(collection, asked, found, names), left, right)
    return render(request, "evaluation/query.html", context)


def explanations_of(
    collection: Collection, asked: Asked, found: Query, names: list[str] | None = None
) -> dict[str, Explanation]:
    """By system; None: of all. CannotAnswer where the options do not fit the collection."""
    try:
        return scores.explain(
            collection, names, found.key, asked.measure, asked.options, asked.rule, asked.adjudications
        )
    except ValueError as error:
        raise CannotAnswer(str(error)) from error


def standings(answer: Answer, place: int) -> list[dict]:
    """Every system on the query of this row, highest value first."""
    key = answer.record.queries["key"].iloc[place]
    values, reasons = answer.values().loc[key], answer.reasons().loc[key]
    ndcg = answer.values(answer.asked.at("nDCG")).loc[key]
    lowest, highest = answer.bounds(key)
    rows = [
        {
            "system": system,
            "value": known(values[name]),
            "why": reasons[name],
            "ndcg": known(ndcg[name]),
            "others": [known(answer.values(measure).loc[key][name]) for measure in others(answer.asked)],
            "judged": float(answer.judged(name)[place]),
            "lowest": known(lowest[name]),
            "highest": known(highest[name]),
        }
        for name, system in answer.systems.items()
    ]
    return sorted(rows, key=lambda row: (row["value"] is None, -(row["value"] or 0), row["system"].name))


def others(asked: Asked) -> list[Measure]:
    return [asked.at(name) for name in ("nDCG", "DCG", "CG") if name != asked.measure.name]


def chosen(request: HttpRequest, every: list[dict]) -> tuple[dict, dict | None]:
    """The two systems that the address names; else the worst and the best here. One system stands alone."""
    by_pk = {str(each["system"].pk): each for each in every}
    left, right = by_pk.get(request.GET.get("left", "")), by_pk.get(request.GET.get("right", ""))
    if len(every) == 1:
        return every[0], None
    if left is None:
        left = next(each for each in reversed(every) if each is not right)
    if right is None:
        right = next(each for each in every if each is not left)
    return left, right


def kept(asked: Asked, left: dict, right: dict | None) -> str:
    sides = f"left={left['system'].pk}" + (f"&right={right['system'].pk}" if right else "")
    return f"{asked.keep}&{sides}" if asked.keep else f"?{sides}"


def compared(
    answer: Answer, place: int, explained: dict[str, Explanation], left: dict, right: dict | None
) -> dict:
    """Everything below the heading: lists, lines, arithmetic, what is missed, the running sums."""
    asked, options = answer.asked, answer.asked.options
    judgments = answer.judgments.only(place)
    grades = dict(zip(judgments.document.tolist(), judgments.grade.tolist(), strict=True))
    pair = [each for each in (left, right) if each]
    explanations = [explained[each["system"].name] for each in pair]
    ideal = explanations[0]
    listed = [explanation.ranking for explanation in explanations] + [ideal.ideal]
    documents = lists.titles({row.document for rows in listed for row in rows[: lists.SHOWN]})
    cutoff, judged = asked.measure.cutoff, bool(grades)
    sides = [
        lists.Side(
            system=each["system"],
            ndcg=each["ndcg"],
            why=explanation.reason,
            dcg=explanation.dcg,
            rows=[lists.line(row, documents, grades) for row in explanation.ranking[: lists.SHOWN]],
            more=max(0, len(explanation.ranking) - lists.SHOWN),
            present=bool(answer.record.rankings[each["system"].name].present[place]),
        )
        for each, explanation in zip(pair, explanations, strict=True)
    ]
    return {
        "left": sides[0],
        "right": sides[1] if right else None,
        "sides": sides,
        "scale": list(answer.collection.grades.all()),
        "lead": arithmetic.lead(pair, explanations, asked),
        "links": lists.links(sides) if right else None,
        "ideal": lists.ideal_list(ideal, documents, cutoff if judged else None),
        # Made of what a system returned, the ideal is another one for each system.
        "ideal_of": sides[0].system.name if options.ideal == "retrieved" else "",
        "negative": any(row.adds < 0 for side in sides for row in side.rows),
        "label": f"{asked.at('nDCG')} {asked.fingerprint}",
        "sum_label": f"{asked.at('DCG')} {asked.fingerprint}",
        "ndcg_label": str(asked.at("nDCG")),
        "judged_label": str(asked.at("Judged")),
        "shown_label": f"in the top {cutoff}" if cutoff else "in the list",
        "unjudged_words": panel.unjudged(options),
        "missing_words": panel.WORDS["missing"][options.missing],
        "others": [str(measure) for measure in others(asked)],
        "formula": arithmetic.formula(ideal),
        "sums": arithmetic.sums(sides, explanations) if judged else [],
        "missed": lists.missed(answer, place, sides, ideal, documents),
        "running": running.drawn(explained, left, right, asked) if judged else None,
    }


def not_judged(found: Query) -> NextStep:
    lack = "Nobody has judged a document of this query yet."
    shown = "So nDCG has no value here: the rankings below are shown as they are."
    waiting = Assignment.objects.filter(pair__query=found).exclude(state=Assignment.State.DONE).count()
    if waiting:
        wait = "rating is" if waiting == 1 else "ratings are"
        return NextStep(lack, f"{shown} {waiting:,} {wait} waiting for raters.")
    pool = f"python3 run.py manage pool {found.collection.slug}"
    return NextStep(lack, f"{shown} Pool the query for raters:", (pool,))


@require_safe
@for_analysts
def query_csv(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    """One row for each rank of each system down to the cutoff, then those of the ideal list."""
    found = get_object_or_404(Query, collection=collection, pk=pk)
    document, titles = explained(collection, asked, found)
    ends = ["lowest", "highest"] if bounded_in(collection, asked) else []
    numbers = [*map(str, summed(asked)), *ends]
    return csv_response(file_name(asked, found), *report.every_rank(document, numbers, titles))


@require_safe
@for_analysts
def query_json(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    """Each system with its sums and its ranks."""
    found = get_object_or_404(Query, collection=collection, pk=pk)
    document, _ = explained(collection, asked, found)
    return json_response(file_name(asked, found), document)


def explained(collection: Collection, asked: Asked, found: Query) -> tuple[dict, dict[str, str]]:
    """The document of this query, and the titles of its documents by key."""
    explanations = explanations_of(collection, asked, found)
    pks = {row.document for each in explanations.values() for row in (*each.ranking, *each.ideal)}
    documents = lists.titles(pks)
    keys = {pk: document.key for pk, document in documents.items()}
    evaluation = evaluated(collection, asked, summed(asked), bounds=bounded_in(collection, asked))
    document = report.explained(evaluation, asked.profile, found.key, explanations, keys)
    return document, {document.key: document.title for document in documents.values()}


def summed(asked: Asked) -> list[Measure]:
    """The measure and those of its arithmetic."""
    return list(dict.fromkeys([asked.measure, *(asked.at(name) for name in ("nDCG", "DCG", "CG", "IDCG"))]))


def file_name(asked: Asked, found: Query) -> str:
    name = slugify(found.key, allow_unicode=True) or found.pk
    return f"{found.collection.slug}-query-{name}-{asked.measure}"

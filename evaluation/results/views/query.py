"""The page of one query: rankings beside the ideal list, their differences, and the computation of nDCG."""

from math import isnan

import pandas as pd
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.text import slugify

from ratings.models import Assignment, Collection, Query
from ratings.people.access import readers_page

from ...measures import NOT_JUDGED, REASONS, SPLIT, Measure
from ...page import documents
from ...page import options as panel
from ...page.address import bounded_in, evaluated, page, with_judgments, with_options
from ...page.charts import charted
from ...page.documents import known
from ...page.downloads import Files, files
from ...page.holdings import NextStep, holdings, next_step
from ...scores import Asked, Evaluation
from .. import arithmetic, csv_and_json, lists, opinions, parts, running_sums
from ..side_by_side import MOST, beside, chosen_in, explanations_of, kept


@readers_page
@with_options(many=["system"])
def query(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    found = get_object_or_404(Query, collection=collection, pk=pk)
    evaluation = with_judgments(collection, asked, summed(asked), bounded_in(collection, asked))
    pks = evaluation.table.record.queries["pk"].tolist()
    place = pks.index(found.pk)
    every = standings(evaluation, place)
    context = page(request, collection, "queries", asked) | {
        "query": found,
        "keep": asked.keep,
        "hidden": [(name, value) for name, values in request.GET.lists() if name != "system" for value in values],
        "previous": pks[place - 1] if place else None,
        "next": pks[place + 1] if place + 1 < len(pks) else None,
        "bounded": any(each["lowest"] is not None for each in every),
        "judged": bool(evaluation.judgments.count[place]),
    }
    if not every:
        context["next_step"] = next_step(collection, holdings(collection))
        return charted(request, "evaluation/query.html", context)
    if not context["judged"]:
        context["next_step"] = not_judged(found)
    chosen = chosen_in(request, [each["system"] for each in every])
    context |= controls(asked, every, chosen) | compared(found, evaluation, place, every, chosen)
    if "system" in request.GET:
        context["keep"] = context["files"]
    return charted(request, "evaluation/query.html", context)


def controls(asked: Asked, every: list[dict], chosen: list[str]) -> dict:
    """The context of the choice of lists: a control for each, one for another, and addresses that keep them."""
    names = [each["system"] for each in every]
    return {
        "choices": [*chosen, ""] if 1 < len(chosen) < min(MOST, len(names)) else chosen,
        "names": sorted(names),
        "files": kept(asked, chosen),
        "all": [each | {"beside": kept(asked, beside(chosen, each["system"]))} for each in every],
    }


def standings(evaluation: Evaluation, place: int) -> list[dict]:
    """A row for each system on query number `place`, highest value first."""
    asked, names = evaluation.asked, evaluation.systems
    values, why, counting = (
        pd.Series(of(names)[place], names) for of in (evaluation.values, evaluation.why, evaluation.counting)
    )
    ndcg = pd.Series(evaluation.values(names, asked.at("nDCG"))[place], names)
    return [
        {
            "system": name,
            "pk": evaluation.table.record.pks[name],
            "value": known(values[name]),
            "why": why[name],
            "ndcg": known(ndcg[name]),
            # The values in other measures, and why they count in no mean; "" where they count.
            "others": [
                (known(evaluation.values([name], each)[place, 0]), evaluation.why([name], each)[place, 0])
                for each in others(asked)
            ],
            "judged": float(evaluation.judged(name)[place]),
            **bounds_on(evaluation, name, place),
        }
        for name in best_first(counting)
    ]


def bounds_on(evaluation: Evaluation, system: str, place: int) -> dict[str, float | None]:
    """The bounds of the asked measure on query number `place`; None: not computed."""
    bounds = evaluation.bounds.get((evaluation.asked.measure, system))
    ends = (bounds.low[place], bounds.high[place]) if bounds else (None, None)
    return dict(zip(("lowest", "highest"), map(known, ends), strict=True))


def best_first(values: pd.Series) -> list[str]:
    """Names of systems by their values on a query that count, those without one last."""
    return sorted(values.index, key=lambda name: (isnan(values[name]), -values[name], name))


def others(asked: Asked) -> list[Measure]:
    return [asked.at(name) for name in ("nDCG", "DCG", "CG") if name != asked.measure.name]


def compared(found: Query, evaluation: Evaluation, place: int, every: list[dict], chosen: list[str]) -> dict:
    """The context of the lists: links, parts, arithmetic, missing documents, running sums."""
    asked, collection = evaluation.asked, found.collection
    options, cutoff = asked.options, asked.measure.cutoff
    judgments = evaluation.judgments.only(place)
    grades = dict(zip(judgments.document.tolist(), judgments.grade.tolist(), strict=True))
    by_name = {each["system"]: each for each in every}
    shown = [by_name[name] for name in chosen]
    explained = explanations_of(collection, asked, found, chosen if len(every) > MOST else list(by_name))
    whole = explanations_of(collection, asked, found, chosen, whole=True) if cutoff else explained
    explanations = [explained[name] for name in chosen]
    places = [{row.document: row.rank for row in whole[name].ranking} for name in chosen]
    # A system without a ranking can have no sums. All have the same ideal list, except with ideal=retrieved.
    ideal = next((each for each in explanations if not isnan(each.idcg)), explanations[0])
    ideal, judged = explanations[0] if options.ideal == "retrieved" else ideal, bool(grades)
    listed = [explanation.ranking for explanation in explanations] + [ideal.ideal]
    documents = lists.titles({row.document for rows in listed for row in rows[: lists.SHOWN]})
    sides = [
        {
            "system": each["system"],
            "pk": each["pk"],
            "ndcg": each["ndcg"],
            "why": explanation.reason,
            "dcg": explanation.dcg,
            "rows": [lists.judged_line(row, documents, grades) for row in explanation.ranking[: lists.SHOWN]],
            "more": max(0, len(explanation.ranking) - lists.SHOWN),
            "present": bool(evaluation.table.record.rankings[each["system"]].present[place]),
        }
        for each, explanation in zip(shown, explanations, strict=True)
    ]
    split = parts.differences(explained, chosen, parts.measure_of(asked)) if judged else {}
    parted = parts.as_table(split, explanations, asked)
    summed_up = (
        running_sums.as_chart_and_table(explained, chosen[min(1, len(chosen) - 1)], asked) if judged else None
    )
    return {
        "sides": lists.linked(sides, places),
        "longest": max(sides, key=lambda side: len(side["rows"]))["system"],
        "scale": list(collection.grades.all()),
        "scored": sorted(shown, key=lambda row: -(row["value"] or 0)),
        "by_rank": parted["sentences"][0] if parted and len(shown) == 2 and asked.measure.name in SPLIT else "",
        "ideal": lists.ideal_list(ideal, documents, cutoff if judged else None),
        # With ideal=retrieved each system has its own ideal list.
        "ideal_of": chosen[0] if options.ideal == "retrieved" else "",
        "negative": any(row["adds"] < 0 for side in sides for row in side["rows"]),
        "opinions": opinions.opinions(found, documents, grades, asked),
        "label": f"{asked.at('nDCG')} {asked.fingerprint}",
        "sum_label": f"{asked.at('DCG')} {asked.fingerprint}",
        "ndcg_label": str(asked.at("nDCG")),
        "shown_label": f"in the top {cutoff}" if cutoff else "in the list",
        "unjudged_words": panel.unjudged(asked.at("nDCG"), options),
        "missing_words": panel.WORDS["missing"][options.missing],
        "others": [str(measure) for measure in others(asked)],
        "other_labels": asked.labels_beside(others(asked)),
        "parts": parted,
        "worst": any(explanation.min_dcg for explanation in explanations),
        "sums": arithmetic.sums(sides, explanations) if judged else [],
        "missed": lists.missed(places, ideal, documents, cutoff),
        "running": summed_up,
        "charts": {"running": summed_up["chart"]} if summed_up else {},
    }


def not_judged(found: Query) -> NextStep:
    lack = "Nobody has judged a document of this query yet."
    shown = "So it counts in no mean: the rankings below are shown as they are."
    waiting = Assignment.objects.filter(pair__query=found).exclude(state=Assignment.State.DONE).count()
    if waiting:
        wait = "rating is" if waiting == 1 else "ratings are"
        return NextStep(lack, f"{shown} {waiting:,} {wait} waiting for raters.")
    pool = f"python3 run.py manage pool {found.collection.slug}"
    return NextStep(lack, f"{shown} Pool the query for raters:", (pool,))


@files(many=["system"])
def query_files(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> Files:
    """The files of the query: sums and ranks of each system, and the differences of those side by side.

    The CSV has a row for each rank of each system down to the cutoff, of the ideal list, and of each difference.
    """
    found = get_object_or_404(Query, collection=collection, pk=pk)
    document, titles = opened(request, collection, asked, found)

    def table() -> documents.Table:
        ends = ["lowest", "highest"] if bounded_in(collection, asked) else []
        return csv_and_json.every_rank(document, [*map(str, summed(asked)), *ends], titles)

    name = slugify(found.key, allow_unicode=True) or found.pk
    return Files(f"{collection.slug}-query-{name}-{asked.measure}", table=table, json=lambda: document)


def opened(
    request: HttpRequest, collection: Collection, asked: Asked, found: Query
) -> tuple[dict, dict[str, str]]:
    """The document of this query, and the titles of its documents by key."""
    explanations = explanations_of(collection, asked, found)
    pks = {row.document for each in explanations.values() for row in (*each.ranking, *each.ideal)}
    documents = lists.titles(pks)
    keys = {pk: document.key for pk, document in documents.items()}
    evaluation = evaluated(collection, asked, summed(asked), bounds=bounded_in(collection, asked))
    measure, systems = parts.measure_of(asked), list(evaluation.systems)
    place = evaluation.per_query.index.get_loc(found.key)
    values = pd.Series(evaluation.counting(systems)[place], systems)
    chosen = chosen_in(request, best_first(values))
    judged = any(each.reason != REASONS[NOT_JUDGED] for each in explanations.values())
    differences = parts.differences(explanations, chosen, measure) if chosen and judged else {}
    document = csv_and_json.explained(evaluation, found.key, explanations, keys, differences, measure)
    return document, {document.key: document.title for document in documents.values()}


def summed(asked: Asked) -> list[Measure]:
    """The measure of the address and the measures of its arithmetic."""
    return list(dict.fromkeys([asked.measure, *(asked.at(name) for name in ("nDCG", "DCG", "CG", "IDCG"))]))

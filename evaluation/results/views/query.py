"""The page of one query: rankings beside the ideal list, their differences, and the computation of nDCG."""

from math import isnan

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.text import slugify

from ratings.models import Assignment, Collection, Query
from ratings.people.access import readers_page
from ratings.pool import ageing

from ...measures import NOT_JUDGED, REASONS, SPLIT, Measure
from ...page import documents
from ...page import options as panel
from ...page.address import bounded_measures, evaluated, page, parameters_without, with_options
from ...page.charts import charted
from ...page.documents import none_for_nan
from ...page.downloads import Files, files
from ...page.holdings import NextStep, documents_by_pk, holdings, next_step
from ...scores import Asked, Evaluation
from .. import arithmetic, csv_and_json, lists, opinions, parts, running_sums, why
from ..lists import SHOWN_RANKS
from ..side_by_side import MOST_LISTS, beside, chosen_in, explanations_of, kept


@readers_page
@with_options(many=["system"])
def query(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    """The page: the lists of the chosen systems side by side, and how their values were computed."""
    query = get_object_or_404(Query, collection=collection, pk=pk)
    with_bounds = bounded_measures(collection, asked)  # what a value can still become once the pool is judged
    evaluation = evaluated(collection, asked, page_measures(asked), with_bounds, judgments=True)
    pks = evaluation.table.record.queries["pk"].tolist()
    place = pks.index(query.pk)  # the row of the query in all arrays
    rows = standings(evaluation, place)
    context = page(request, collection, "queries", asked) | {
        "query": query,
        "keep": asked.keep,  # the query string of links to other queries
        "hidden": parameters_without(request, ["system"]),  # hidden fields of the form that chooses the systems
        "previous": pks[place - 1] if place else None,
        "next": pks[place + 1] if place + 1 < len(pks) else None,
        "bounded": any(row["lowest"] is not None for row in rows),  # whether bounds are known
        "judged": bool(evaluation.judgments.count[place]),
        "older_texts": older_texts_of(query),
    }
    if not rows:  # there are no systems
        context["next_step"] = next_step(collection, holdings(collection))
        return charted(request, "evaluation/query.html", context)
    if not context["judged"]:
        context["next_step"] = not_judged(query)
    chosen = chosen_in(request, [row["system"] for row in rows])
    context |= controls(asked, rows, chosen)
    context |= compared(query, evaluation, place, rows, chosen)
    if "system" in request.GET:
        context["keep"] = kept(asked, chosen)  # with the chosen systems, too
    return charted(request, "evaluation/query.html", context)


def controls(asked: Asked, rows: list[dict], chosen: list[str]) -> dict:
    """The context of the choice of lists: a control for each of them, and one to add another.

    files: the query string with the chosen systems, for links to files and documents; all: the rows, each with the
    query string of the page on which its system stands beside the chosen ones. rows: as from `standings`, of all
    systems.
    """
    names = [row["system"] for row in rows]
    can_add = len(chosen) < min(MOST_LISTS, len(names))
    return {
        "choices": [*chosen, ""] if can_add else chosen,  # "": no system is chosen in this control yet
        "names": sorted(names),
        "files": kept(asked, chosen),
        "all": [row | {"beside": kept(asked, beside(chosen, row["system"]))} for row in rows],
    }


def standings(evaluation: Evaluation, place: int) -> list[dict]:
    """A row for each system on query number `place`, highest value first, those that count in no mean last."""

    def counting_and_high_first(row: dict) -> tuple:
        return row["why"] != "", 0 if row["why"] else -row["value"], row["system"]

    return sorted((standing(evaluation, name, place) for name in evaluation.systems), key=counting_and_high_first)


def standing(evaluation: Evaluation, system: str, place: int) -> dict:
    """The numbers of one system on a query. None: without a value, and for bounds not computed.

    others: (value, why) in nDCG, DCG and CG without the asked measure, where why says why the value counts in no
    mean; judged: the judged share down to the cutoff; lowest, highest: the bounds of the value. place: the row of
    the query in all arrays.
    """
    asked = evaluation.asked
    bounds = evaluation.bounds.get((asked.measure, system))

    def value_and_why(measure: Measure) -> tuple[float | None, str]:
        """The value, and why it counts in no mean; "" where it counts."""
        value, why = evaluation.values([system], measure), evaluation.why([system], measure)  # [queries, 1]
        return none_for_nan(value[place, 0]), why[place, 0]

    value, why = value_and_why(asked.measure)
    return {
        "system": system,
        "pk": evaluation.table.record.system_pks[system],
        "value": value,
        "why": why,
        "ndcg": value_and_why(asked.at("nDCG"))[0],
        "others": [value_and_why(measure) for measure in others(asked)],
        "judged": float(evaluation.judged(system)[place]),
        "lowest": none_for_nan(bounds.low[place]) if bounds else None,
        "highest": none_for_nan(bounds.high[place]) if bounds else None,
    }


def others(asked: Asked) -> list[Measure]:
    return [asked.at(name) for name in ("nDCG", "DCG", "CG") if name != asked.measure.name]


def compared(query: Query, evaluation: Evaluation, place: int, rows: list[dict], chosen: list[str]) -> dict:
    """The context of the lists: links, parts, arithmetic, missing documents, running sums. rows: as `controls`."""
    asked, collection = evaluation.asked, query.collection
    options, cutoff = asked.options, asked.measure.cutoff
    judgments = evaluation.judgments.only(place)
    grades = dict(zip(judgments.document.tolist(), judgments.grade.tolist(), strict=True))
    by_name = {row["system"]: row for row in rows}
    shown = [by_name[name] for name in chosen]
    explained = explanations_of(collection, asked, query, chosen if len(rows) > MOST_LISTS else list(by_name))
    whole = explanations_of(collection, asked, query, chosen, whole=True) if cutoff else explained
    explanations = [explained[name] for name in chosen]
    whole_ranks = [{row.document: row.rank for row in whole[name].ranking} for name in chosen]
    # A system without a ranking can have no sums. All have the same ideal list, except with ideal=retrieved.
    with_sums = [explanation for explanation in explanations if not isnan(explanation.idcg)]
    ideal = explanations[0] if options.ideal == "retrieved" or not with_sums else with_sums[0]
    judged = bool(grades)
    listed = [explanation.ranking for explanation in explanations] + [ideal.ideal]
    documents = documents_by_pk({row.document for rows in listed for row in rows[:SHOWN_RANKS]})
    sides = [
        {
            "system": row["system"],
            "pk": row["pk"],
            "ndcg": row["ndcg"],
            "why": explanation.reason,
            "dcg": explanation.dcg,
            "rows": [lists.judged_line(rank, documents, grades) for rank in explanation.ranking[:SHOWN_RANKS]],
            "more": max(0, len(explanation.ranking) - SHOWN_RANKS),
            "present": bool(evaluation.table.record.rankings[row["system"]].present[place]),
        }
        for row, explanation in zip(shown, explanations, strict=True)
    ]
    split = parts.differences(explained, chosen, parts.measure_of(asked)) if judged else {}
    # The second list is highlighted; a collection of one system has only a first.
    running = running_sums.as_chart_and_table(explained, chosen[:2][-1], asked) if judged else None
    compared_lists = [why.SystemList(*facts) for facts in zip(chosen, explanations, whole_ranks, strict=True)]
    return {
        "sides": lists.linked(sides, whole_ranks),
        "longest": max(sides, key=lambda side: len(side["rows"]))["system"],
        "scale": list(collection.grades.all()),
        "scored": sorted(shown, key=lambda row: -(row["value"] or 0)),
        "why": why.sentence(compared_lists[0], compared_lists[1], documents)
        if len(shown) == 2 and asked.measure.name in SPLIT
        else "",
        "ideal": lists.ideal_list(ideal, documents, cutoff if judged else None),
        # With ideal=retrieved each system has its own ideal list.
        "ideal_of": chosen[0] if options.ideal == "retrieved" else "",
        "negative": any(row["adds"] < 0 for side in sides for row in side["rows"]),
        "opinions": opinions.opinions(query, documents, grades, asked),
        "label": f"{asked.at('nDCG')} {asked.fingerprint}",
        "ndcg_label": str(asked.at("nDCG")),
        "shown_label": f"in the top {cutoff}" if cutoff else "in the list",
        "unjudged_words": panel.unjudged(asked.at("nDCG"), options),
        "missing_words": panel.PHRASES["missing"][options.missing],
        "others": [str(measure) for measure in others(asked)],
        "other_labels": asked.labels_beside(others(asked)),
        "parts": parts.as_table(split, explanations, asked),
        "worst": any(explanation.min_dcg for explanation in explanations),
        "sums": arithmetic.quotients(sides, explanations) if judged else [],
        "missed": lists.missed(whole_ranks, ideal, documents, cutoff),
        "running": running,
        "charts": {"running": running["chart"]} if running else {},
    }


def not_judged(query: Query) -> NextStep:
    lack = "Nobody has judged a document of this query yet."
    shown = "So it counts in no mean: the rankings below are shown as they are."
    waiting = Assignment.objects.filter(pair__query=query).exclude(state=Assignment.State.DONE).count()
    if waiting:
        wait = "rating is" if waiting == 1 else "ratings are"
        return NextStep(lack, f"{shown} {waiting:,} {wait} waiting for raters.")
    pool = f"{settings.PROGRAM} manage pool {query.collection.slug}"
    return NextStep(lack, f"{shown} Pool the query for raters:", (pool,))


@files(many=["system"])
def query_files(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> Files:
    """The files of the query: values and ranks of each system, and the differences of those side by side.

    The CSV has a row for each rank of each system down to the cutoff, of the ideal list, and of each difference.
    """
    query = get_object_or_404(Query, collection=collection, pk=pk)
    document, titles = document_and_titles(request, collection, asked, query)

    def table() -> documents.Table:
        ends = ["lowest", "highest"] if bounded_measures(collection, asked) else []
        # The columns of numbers: the measures of the page, and the bounds of the asked one where they are known.
        return csv_and_json.every_rank(document, [*map(str, page_measures(asked)), *ends], titles)

    name = slugify(query.key, allow_unicode=True) or query.pk
    return Files(f"{collection.slug}-query-{name}-{asked.measure}", table=table, json=lambda: document)


def document_and_titles(
    request: HttpRequest, collection: Collection, asked: Asked, query: Query
) -> tuple[dict, dict[str, str]]:
    """The JSON document of this query, and the titles of the documents in its lists, by key.

    The JSON document has all systems, and the differences of those that the address chooses.
    """
    explanations = explanations_of(collection, asked, query)
    rows = (row for explanation in explanations.values() for row in (*explanation.ranking, *explanation.ideal))
    listed = documents_by_pk({row.document for row in rows})  # the documents of all lists, by pk
    keys = {pk: document.key for pk, document in listed.items()}
    evaluation = evaluated(collection, asked, page_measures(asked), bounds=bounded_measures(collection, asked))
    measure = parts.measure_of(asked)
    place = evaluation.per_query.index.get_loc(query.key)
    chosen = chosen_in(request, [row["system"] for row in standings(evaluation, place)])
    is_judged = any(explanation.reason != REASONS[NOT_JUDGED] for explanation in explanations.values())
    differences = parts.differences(explanations, chosen, measure) if chosen and is_judged else {}
    as_json = csv_and_json.explained(evaluation, query.key, explanations, keys, differences, measure)
    titles = {document.key: document.title for document in listed.values()}
    return as_json | {"older_texts": older_texts_of(query)}, titles


def older_texts_of(query: Query) -> int:
    """How many ratings of the query that count were given to an older text of their document."""
    return ageing.to_older_text(ageing.of_collection(query.collection).filter(query=query)).count()


def page_measures(asked: Asked) -> list[Measure]:
    """The measures of the page and its files: the asked one, nDCG, and the sums CG, DCG and IDCG."""
    return list(dict.fromkeys([asked.measure, *(asked.at(name) for name in ("nDCG", "DCG", "CG", "IDCG"))]))

"""The page of a system: its means, its best and worst queries, its rankings."""

from dataclasses import replace
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from ratings.models import Baseline, Collection, System
from ratings.people.access import readers_page
from ratings.web.pages import paged
from ratings.web.tables import ROWS_PER_PAGE

from ... import charts
from ...measures import MEASURES, Measure, parse_measure
from ...page.address import evaluated, page, with_options
from ...page.charts import Chart, charted
from ...page.documents import none_for_nan
from ...page.downloads import Files, files
from ...page.words import degree
from ...scores import Asked, Evaluation
from ...scores.evaluation import ROUNDING
from .. import csv_and_json
from ..trust import older_texts

MAIN_MEASURES = ("nDCG@5", "nDCG@10", "nDCG@20", "nDCG", "P@10", "R@100", "AP", "RR")


@readers_page
@with_options("page")
def system(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    """The page of one system. Its table has all queries, its chart those that count in the asked measure."""
    system = get_object_or_404(System, collection=collection, pk=pk)
    asked_of_system = replace(asked, systems=(system.name,))
    evaluation = evaluated(collection, asked_of_system, main_measures(asked), judgments=True)
    rows = query_rows(evaluation, system)
    counting_rows = [row for row in rows if not row["why"]]
    rankings = evaluation.table.record.rankings[system.name]
    context = page(request, collection, "results", asked) | {
        "system": system,
        "baselines": collection.baselines.filter(system=system).order_by("-pk"),
        "kinds_of_baseline": Baseline.Kind.choices,
        "evaluation": evaluation,
        "standing": evaluation.standing(system.name),
        "means": [evaluation.standing(system.name, measure) for measure in evaluation.measures],
        "fingerprint": evaluation.fingerprint_of(asked.measure),
        "present": int(rankings.present.sum()),  # queries with a ranking
        "queries": len(rows),
        "listed": len(rankings.documents),  # documents in all rankings together
        "deepest": int(rankings.length.max(initial=0)),  # the length of the longest ranking
        "defined": len(counting_rows),  # queries that count
        # Whether the page explains the mark of a value below the score of an empty list.
        "any_below_empty_list": any(row["below"] for row in counting_rows),
        **paged(request, rows, ROWS_PER_PAGE),
    }
    if counting_rows:
        context |= with_bars(asked, system, counting_rows)
    return charted(request, "evaluation/system.html", context)


def with_bars(asked: Asked, system: System, rows: list[dict]) -> dict:
    """The context of the chart and of the sentence above it. rows: those of `query_rows` that count."""
    spec = charts.by_query(rows, bounded=asked.bounded)
    alt_text = f"{asked.measure} of {system.name} on {len(rows)} queries, {degree(asked.measure).most} first."
    best, worst = rows[0], rows[-1]
    return {
        "charts": {"bars": Chart("bars-spec", spec, alt_text)},
        "best": best,
        "worst": worst,
        "alike": best["value"] - worst["value"] <= ROUNDING,
    }


def main_measures(asked: Asked) -> list[Measure]:
    """The measures of every system page, as far as the options allow them."""
    measures = [parse_measure(text) for text in MAIN_MEASURES]
    return [each for each in measures if asked.options.ties != "average" or MEASURES[each.name].sums_ranks]


def query_rows(evaluation: Evaluation, system: System) -> list[dict]:
    """A row for each query, for the table and the chart: highest value first, those that count in no mean last.

    below: whether the value is below the score of an empty list; why: the reason why it counts in no mean, ""
    where it counts; present: whether the system has a ranking for the query; length: that of the ranking.
    """
    record, name, slug = evaluation.table.record, system.name, evaluation.collection
    values = evaluation.values([name])[:, 0].tolist()
    below_empty_list = evaluation.below_empty_list([name])[:, 0].tolist()
    reasons = evaluation.why([name])[:, 0].tolist()
    judged, rankings = evaluation.judged(name), record.rankings[name]
    # The page of a query opens with the same options and this system.
    query_string = evaluation.asked.keep_with(urlencode({"system": name}))
    rows = [
        {
            "pk": pk,
            "query": key,  # the name in the chart
            "key": key,  # the name in the table
            "text": text,
            "value": none_for_nan(values[place]),
            "below": below_empty_list[place],
            "why": reasons[place],
            "judged": none_for_nan(judged[place]),
            "present": bool(rankings.present[place]),
            "length": int(rankings.length[place]),
            "keep": query_string.removeprefix("?"),  # for links of the table, which write the "?" themselves
            "url": reverse("query", args=[slug, pk]) + query_string,
        }
        for place, (pk, key, text) in enumerate(record.queries[["pk", "key", "text"]].itertuples(index=False))
    ]
    # False sorts before True: queries that count come first, the highest value first.
    return sorted(rows, key=lambda row: (row["why"] != "", -(row["value"] or 0)))


@files()
def system_files(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> Files:
    """The CSV has a row for each query, in the asked measure, with the number of its judgments.

    The JSON is that of `evaluate --system NAME --per-query` in several measures. It also says how many ratings
    were given to an older text of their document.
    """
    system = get_object_or_404(System, collection=collection, pk=pk)
    of_system = replace(asked, systems=(system.name,))
    return Files(
        f"{collection.slug}-system-{system.pk}-{asked.measure}",
        table=lambda: csv_and_json.queries_with_texts(evaluated(collection, of_system, judgments=True)),
        # True: also the values by query, as --per-query has them.
        json=lambda: csv_and_json.document(
            evaluated(collection, of_system, main_measures(asked)), True, older_texts(collection)
        ),
    )

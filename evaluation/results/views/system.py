"""The page of a system: its means, its best and worst queries, its rankings."""

from dataclasses import replace
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from ratings.models import Collection, System
from ratings.people.access import readers_page
from ratings.web.pages import paged

from ... import charts
from ...measures import MEASURES, Measure, parse_measure
from ...page.address import page, with_options
from ...page.charts import Chart, charted
from ...page.documents import known
from ...page.downloads import Files, files
from ...page.tables import AT_ONCE
from ...page.words import degree
from ...scores import Asked
from .. import csv_and_json
from ..answer import ROUNDING, Answer, evaluated, every_query

MAIN = ("nDCG@5", "nDCG@10", "nDCG@20", "nDCG", "P@10", "R@100", "AP", "RR")


@readers_page
@with_options("page")
def system(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    found = get_object_or_404(System, collection=collection, pk=pk)
    answer = Answer.of(collection, asked, main_measures(asked), system=found)
    rows = ranked(answer, found)
    defined = [row for row in rows if not row["why"]]
    measures = dict.fromkeys([asked.measure, *main_measures(asked)])
    standing = answer.standing(found.name)
    rankings = answer.record.rankings[found.name]
    context = page(request, collection, "results", asked) | {
        "system": found,
        "standing": standing,
        "means": [answer.standing(found.name, measure) for measure in measures],
        "fingerprint": asked.fingerprint,
        "judged_label": str(asked.at("Judged")),
        "present": int(rankings.present.sum()),
        "queries": len(rows),
        "listed": len(rankings.documents),
        "deepest": int(rankings.length.max(initial=0)),
        "defined": len(defined),
        "below": any(row["below"] for row in defined),
        **paged(request, rows, AT_ONCE),
    }
    if defined:
        spec = charts.by_query(defined, bounded=asked.bounded)
        said = f"{asked.measure} of {found.name} on {len(defined)} queries, {degree(asked.measure).most} first."
        context["charts"] = {"bars": Chart("bars-spec", spec, said)}
        context |= {"best": defined[0], "worst": defined[-1]}
        context["alike"] = defined[0]["value"] - defined[-1]["value"] <= ROUNDING
    return charted(request, "evaluation/system.html", context)


def main_measures(asked: Asked) -> list[Measure]:
    """The measures of every system page, as far as the options allow them."""
    measures = [parse_measure(text) for text in MAIN]
    return [m for m in measures if asked.options.ties != "average" or MEASURES[m.name].sums_ranks]


def ranked(answer: Answer, found: System) -> list[dict]:
    """A row for each query, highest value first, those that count in no mean last."""
    record, asked = answer.record, answer.asked
    values, below = answer.array([found.name])[:, 0].tolist(), answer.below([found.name])[:, 0].tolist()
    reasons = answer.why([found.name])[:, 0].tolist()
    judged, rankings = answer.judged(found.name), record.rankings[found.name]
    keep = asked.keep_with(urlencode({"system": found.name}))
    rows = [
        {
            "pk": pk,
            "query": key,
            "key": key,
            "text": text,
            "value": known(values[place]),
            "below": below[place],
            "why": reasons[place],
            "judged": known(judged[place]),
            "present": bool(rankings.present[place]),
            "length": int(rankings.length[place]),
            "keep": keep[1:],
            "url": reverse("query", args=[answer.collection.slug, pk]) + keep,
        }
        for place, (pk, key, text) in enumerate(record.queries[["pk", "key", "text"]].itertuples(index=False))
    ]
    return sorted(rows, key=lambda row: (row["why"] != "", -(row["value"] or 0)))


@files()
def system_files(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> Files:
    """The CSV has a row for each query; the JSON is that of `evaluate --system NAME --per-query`."""
    found = get_object_or_404(System, collection=collection, pk=pk)

    def document() -> dict:
        evaluation = evaluated(collection, replace(asked, systems=(found.name,)), main_measures(asked))
        return csv_and_json.document(evaluation, per_query=True)

    return Files(
        f"{collection.slug}-system-{found.pk}-{asked.measure}",
        table=lambda: every_query(Answer.of(collection, asked, system=found)),
        json=document,
    )

"""The page of queries: the score of each system on each query."""

from collections.abc import Callable
from operator import itemgetter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from ratings.formats.values import natural
from ratings.models import Collection
from ratings.people.access import readers_page
from ratings.web.pages import paged

from ...page import tables
from ...page.address import evaluated, page, with_judgments, with_options
from ...page.downloads import Files, files
from ...page.holdings import holdings, next_step
from ...scores import Asked, Evaluation
from .. import csv_and_json, heat

USUAL = "-mean"  # the default order of the table
AT_ONCE = 1_000
MOST_EXACT = 4_000  # cells that carry all digits: more make the page five times as large, and the files have them


@readers_page
@with_options("sort", "q", "page")
def queries(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    evaluation = with_judgments(collection, asked)
    shaded = heat.shaded(evaluation)
    shown = heat.rows(evaluation, shaded)
    q, sort = request.GET.get("q", "").strip(), request.GET.get("sort", "")
    sorts = values_by(evaluation)
    sort = sort if sort.removeprefix("-") in sorts else USUAL
    found = [row for row in shown if tables.matches(q, row["key"], row["text"])]
    rows = tables.ordered(found, sorts[sort.removeprefix("-")], sort.startswith("-"))
    context = page(request, collection, "queries", asked) | {
        "one": len(evaluation.systems) == 1,
        "q": q,
        "found": len(found),
        "total": len(shown),
        "hidden": [(n, value) for n, values in request.GET.lists() if n not in ("q", "page") for value in values],
        "heads": heat.heads(evaluation, sort),
        "key": heat.key(evaluation, shaded),
        "exact": min(len(rows), AT_ONCE) * len(evaluation.systems) <= MOST_EXACT,
        **paged(request, rows, AT_ONCE),
    }
    if shown and evaluation.systems and evaluation.judgments.count.any():
        context["differ"] = heat.differ(evaluation, shaded)
    elif not shown:
        context["next_step"] = next_step(collection, holdings(collection))
    return render(request, "evaluation/queries.html", context)


def values_by(evaluation: Evaluation) -> dict[str, Callable[[dict], object]]:
    """The values that the table can be sorted by, by name in the address."""
    of_systems = {
        f"s{each.pk}": lambda row, place=place: counting(row["values"][place])
        for place, each in enumerate(evaluation.standings)
    }
    return of_systems | {
        "text": lambda row: row["text"].casefold(),
        "key": lambda row: natural(row["key"]),
        **{name: itemgetter(name) for name in ("mean", "spread", "judged")},
    }


def counting(cell: heat.Cell) -> float | None:
    """The value by which a cell is sorted; None where it counts in no mean."""
    return None if cell.why else cell.value


@files()
def queries_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV has a row for each query and system; the JSON is that of `evaluate --per-query`."""

    def document() -> dict:
        return csv_and_json.document(evaluated(collection, asked), per_query=True)

    return Files(
        f"{collection.slug}-queries-{asked.measure}",
        table=lambda: csv_and_json.queries_with_texts(with_judgments(collection, asked)),
        json=document,
    )

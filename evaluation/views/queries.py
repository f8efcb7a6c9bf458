"""Every query of a collection with what each system scored on it."""

from collections.abc import Callable
from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ratings.formats.values import natural
from ratings.models import Collection

from .. import report
from . import heat, sentences, tables
from .answer import Answer, evaluated, holdings, next_step
from .asked import Asked, for_analysts, page
from .export import csv_response, every_query, json_response

USUAL = "-mean"  # how the table is sorted where the address does not say
AT_ONCE = 1_000
MOST_EXACT = 4_000  # cells that carry all digits: more make the page five times as large, and the files have them


@require_safe
@for_analysts
def queries(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    answer = Answer.of(collection, asked)
    shown = heat.rows(answer)
    q, sort = request.GET.get("q", "").strip(), request.GET.get("sort", "")
    sorts = values_by(answer)
    sort = sort if sort.removeprefix("-") in sorts else USUAL
    found = [row for row in shown if tables.holds(q, row.key, row.text)]
    rows = tables.ordered(found, sorts[sort.removeprefix("-")], sort.startswith("-"))
    context = page(request, collection, "queries", asked) | {
        "one": len(answer.systems) == 1,
        "q": q,
        "found": len(found),
        "total": len(shown),
        "hidden": [(name, value) for name, value in request.GET.items() if name not in ("q", "page")],
        "heads": heat.heads(answer, sort),
        "key": heat.key(answer, shown),
        "exact": min(len(rows), AT_ONCE) * len(answer.systems) <= MOST_EXACT,
        **tables.paged(request, rows, AT_ONCE),
    }
    if shown and answer.systems and answer.judgments.count.any():
        below = sum(cell.below for row in shown for cell in row.values)
        counted = max(standing.queries for standing in answer.standings)
        context["differing"] = sentences.differing(answer.standings, heat.wins(answer), counted, below)
    elif not shown:
        context["next_step"] = next_step(collection, holdings(collection))
    return render(request, "evaluation/queries.html", context)


def values_by(answer: Answer) -> dict[str, Callable[[heat.Row], object]]:
    """What the table can be sorted by, by its name in the address."""
    of_systems = {
        f"s{answer.systems[name].pk}": lambda row, place=place: row.values[place].value
        for place, name in enumerate(answer.names)
    }
    return of_systems | {
        "text": lambda row: row.text.casefold(),
        "key": lambda row: natural(row.key),
        **{name: attrgetter(name) for name in ("mean", "spread", "judged")},
    }


@require_safe
@for_analysts
def queries_csv(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """One row for each query and system."""
    return csv_response(request, file_name(asked, collection), *every_query(Answer.of(collection, asked)))


@require_safe
@for_analysts
def queries_json(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """Every query of every system, as `evaluate --per-query --format json` gives them."""
    evaluation = evaluated(collection, asked, [asked.measure])
    return json_response(file_name(asked, collection), report.document(evaluation, asked.profile, per_query=True))


def file_name(asked: Asked, collection: Collection) -> str:
    return f"{collection.slug}-queries-{asked.measure}"

"""Every query of a collection with what each system scored on it."""

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ratings.models import Collection

from .. import report
from . import heat, sentences
from .answer import Answer, evaluated, holdings, next_step
from .asked import Asked, for_analysts, page
from .export import csv_response, every_query, json_response

AT_ONCE = 100


@require_safe
@for_analysts
def queries(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    answer = Answer.of(collection, asked)
    shown = heat.rows(answer)
    q, sort = request.GET.get("q", "").strip(), request.GET.get("sort", "")
    found = [row for row in shown if q.casefold() in f"{row.key}\n{row.text}".casefold()]
    context = page(request, collection, "queries", asked) | {
        "heading": sentences.heading(collection.name, len(answer.systems), len(shown)),
        "one": len(answer.systems) == 1,
        "q": q,
        "found": len(found),
        "total": len(shown),
        "hidden": [(name, value) for name, value in request.GET.items() if name not in ("q", "page")],
        "heads": heat.heads(answer, sort),
        **paged(request, ordered(found, sort, answer)),
    }
    if shown and answer.systems and answer.judgments.count.any():
        below = sum(low for row in shown for _, low in row.values)
        counted = max(standing.queries for standing in answer.standings)
        context["heat"] = heat.picture(answer, shown)
        context["differing"] = sentences.differing(answer.standings, heat.wins(answer), counted, below)
    elif not shown:
        context["next_step"] = next_step(collection, holdings(collection))
    return render(request, "evaluation/queries.html", context)


def ordered(rows: list[heat.Row], sort: str, answer: Answer) -> list[heat.Row]:
    """By the column that `sort` names, "-" in front for from the highest down; what has no value comes last."""
    name = sort.removeprefix("-")
    column = {f"s{answer.systems[system].pk}": place for place, system in enumerate(answer.names)}
    if name == "text":
        return sorted(rows, key=lambda row: row.text.casefold(), reverse=sort.startswith("-"))
    if name in column:
        values = [(row.values[column[name]][0], row) for row in rows]
    elif name in ("mean", "spread", "judged"):
        values = [(getattr(row, name), row) for row in rows]
    else:
        return rows
    known = [pair for pair in values if pair[0] is not None]
    known.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    return [row for _, row in known] + [row for value, row in values if value is None]


def paged(request: HttpRequest, rows: list, at_once: int = AT_ONCE) -> dict[str, Page | list]:
    """One page of `rows`, the number of which is in the address; a number too high gives the last."""
    paginator = Paginator(rows, at_once)
    page = paginator.get_page(request.GET.get("page"))
    return {"page": page, "numbers": list(paginator.get_elided_page_range(page.number))}


@require_safe
@for_analysts
def queries_csv(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """One row for each query and system."""
    return csv_response(file_name(asked, collection), *every_query(Answer.of(collection, asked)))


@require_safe
@for_analysts
def queries_json(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """Every query of every system, as `evaluate --per-query --format json` gives them."""
    evaluation = evaluated(collection, asked, [asked.measure])
    return json_response(file_name(asked, collection), report.document(evaluation, asked.profile, per_query=True))


def file_name(asked: Asked, collection: Collection) -> str:
    return f"{collection.slug}-queries-{asked.measure}"

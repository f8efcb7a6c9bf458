"""The page of queries: the score of each system on each query."""

from collections.abc import Callable
from functools import partial
from operator import itemgetter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from ratings.models import Collection
from ratings.people.access import readers_page
from ratings.web import tables
from ratings.web.pages import paged
from ratings.words import natural

from ...page.address import evaluated, page, parameters_without, with_options
from ...page.downloads import Files, files
from ...page.holdings import holdings, next_step
from ...scores import Asked, Evaluation
from .. import csv_and_json, heat
from ..trust import older_texts

USUAL_ORDER = "-mean"  # the default order of the table
QUERIES_ON_PAGE = 1_000
MOST_EXACT = 4_000  # cells that carry all digits: more make the page five times as large, and the files have them


@readers_page
@with_options("sort", "q", "page")
def queries(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The page with a row for each query. ?sort= names their order, and ?q= has words that a query must have."""
    evaluation = evaluated(collection, asked, judgments=True)
    grid = heat.shaded(evaluation)
    rows = heat.rows(evaluation, grid)
    sort_keys, sort = sort_keys_of(evaluation), request.GET.get("sort", "")
    if sort.removeprefix("-") not in sort_keys:  # "-" is for descending
        sort = USUAL_ORDER
    q = request.GET.get("q", "").strip()
    matching = [row for row in rows if tables.matches(q, row["key"], row["text"])]
    context = page(request, collection, "queries", asked) | {
        "one": len(evaluation.systems) == 1,  # there is one system alone
        "q": q,
        "found": len(matching),
        "total": len(rows),
        "hidden": parameters_without(request, ("q", "page")),  # hidden fields of the form for ?q=
        "heads": heat.heads(evaluation, sort),
        "key": heat.legend(evaluation, grid),
        # Whether cells carry all digits. Those of a large table have four decimals.
        "exact": min(len(matching), QUERIES_ON_PAGE) * len(evaluation.systems) <= MOST_EXACT,
        **paged(request, tables.ordered(matching, sort_keys, sort), QUERIES_ON_PAGE),
    }
    if rows and evaluation.systems and evaluation.judgments.count.any():
        context["wins"] = heat.wins(evaluation, grid)
    elif not rows:
        context["next_step"] = next_step(collection, holdings(collection))
    return render(request, "evaluation/queries.html", context)


def sort_keys_of(evaluation: Evaluation) -> dict[str, Callable[[dict], object]]:
    """The functions that take a row of the table and return what it is sorted by, by their name in the address."""

    def value_at(place: int, row: dict) -> float | None:
        """The value of the system in this column; None where it counts in no mean."""
        cell = row["values"][place]
        return None if cell.why else cell.value

    # A system is in the address with "s" and its pk, as in `heat.heads`.
    of_systems = {
        f"s{standing.pk}": partial(value_at, place) for place, standing in enumerate(evaluation.standings)
    }
    return of_systems | {
        "text": lambda row: row["text"].casefold(),
        "key": lambda row: natural(row["key"]),
        **{name: itemgetter(name) for name in ("mean", "spread", "judged")},
    }


@files()
def queries_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV has a row for each query and system; the JSON is that of `evaluate --per-query`."""
    return Files(
        f"{collection.slug}-queries-{asked.measure}",
        table=lambda: csv_and_json.queries_with_texts(evaluated(collection, asked, judgments=True)),
        json=lambda: csv_and_json.document(evaluated(collection, asked), True, older_texts(collection)),
    )

"""The page that compares two frozen evaluations: changes as text, then by mean, then by query."""

from collections.abc import Iterator, Sequence

import pandas as pd
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from ratings.models import Collection
from ratings.people.access import readers_page
from ratings.web.downloads import made_in_turn
from ratings.web.pages import frame, paged
from ratings.web.tables import ROWS_PER_PAGE

from ... import charts, frozen
from ...measures import COUNTED, REASONS
from ...page.address import takes
from ...page.charts import Chart, charted
from ...page.downloads import table_response
from ...scores import Evaluation
from ..changes import Changes
from ..lookup import all_of, frozen_with

MOST_BARS = 400  # more cannot be told apart and pointed at


@readers_page
@takes("first", "second", "measure", "system", "page")
def compare_frozen(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The changes from ?first= to ?second=, by default the last two; by query for ?system= and ?measure=."""
    changes = changes_in(request, collection)
    if changes is None:
        return redirect("frozen", collection.slug)
    context = frame(collection, "results") | {
        "every": all_of(collection),
        "changes": changes,
        "first": changes.first,
        "second": changes.second,
        **parts_that_differ(changes),
    }
    if changes.measures.shared:
        measure = selected(request, "measure", changes.measures.shared)
        evaluations = [frozen.evaluation_of(stored) for stored in changes.both]
        labels = [f"{measure} {evaluation.plain_fingerprint_of(measure)}" for evaluation in evaluations]
        context |= {
            "measure": measure,
            "means": means(evaluations, measure),
            "labels": list(dict.fromkeys(labels)),  # one where both have the same options
        }
        if changes.systems.shared:
            context |= by_query(request, collection, changes, evaluations, measure)
    return charted(request, "evaluation/frozen_compare.html", context)


def changes_in(request: HttpRequest, collection: Collection) -> Changes | None:
    """The changes between the two that the address names, by default the last two; None for fewer than two."""
    latest = list(all_of(collection).reverse()[:2])
    if len(latest) < 2:
        return None
    first, second = request.GET.get("first"), request.GET.get("second")
    return Changes(
        frozen_with(collection, first) if first else latest[1],
        frozen_with(collection, second) if second else latest[0],
    )


def parts_that_differ(changes: Changes) -> dict:
    """The context about the parts that differ, by name, and those that are the same.

    Guidelines, presentation and scale are named where they differ, and never among those that are the same.
    """
    differences = {
        "judgments": changes.judgments["first"],  # the first rows that differ; none if all are equal
        "queries": changes.queries.added or changes.queries.removed or changes.edited_queries,
        "systems": changes.systems.added or changes.systems.removed,
        "rankings": changes.rankings,
        "options": changes.options,
        **{name: True for name, _, _ in changes.terms},  # it has only those that differ
    }
    differ = [name for name, difference in differences.items() if difference]
    return {
        "differ": [name.capitalize() for name in differ[:1]] + differ[1:],  # the first one begins a sentence
        # For the verb: "The scale differs", but "Queries differ". All other names are plural.
        "is_singular": differ in (["presentation"], ["scale"]),
        "same": [name for name, difference in differences.items() if not difference],
    }


def selected(request: HttpRequest, name: str, offered: Sequence[str]) -> str:
    """The parameter `name` of the address, or the first that is offered. Http404 for one that is not offered."""
    value = request.GET.get(name) or offered[0]
    if value not in offered:
        raise Http404(f"No such {name}.")
    return value


def means(evaluations: Sequence[Evaluation], measure: str) -> list[dict]:
    """A row for each system of either evaluation, the highest mean in the second one first.

    `before` and `after` are its standings, None where it is not among the systems of that evaluation.
    evaluations: the first and the second one.
    """
    first, second = evaluations
    rows = []
    for name in dict.fromkeys([*second.systems, *first.systems]):  # each once
        before = first.standing(name, measure) if name in first.systems else None
        after = second.standing(name, measure) if name in second.systems else None
        difference = None
        if before and after and before.mean is not None and after.mean is not None:
            difference = after.mean - before.mean
        rows.append({"system": name, "before": before, "after": after, "difference": difference})
    # A system that the second one does not have goes by its mean in the first one; no mean counts as 0.
    return sorted(rows, key=lambda row: -((row["after"] or row["before"]).mean or 0))


def by_query(
    request: HttpRequest,
    collection: Collection,
    changes: Changes,
    evaluations: Sequence[Evaluation],
    measure: str,
) -> dict:
    """The context of the differences by query of one system: a table, and a chart of the MOST_BARS largest.

    The table has the largest rise or fall first; the chart goes from the largest rise to the largest fall.
    ?system= chooses the system, by default that with the highest mean in the second of the two evaluations.
    """
    _, after = evaluations
    # The highest mean first; no mean counts as 0.
    offered = sorted(changes.systems.shared, key=lambda name: -(after.standing(name, measure).mean or 0))
    system = selected(request, "system", offered)
    rows = compared(evaluations, measure, system).reset_index(names="key").to_dict("records")
    shown = paged(request, rows, ROWS_PER_PAGE)
    # The chart shows the first rows, the table those of the page. Only they need a text and a link, which are
    # added to the dicts themselves below.
    rows_with_links = [*rows[:MOST_BARS], *shown["page"].object_list]
    _, queries = changes.query_rows  # of the second evaluation, by key
    # A link leads to the query as it is now, where it still is.
    keys = {row["key"] for row in rows_with_links}
    pks = dict(collection.queries.filter(key__in=keys).values_list("key", "pk"))
    for row in rows_with_links:
        row["text"] = queries.at[row["key"], "text"]
        row["rejudged"] = changes.judgments["queries"][row["key"]]  # how many judgments differ
        row["pk"] = pks.get(row["key"])
    moved = [row for row in rows if row["difference"]]  # neither None nor 0
    alt_text = f"Change of {measure} of {system} by query, from the largest rise to the largest fall."
    return {
        "system": system,
        "offered": offered,
        "up": sum(row["difference"] > 0 for row in moved),
        "down": sum(row["difference"] < 0 for row in moved),
        "unmoved": len(rows) - len(moved),
        "queries": len(rows),
        "charts": {"bars": Chart("bars", bars(rows, collection.slug), alt_text)} if moved else {},
        **shown,
    }


def compared(evaluations: Sequence[Evaluation], measure: str, system: str) -> pd.DataFrame:
    """A row for each query that both evaluations have, the largest change first.

    The index is the key of the query. `before` and `after` are its values, and `why_before` and `why_after` the
    reasons why they count in no mean, "" for a value that counts. `difference` is None unless both count.
    """
    columns = {}
    for name, evaluation in zip(("before", "after"), evaluations, strict=True):
        columns[name] = evaluation.per_query[measure, system]
        columns[f"why_{name}"] = evaluation.reasons[measure, system].replace(REASONS[COUNTED], "")
    shared = columns["after"].index.intersection(columns["before"].index)
    rows = pd.DataFrame(columns).loc[shared]
    counted = (rows["why_before"] == "") & (rows["why_after"] == "")
    rows["difference"] = (rows["after"] - rows["before"]).where(counted)  # else nan, which is sorted last
    # As objects, so that None can stand for nan below.
    largest_first = rows.sort_values("difference", key=abs, ascending=False, kind="stable").astype(object)
    return largest_first.where(largest_first.notna(), None)


def bars(rows: list[dict], slug: str) -> dict:
    """The chart of a bar for each query, from the largest gain to the largest loss; at most MOST_BARS queries.

    rows: those of `compared`, with `text` and `pk`; the largest change first. A query without a pk is not in the
    collection any more, and its bar has no link.
    """
    with_difference = [row for row in rows[:MOST_BARS] if row["difference"] is not None]
    highest_first = sorted(with_difference, key=lambda row: -row["difference"])
    chart_rows = [
        {
            "query": row["key"],
            "text": row["text"],
            "first": row["before"],
            "second": row["after"],
            "value": row["difference"],
            "start": place,
            "end": place + 1,
            "url": reverse("query", args=[slug, row["pk"]]) if row["pk"] else "",
        }
        for place, row in enumerate(highest_first)
    ]
    return charts.deltas(chart_rows)


@readers_page
@made_in_turn
@takes("first", "second", "measure", "judgments", "raw", is_page=False)
def compare_frozen_files(request: HttpRequest, collection: Collection, ending: str) -> HttpResponse:
    """The table: a row for each system and query of both; with ?judgments=, for each judgment that differs."""
    changes = changes_in(request, collection)
    if changes is None:
        raise Http404("There are no two frozen evaluations to compare.")
    name = f"{collection.slug}-{changes.first.short}-{changes.second.short}"
    if "judgments" in request.GET:
        header = ["query", "document", "change", "before", "after"]
        rows = ([row.query, row.document, row.kind, row.before, row.after] for row in changes.each_judgment())
        return table_response(request, ending, f"{name}-judgments", header, rows)
    if not changes.measures.shared:
        raise Http404("They have no measure in common.")
    measure = selected(request, "measure", changes.measures.shared)
    return table_response(request, ending, f"{name}-{measure}", *value_table(changes, measure))


def value_table(changes: Changes, measure: str) -> tuple[list[str], Iterator[list]]:
    """Header and rows of the table of values: a row for each system and query that both evaluations have.

    The last two columns are the options in force for the measure in each of the two evaluations.
    """
    evaluations = [frozen.evaluation_of(stored) for stored in changes.both]
    labels = [evaluation.asked.fingerprint_of(measure) for evaluation in evaluations]
    columns = ["before", "after", "difference", "why_before", "why_after"]
    header = ["system", "measure", "query", *(column.replace("_", " ") for column in columns)]
    rows = (
        [system, measure, key, *values, *labels]
        for system in changes.systems.shared
        for key, *values in compared(evaluations, measure, system)[columns].itertuples()
    )
    return [*header, "options before", "options after"], rows

"""The page that compares two frozen evaluations: changes as text, then by mean, then by query."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from ratings.models import Collection
from ratings.people.access import readers_page
from ratings.web.downloads import made_in_turn
from ratings.web.pages import frame, paged

from ... import charts, frozen
from ...measures import COUNTED, REASONS
from ...models import FrozenEvaluation
from ...page.address import takes
from ...page.charts import Chart, charted
from ...page.downloads import table_response
from ...page.tables import AT_ONCE
from ...scores import Evaluation
from ..changes import Changes
from ..lookup import all_of, found_in

# Bars that can be told apart, and pointed at.
BARS = 400


@readers_page
@takes("first", "second", "measure", "system", "page")
def compare_frozen(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The changes from ?first= to ?second=, by default the last two; by query for ?system= and ?measure=."""
    every = list(all_of(collection))
    if len(every) < 2:
        return redirect("frozen", collection.slug)
    changes = chosen(request, collection, every)
    evaluations = [frozen.evaluation_of(each) for each in changes.both]
    context = frame(collection, "results") | {
        "every": every,
        "changes": changes,
        "first": changes.first,
        "second": changes.second,
        **differing(changes),
    }
    if changes.measures:
        measure = asked(request, "measure", changes.measures)
        labels = [each.asked.fingerprint_of(measure) for each in evaluations]
        context |= {
            "measure": measure,
            "means": means(changes, evaluations, measure),
            "labels": list(dict.fromkeys(f"{measure} {label}" for label in labels)),
        }
        if shared := changes.systems[2]:
            order = sorted(shared, key=lambda name: -(evaluations[1].standing(name, measure).mean or 0))
            context |= by_query(request, collection, changes, evaluations, measure, order)
    return charted(request, "evaluation/frozen_compare.html", context)


def differing(changes: Changes) -> dict:
    """The context of what differs: parts that do and that do not, and what came, went and stayed."""
    came, went, shared = changes.systems
    parts = {
        "judgments": changes.judgments["first"],
        "queries": changes.added_queries or changes.removed_queries or changes.edited_queries,
        "systems": came or went,
        "rankings": changes.rankings,
        "options": changes.options,
        **{name: True for name, _, _ in changes.terms},
    }
    before, after = (set(map(str, frozen.settings_of(each).measures)) for each in changes.both)
    differ = [name for name, differs in parts.items() if differs]
    return {
        "differ": [name if place else name.capitalize() for place, name in enumerate(differ)],
        "differs_alone": differ in (["presentation"], ["scale"]),
        "same": [name for name, differs in parts.items() if not differs],
        "came": came,
        "went": went,
        "alike": [name for name in shared if name not in changes.rankings and name not in changes.scores],
        "measures_removed": sorted(before - after),
        "measures_added": sorted(after - before),
    }


def chosen(request: HttpRequest, collection: Collection, every: Sequence[FrozenEvaluation]) -> Changes:
    pairs = zip((request.GET.get("first"), request.GET.get("second")), every[-2:], strict=True)
    return Changes(*(found_in(collection, key) if key else last for key, last in pairs))


def asked(request: HttpRequest, name: str, offered: Sequence[str]) -> str:
    """The parameter `name` of the address, or the first that is offered. Http404 for one that is not offered."""
    value = request.GET.get(name) or offered[0]
    if value not in offered:
        raise Http404(f"No such {name}.")
    return value


def means(changes: Changes, evaluations: Sequence[Evaluation], measure: str) -> list[dict]:
    """A row for each system of either evaluation, in the order of the later means."""
    came, went, shared = changes.systems
    rows = []
    for name in [*came, *shared, *went]:
        before, after = (each.standing(name, measure) if name in each.systems else None for each in evaluations)
        both = [each.mean for each in (before, after) if each and each.mean is not None]
        difference = both[1] - both[0] if len(both) > 1 else None
        rows.append({"system": name, "before": before, "after": after, "difference": difference})
    return sorted(rows, key=lambda row: -((row["after"] or row["before"]).mean or 0))


def by_query(
    request: HttpRequest,
    collection: Collection,
    changes: Changes,
    evaluations: Sequence[Evaluation],
    measure: str,
    offered: list[str],
) -> dict:
    """The context of the differences by query of one system, the largest first."""
    system = asked(request, "system", offered)
    again = changes.judgments["queries"]
    texts = dict(zip(changes.queries[1]["key"], changes.queries[1]["text"], strict=True))
    rows = [
        {"key": key, "text": texts[key], "rejudged": again[key]} | row
        for key, row in compared(evaluations, measure, system).to_dict("index").items()
    ]
    moved = [row for row in rows if row["difference"]]
    shown = paged(request, rows, AT_ONCE)
    linked = [*rows[:BARS], *shown["page"].object_list]
    # The query as it is now, where it still is.
    now = dict(collection.queries.filter(key__in={row["key"] for row in linked}).values_list("key", "pk"))
    for row in linked:
        row["pk"] = now.get(row["key"])
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
    """A row for each query of both, the largest change first: its values, their difference, and why there is none.

    A query without a value, or that counts in no mean, has no difference. None = no value.
    """
    columns = {}
    for name, evaluation in zip(("before", "after"), evaluations, strict=True):
        columns[name] = evaluation.per_query[measure, system]
        columns[f"why_{name}"] = evaluation.reasons[measure, system].replace(REASONS[COUNTED], "")
    both = pd.DataFrame(columns).reindex(columns["after"].index.intersection(columns["before"].index))
    counted = (both["why_before"] == "") & (both["why_after"] == "")
    both["difference"] = (both["after"] - both["before"]).where(counted)
    size = both["difference"].abs().fillna(-1.0)
    in_order = both.iloc[np.argsort(-size.to_numpy(), kind="stable")].astype(object)
    return in_order.where(in_order.notna(), None)


def bars(rows: list[dict], slug: str) -> dict:
    """A bar for each query, from the largest gain to the largest loss; of too many, those that changed most."""
    there = [row for row in rows[:BARS] if row["difference"] is not None]
    bars = [
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
        for place, row in enumerate(sorted(there, key=lambda row: -row["difference"]))
    ]
    return charts.deltas(bars)


@readers_page
@made_in_turn
@takes("first", "second", "measure", "judgments", "raw", is_page=False)
def compare_frozen_files(request: HttpRequest, collection: Collection, ending: str) -> HttpResponse:
    """The table: a row for each system and query of both; with ?judgments=, for each judgment that differs."""
    every = list(all_of(collection))
    if len(every) < 2:
        raise Http404("There are no two frozen evaluations to compare.")
    changes = chosen(request, collection, every)
    name = f"{collection.slug}-{changes.first.short}-{changes.second.short}"
    if "judgments" in request.GET:
        header = ["query", "document", "change", "before", "after"]
        rows = ([row.query, row.document, row.kind, row.before, row.after] for row in changes.each_judgment())
        return table_response(request, ending, f"{name}-judgments", header, rows)
    if not changes.measures:
        raise Http404("They have no measure in common.")
    measure = asked(request, "measure", changes.measures)
    evaluations = [frozen.evaluation_of(each) for each in changes.both]
    labels = [each.asked.fingerprint_of(measure) for each in evaluations]
    header = ["system", "measure", "query", "before", "after", "difference"]
    header += ["why before", "why after", "options before", "options after"]
    columns = ["before", "after", "difference", "why_before", "why_after"]
    rows = (
        [system, measure, key, *row, *labels]
        for system in changes.systems[2]
        for key, *row in compared(evaluations, measure, system)[columns].itertuples()
    )
    return table_response(request, ending, f"{name}-{measure}", header, rows)

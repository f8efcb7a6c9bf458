"""The page of agreement: agreement of raters, disputed pairs, and stability of the order of systems.

Admins see names. Analysts see pseudonyms, in an order that reveals nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from django.http import HttpRequest, HttpResponse

from ratings.models import Collection, Pair, Role
from ratings.people.access import readers_page
from ratings.people.names import pseudonym
from ratings.web.pages import paged

from ... import charts
from ...judgments.rules import RULES_OF_ALL
from ...page.address import page, told_to_reader, with_options
from ...page.charts import Chart, charted, dot
from ...page.downloads import Files, files
from ...page.numbers import decimals, number
from ...page.raters import names_in
from ...record import cache
from ...results.lists import titles
from ...results.step_by_step import step_by_step
from ...scores import Asked
from ...significance.draws import FEWEST_RATERS, RATERS
from .. import consistency
from ..confusion import confused, confusion, labels_of
from ..consistency import FEWEST, Agreement, Order, agreement_in

# How much a page scores for the order of systems, in systems x queries x times: about a second. It scores at least
# FEWEST_RATERS draws, and once without each rater. Where these take over three times as long, use the command.
WORK = 180_000
LEARNING = 20  # times as long under a rule that learns the errors of each rater

DISPUTED = 20  # pairs on a page: they are many, and the first are the ones that matter
MATRIX = 12  # raters of whom every two are listed without opening anything

COEFFICIENTS = {
    "agree": "Same grade",
    "within_one": "Same or next grade",
    "alpha_nominal": "Krippendorff’s α, nominal",
    "alpha_ordinal": "Krippendorff’s α, ordinal",
    "alpha_interval": "Krippendorff’s α, interval",
    "fleiss_kappa": "Fleiss’ κ",
}


@dataclass(frozen=True, eq=False)
class Results:
    """The content of a page of agreement, with the names that its reader may see."""

    agreement: Agreement
    order: Order | None  # None: too large for a page
    document: dict  # of both, as in the files, without disputed pairs
    raters: dict[str, int]  # pks by the name that is shown


@readers_page
@with_options("page")
@step_by_step("agreement")
def agreement(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    found = found_in(collection, asked)
    whole, order = found.document, found.document.get("order")
    context = page(request, collection, "agreement", asked) | {
        "counts": whole["counts"],
        "lacking": found.agreement.lacking,
        "fewest": FEWEST,
        "named": collection.role == Role.ADMIN,
        "raters": [row | {"pk": found.raters[row["rater"]]} for row in whole["raters"]],
        "twos": whole["pairs_of_raters"],
        "many": len(whole["raters"]) > MATRIX,
        "order": order,
        "moved": [row["rater"] for row in order.get("without", ()) if row["reversed"]] if order else [],
        "neighbours": neighbours(order) if order else [],
        "label": asked.label,
        "charts": {},
        **coefficients_in(whole),
        **in_dispute(request, collection, found),
    }
    if not found.agreement.lacking:
        grades = labels_of(collection)
        said = "For each grade, how often the other rater gave which grade."
        context |= confused(confusion(whole["confusion"], grades), list(grades.values()), said)
    context["charts"] |= chart_of_biases(whole["raters"])
    return charted(request, "evaluation/agreement.html", context)


def coefficients_in(whole: dict) -> dict:
    """The context of the coefficients of agreement."""
    coefficients = {row["name"]: row for row in whole["coefficients"]}
    alpha = coefficients["alpha_ordinal"]
    return {
        "same": coefficients["agree"],
        "alpha": alpha,
        "chance": None if alpha["value"] is None else 1 - alpha["value"],
        "coefficients": [(COEFFICIENTS[name], row) for name, row in coefficients.items()],
    }


def chart_of_biases(raters: Sequence[dict]) -> dict[str, Chart]:
    """The chart of each rater's mean distance from the others; empty where nobody has one."""
    biased = [row for row in raters if row["bias"] is not None]
    if not biased:
        return {}
    listed = "; ".join(f"{row['rater']} {decimals(row['bias'])}" for row in biased)
    said = f"Mean distance of each rater from the others: {listed}."
    return {"bias": Chart("bias-spec", charts.differences([dot_of(row) for row in biased]), said)}


# Results, and the names in them


def found_in(collection: Collection, asked: Asked) -> Results:
    """The results, cached for each state of the collection. Names are read each time, as they can be removed."""
    names = names_in(collection)
    agreed, order = renamed(agreement_in(collection), order_in(collection, asked), names)
    document = cache.whole(collection, ("agreement", tuple(names.items())), lambda: consistency.summary(agreed))
    if order:
        document = document | {"order": consistency.standing(order)}
    return Results(agreed, order, document, {name: pk for pk, name in agreed.opinions.raters.items()})


def order_in(collection: Collection, asked: Asked) -> Order | None:
    """The order; None where it takes too long for a page. CannotAnswer where the options do not fit."""
    draws = draws_for(collection, asked)
    if not draws:
        return None

    def made() -> Order:
        return consistency.cached_order(collection, asked, draws)

    with told_to_reader():
        return cache.whole(collection, ("order", asked, draws), made)


def draws_for(collection: Collection, asked: Asked) -> int:
    """The number of draws that take about a second, the same for the same settings; 0 if too few would fit."""
    agreed = agreement_in(collection)
    once = max(1, len(agreed.opinions.queries) * collection.systems.count())
    once *= LEARNING if asked.rule in RULES_OF_ALL else 1
    raters = np.unique(agreed.table.rater).size
    if (FEWEST_RATERS + raters) * once > 3 * WORK:
        return 0
    return min(RATERS, max(FEWEST_RATERS, WORK // once - raters))


def renamed(agreed: Agreement, order: Order | None, names: Mapping[int, str]) -> tuple[Agreement, Order | None]:
    """The agreement and the order with other names, and raters in the order of these."""
    before = list(agreed.opinions.raters)
    # A rater who was removed meanwhile has no name.
    raters = dict(sorted(((pk, names.get(pk, pseudonym(pk))) for pk in before), key=lambda each: each[::-1]))
    places = {pk: place for place, pk in enumerate(raters)}
    place = np.array([places[pk] for pk in before], np.int64)
    found, rater = agreed.table, place[agreed.table.rater]
    rows = np.lexsort((rater, found.pair))
    table = replace(
        found,
        pair=found.pair[rows],
        rater=rater[rows],
        level=found.level[rows],
        moment=found.moment[rows],
        cannot=found.cannot[np.argsort(place)],
    )
    agreed = replace(agreed, opinions=replace(agreed.opinions, raters=raters), table=table)
    return agreed, order and replace(order, raters=raters)


def neighbours(order: Mapping) -> list[dict]:
    """The systems, best first, each with the share of resamples in which it stays above the next."""
    kept_share = {(row["first"], row["second"]): row["kept"] for row in order.get("kept", ())}
    rows = order["systems"]
    below = [row["system"] for row in rows[1:]]
    return [
        row | {"next": after, "kept": kept_share.get((row["system"], after))}
        for row, after in zip_longest(rows, below)
    ]


# As pictures and tables


def dot_of(row: Mapping) -> dict:
    """The dot of a rater's bias. Only with enough pairs is it marked as significant: a hint, not a verdict."""
    low, high = row["low"], row["high"]
    significant = low is not None and not row["few"] and not low <= 0 <= high
    return dot(row["rater"], row["bias"], low, high, row["shared"], significant=significant)


def in_dispute(request: HttpRequest, collection: Collection, results: Results) -> dict:
    """One page of the disputed pairs, with their links. Two queries, for admins three."""
    agreed = results.agreement
    context = paged(request, agreed.disputed, DISPUTED)
    on_page = context["page"].object_list
    queries, shown = agreed.opinions.queries, []
    for row, each in zip(consistency.disputed(agreed, on_page), on_page, strict=True):
        query, document = agreed.pairs[each.pair].tolist()
        shown.append((row, queries["pk"].iat[query].item(), queries["text"].iat[query], document))
    documents = titles({document for *_, document in shown})
    tokens = {}
    if collection.role == Role.ADMIN:
        pairs = Pair.objects.filter(query__in={query for _, query, *_ in shown}, document__in=documents)
        rows = pairs.values_list("query", "document", "token")
        tokens = {(query, document): token for query, document, token in rows}
    return context | {
        "total": len(agreed.disputed),
        "disputed": [
            {
                **row,
                "lowest": number(row["lowest"]),
                "highest": number(row["highest"]),
                "query_pk": query,
                "text": text,
                "document": documents.get(document) or row["document"],
                "token": tokens.get((query, document)),
            }
            for row, query, text, document in shown
        ],
    }


# As files


@files()
def agreement_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV and JSON of the command `agreement`, with the names of the page."""
    found = found_in(collection, asked)
    return Files(
        f"{collection.slug}-agreement-{asked.measure}",
        table=lambda: consistency.table(found.agreement, found.order),
        json=lambda: consistency.document(found.agreement, found.order),
    )

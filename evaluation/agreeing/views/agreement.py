"""The page of agreement: agreement of raters, disputed pairs, and stability of the order of systems.

Admins see names. Analysts see pseudonyms, in an order that reveals nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
from django.http import HttpRequest, HttpResponse

from ratings.models import Collection, Pair, Role
from ratings.people.access import readers_page
from ratings.web.pages import paged

from ... import charts
from ...agreement.coefficients import FAIR, STRONG, word
from ...judgments.rules import RULES_OF_ALL
from ...page.address import page, raising_cannot_answer, with_options
from ...page.charts import Chart, charted, dot
from ...page.downloads import Files, files
from ...page.holdings import documents_by_pk
from ...page.numbers import decimals, number
from ...page.raters import names_in
from ...page.step_by_step import step_by_step
from ...record import cache
from ...scores import Asked
from ...significance.draws import FEWEST_RATER_DRAWS, RATER_DRAWS
from .. import consistency
from ..confusion import confused, confusion, labels_of, most_confused
from ..consistency import FEWEST_PAIRS, Agreement, Order, agreement_in

# About how many scores (systems x queries x draws) a page computes for the order of systems, in about a second. It
# computes at least FEWEST_RATER_DRAWS draws, and the order without each rater. Where these take over three times
# as long, readers are sent to the command.
SCORES_A_SECOND = 180_000
TIMES_AS_LONG = 20  # how much longer a draw takes under a rule that learns the errors of each rater

DISPUTED_ON_PAGE = 20  # pairs: they are many, and the first are the ones that matter


@readers_page
@with_options("page")
@step_by_step("agreement")
def agreement(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The page of the agreement of raters: coefficients, raters, disputed pairs, and the order of systems."""
    agreed, _, whole = agreement_and_order(collection, asked)
    order = whole.get("order")  # its JSON; None where it is too large for a page
    # For links, which only admins get: they see names, which are unique.
    pks = {name: pk for pk, name in agreed.opinions.raters.items()}
    context = page(request, collection, "agreement", asked) | {
        "counts": whole["counts"],
        "lacking": agreed.lacking,  # why agreement cannot be computed; "" where it can
        "fewest": FEWEST_PAIRS,
        "limits": {"strong": STRONG, "fair": FAIR},  # of alpha, for the words about it
        "opened": "page" in request.GET,  # whether the disputed pairs are unfolded: the reader leafs through them
        "named": collection.role == Role.ADMIN,  # whether the reader sees names of raters
        "raters": [row | {"pk": pks[row["rater"]]} for row in whole["raters"]],
        "twos": whole["pairs_of_raters"],  # a row for every two raters
        "order": order,
        # The raters without whom two systems swap.
        "moved": [row["rater"] for row in order.get("without", ()) if row["reversed"]] if order else [],
        "neighbours": neighbours(order) if order else [],  # how often each system stays above the next
        "label": asked.label,
        "charts": {},
        **coefficients_in(whole),
        **disputed_page(request, collection, agreed),
    }
    if not agreed.lacking:
        grades = labels_of(collection)
        alt_text = "For each grade, how often the other rater gave which grade."
        cells = confusion(whole["confusion"], grades)
        context |= confused(cells, list(grades.values()), alt_text)  # also `charts`
        context["most_confused"] = most_confused(cells)
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
        "word": "" if alpha["value"] is None else word(alpha["value"]),
        "coefficients": [(consistency.NAMES[name], row) for name, row in coefficients.items()],
    }


def chart_of_biases(raters: Sequence[dict]) -> dict[str, Chart]:
    """The chart of each rater's mean distance from the others; empty where nobody has one."""
    biased = [row for row in raters if row["bias"] is not None]
    if not biased:
        return {}
    listed = "; ".join(f"{row['rater']} {decimals(row['bias'])}" for row in biased)
    alt_text = f"Mean distance of each rater from the others: {listed}."
    return {"bias": Chart("bias-spec", charts.differences([dot_of(row) for row in biased]), alt_text)}


# Results, and the names in them


def agreement_and_order(collection: Collection, asked: Asked) -> tuple[Agreement, Order | None, dict]:
    """The agreement, the order of systems (None: too large for a page), and the JSON document of both.

    Names are those that the reader may see, read each time, as they can be removed. All else is cached. Raises
    CannotAnswer where the options do not fit.
    """
    names = names_in(collection)
    agreed = agreement_in(collection, names)
    order = order_in(collection, asked, agreed)
    document = cache.whole(collection, ("agreement", tuple(names.items())), lambda: consistency.summary(agreed))
    if order is None:
        return agreed, None, document
    order = replace(order, raters=agreed.opinions.raters)  # the cached order may have former names
    return agreed, order, document | {"order": consistency.standing(order)}


def order_in(collection: Collection, asked: Asked, agreed: Agreement) -> Order | None:
    """The order; None where it takes too long for a page. CannotAnswer where the options do not fit."""
    draws = draws_for(collection, asked, agreed)
    if not draws:
        return None

    make = partial(consistency.cached_order, collection, asked, draws)
    with raising_cannot_answer():
        return cache.whole(collection, ("order", asked, draws), make)


def draws_for(collection: Collection, asked: Asked, agreed: Agreement) -> int:
    """The number of draws that take about a second, the same for the same settings; 0 if too few would fit."""
    scores_of_draw = max(1, len(agreed.opinions.queries) * collection.systems.count())
    if asked.rule in RULES_OF_ALL:
        scores_of_draw *= TIMES_AS_LONG
    raters = np.unique(agreed.table.rater).size  # as many draws more: the order without each of them
    if (FEWEST_RATER_DRAWS + raters) * scores_of_draw > 3 * SCORES_A_SECOND:
        return 0
    return min(RATER_DRAWS, max(FEWEST_RATER_DRAWS, SCORES_A_SECOND // scores_of_draw - raters))


def neighbours(order: Mapping) -> list[dict]:
    """The systems, best first, each with the share of resamples in which it stays above the next (last: None)."""
    kept_share = {(row["first"], row["second"]): row["kept"] for row in order.get("kept", ())}
    rows = order["systems"]
    names_below = [*(row["system"] for row in rows[1:]), None]
    return [
        row | {"next": below, "kept": kept_share.get((row["system"], below))}
        for row, below in zip(rows, names_below, strict=False)
    ]


# As pictures and tables


def dot_of(row: Mapping) -> dict:
    """The dot of a rater's bias. Only with enough pairs is it marked as significant: a hint, not a verdict."""
    low, high = row["low"], row["high"]
    significant = low is not None and not row["few"] and not low <= 0 <= high
    return dot(row["rater"], row["bias"], low, high, row["shared"], significant=significant)


def disputed_page(request: HttpRequest, collection: Collection, agreed: Agreement) -> dict:
    """The context of one page of the pairs with different grades. Two database queries, for admins three.

    A row has the pk of its query for a link, and, for admins, the token of the pair: the address of the page where
    they can decide on its grade has it.
    """
    # A structured array, which can be sliced and counted like a Sequence. Its field `pair` is a row of `pairs`.
    pagination = paged(request, cast(Sequence, agreed.disputed), DISPUTED_ON_PAGE)
    on_page = pagination["page"].object_list
    query_rows, document_pks = agreed.pairs[on_page["pair"]].T
    queries = agreed.opinions.queries.iloc[query_rows]
    pairs = list(zip(queries["pk"].tolist(), document_pks.tolist(), strict=True))
    documents = documents_by_pk(set(document_pks.tolist()))
    tokens = {}
    if collection.role == Role.ADMIN:
        stored = Pair.objects.filter(query__in=set(queries["pk"].tolist()), document__in=documents)
        tokens = {(pair.query_id, pair.document_id): pair.token for pair in stored}
    rows = consistency.disputed(agreed, on_page)
    disputed = [
        {
            **row,
            "lowest": number(row["lowest"]),
            "highest": number(row["highest"]),
            "query_pk": query,
            "text": text,
            "document": documents[document],  # in place of its key
            "token": tokens.get((query, document)),
        }
        for row, (query, document), text in zip(rows, pairs, queries["text"], strict=True)
    ]
    return pagination | {"total": len(agreed.disputed), "disputed": disputed}


# As files


@files()
def agreement_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV and JSON of the command `agreement`, with the names of the page."""
    agreed, order, _ = agreement_and_order(collection, asked)
    return Files(
        f"{collection.slug}-agreement-{asked.measure}",
        table=lambda: consistency.table(agreed, order),
        json=lambda: consistency.document(agreed, order),
    )

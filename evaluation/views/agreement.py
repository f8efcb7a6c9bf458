"""Do raters agree, about what not, and would the systems stand in the same order with others?

Admins read names. For analysts every rater has a name that tells nothing, in an order that tells nothing either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from ratings.models import Collection, Pair, Role
from ratings.privacy import pseudonym

from .. import charts, consistency, kept
from ..agreement import DRAWS, disputed
from ..consistency import FEWEST, Agreement, Order
from ..judgments import RULES_OF_ALL
from ..templatetags.numbers import decimals, number, share
from .asked import Asked, CannotAnswer, for_analysts, page
from .export import csv_response, json_response
from .lists import titles
from .sentences import counted, named
from .tables import paged

# How much is scored for the order of systems, in systems x queries x times: about a second. A page scores at least
# FEWEST_DRAWS times; where these alone take three times as long, the command is the place for it.
WORK = 180_000
FEWEST_DRAWS = 20
LEARNING = 20  # times as long, where a rule learns how each rater errs

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
class Found:
    """What a page of agreement is made of, with the names that its reader may see."""

    said: Agreement
    order: Order | None  # None: too large for a page
    document: dict  # of both, as the files have it
    raters: dict[str, int]  # pks by the name that is shown


@require_safe
@for_analysts
def agreement(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    found = found_in(collection, asked)
    whole, order = found.document, found.document.get("order")
    coefficients = {row["name"]: row for row in whole["coefficients"]}
    grades = {
        float(grade.value): f"{number(float(grade.value))} {grade.label}" for grade in collection.grades.all()
    }
    context = page(request, collection, "agreement", asked) | {
        "counts": whole["counts"],
        "lead": lead(found.said, coefficients),
        "lacking": found.said.lacking,
        "coefficients": [(COEFFICIENTS[name], row) for name, row in coefficients.items()],
        "fewest": FEWEST,
        "named": collection.role == Role.ADMIN,
        "raters": [row | {"pk": found.raters[row["rater"]]} for row in whole["raters"]],
        "twos": whole["pairs_of_raters"],
        "many": len(whole["raters"]) > MATRIX,
        "order": order,
        "order_says": order_says(order) if order else None,
        "neighbours": neighbours(order) if order else [],
        "label": asked.label,
        **in_dispute(request, collection, found),
    }
    if not found.said.lacking:
        cells = confusion(whole["confusion"], grades)
        context["confusion"] = charts.confusion(cells, grades=list(grades.values()))
        context["confusion_rows"] = rows_of(cells, list(grades.values()))
        context["confusion_says"] = (
            "Grade by grade, how often the other grade was which. The table has the numbers."
        )
        context["grades"] = list(grades.values())
    biased = [row for row in whole["raters"] if row["bias"] is not None]
    if biased:
        context["bias"] = charts.differences([dot(row) for row in biased])
        said = "; ".join(f"{row['rater']} {decimals(row['bias'])}" for row in biased)
        context["bias_says"] = f"Mean distance of each rater from the others: {said}."
    return render(request, "evaluation/agreement.html", context)


# What is shown, and under which names


def found_in(collection: Collection, asked: Asked) -> Found:
    """Made once for each state of the collection; names are read each time, for they may be taken away."""
    said, order = said_in(collection), order_in(collection, asked)
    names = names_in(collection)
    said, order = renamed(said, order, names)
    of_order = order and (order.fingerprint, order.measure, order.profile, order.found and order.found.draws)
    name = ("agreement", tuple(names.items()), of_order)
    document = kept.whole(collection, name, lambda: consistency.document(said, order))
    return Found(said, order, document, {name: pk for pk, name in said.opinions.raters.items()})


def said_in(collection: Collection) -> Agreement:
    return kept.whole(collection, "said", lambda: consistency.agreement_of(collection))


def alpha_in(collection: Collection) -> dict:
    """The one figure of agreement: ordinal alpha, as a row of `consistency.coefficients`."""
    rows = kept.whole(collection, "coefficients", lambda: consistency.coefficients(said_in(collection)))
    return next(row for row in rows if row["name"] == "alpha_ordinal")


def order_in(collection: Collection, asked: Asked) -> Order | None:
    """None where it takes longer than a reader waits. CannotAnswer where the options do not fit the collection."""
    draws = draws_for(collection, asked)
    if not draws:
        return None

    def made() -> Order:
        return consistency.order_of(
            collection,
            str(asked.measure),
            asked.options,
            asked.profile,
            rule=asked.rule,
            adjudications=asked.adjudications,
            draws=draws,
        )

    name = ("order", asked.measure, asked.options, asked.profile, asked.rule, asked.adjudications, draws)
    try:
        return kept.whole(collection, name, made)
    except ValueError as error:
        raise CannotAnswer(str(error)) from error


def draws_for(collection: Collection, asked: Asked) -> int:
    """As many as fit into about a second, so many for everybody who asks the same; 0: too few would."""
    said = said_in(collection)
    once = max(1, len(said.opinions.queries) * collection.systems.count())
    once *= LEARNING if asked.rule in RULES_OF_ALL else 1
    raters = np.unique(said.table.rater).size
    if (FEWEST_DRAWS + raters) * once > 3 * WORK:
        return 0
    return min(DRAWS, max(FEWEST_DRAWS, WORK // once - raters))


def names_in(collection: Collection) -> dict[int, str]:
    """What each rater is called for this reader, by pk. One query."""
    rows = collection.raters.values_list("pk", "name")
    if collection.role == Role.ADMIN:
        return dict(rows)
    return {pk: pseudonym(pk) for pk, _ in rows}


def renamed(said: Agreement, order: Order | None, names: Mapping[int, str]) -> tuple[Agreement, Order | None]:
    """The same with other names, and everything in the order of these."""
    before = list(said.opinions.raters)
    # Who was taken out since is not named any more.
    raters = dict(sorted(((pk, names.get(pk, pseudonym(pk))) for pk in before), key=lambda each: each[::-1]))
    places = {pk: place for place, pk in enumerate(raters)}
    place = np.array([places[pk] for pk in before], np.int64)
    found, rater = said.table, place[said.table.rater]
    rows = np.lexsort((rater, found.pair))
    table = replace(
        found,
        pair=found.pair[rows],
        rater=rater[rows],
        level=found.level[rows],
        moment=found.moment[rows],
        cannot=found.cannot[np.argsort(place)],
    )
    said = replace(said, opinions=replace(said.opinions, raters=raters), table=table)
    return said, order and replace(order, raters=raters)


# In words


def lead(said: Agreement, coefficients: Mapping[str, dict]) -> SafeString:
    if said.lacking:
        return format_html("Nothing can agree yet: {}.", said.lacking)
    same, alpha = coefficients["agree"], coefficients["alpha_ordinal"]
    start = format_html(
        "Two raters of one document gave <b>the same grade in {}</b> of {}.",
        share(same["value"]),
        counted(same["couples"], "couple of grades", "couples of grades"),
    )
    if alpha["value"] is None:
        return format_html("{} All grades are the same, so that nothing could have disagreed.", start)
    chance = 1 - alpha["value"]
    means = SafeString("raters agree no better than by chance")
    if chance < 1:
        means = format_html("raters disagree {} as much as they would by chance", share(chance))
    value, rests = decimals(alpha["value"], 2), between(alpha)
    return format_html("{} Krippendorff’s α, ordinal, is {}{}: {}.{}", start, value, rests, means, few(alpha))


def between(row: Mapping) -> str:
    """The interval of a coefficient and what it rests on."""
    interval = "" if row["low"] is None else f"95 % {decimals(row['low'], 2)} to {decimals(row['high'], 2)}, "
    return f" ({interval}{counted(row['pairs'], 'pair', 'pairs')})"


def few(row: Mapping) -> str:
    return f" Fewer than {FEWEST} pairs are too few to go by." if row["few"] else ""


def order_says(order: Mapping) -> SafeString:
    """Whether the systems would stand like this with other raters."""
    if not order["systems"]:
        return format_html("Nobody can tell: {}.", order["why"]["systems"])
    if order["holds"] is None:
        return format_html("There is no order to hold: {}.", order["why"]["holds"])
    said = format_html(
        "The order of the systems holds in <b>{}</b> of {} resamples of the raters, the best stays best in {}.",
        share(order["holds"]),
        f"{order['draws']:,}",
        share(order["leader_holds"]),
    )
    moved = [row["rater"] for row in order["without"] if row["reversed"]]
    if not order["without"]:
        return said
    if not moved:
        return format_html("{} It also holds without any single one of them.", said)
    who = "{} It changes when {} is left out." if len(moved) == 1 else "{} It changes when one of {} is left out."
    return format_html(who, said, named(moved))


def neighbours(order: Mapping) -> list[dict]:
    """The systems, best first, each with how often it stays above the next."""
    kept_share = {(row["first"], row["second"]): row["kept"] for row in order.get("kept", ())}
    rows = order["systems"]
    below = [row["system"] for row in rows[1:]]
    return [
        row | {"next": after, "kept": kept_share.get((row["system"], after))}
        for row, after in zip_longest(rows, below)
    ]


# As pictures and tables


def confusion(found: Mapping, grades: Mapping[float, str]) -> list[dict]:
    """A cell for each two grades: the share of the couples with the one in which the other was given."""
    counts = np.array(found["pairs"], np.float64).reshape(len(found["grades"]), -1)
    # Of a couple with the same grade both are the one and the other.
    ordered = counts + np.diag(np.diag(counts))
    of_row = ordered.sum(axis=1)
    labels = [grades.get(grade, number(grade)) for grade in found["grades"]]
    return [
        {
            "one": one,
            "other": other,
            "share": float(ordered[row, column] / of_row[row]) if of_row[row] else None,
            "couples": int(counts[row, column]),
        }
        for row, one in enumerate(labels)
        for column, other in enumerate(labels)
    ]


def rows_of(cells: Sequence[dict], grades: Sequence[str]) -> list[tuple[str, list[dict]]]:
    return [(one, [cell for cell in cells if cell["one"] == one]) for one in reversed(grades)]


def dot(row: Mapping) -> dict:
    """A rater's bias. Told from 0 only where there is enough to go by: a hint, and no verdict."""
    low, high = row["low"], row["high"]
    told = low is not None and not row["few"] and not low <= 0 <= high
    return {
        "label": row["rater"],
        "value": row["bias"],
        "low": low,
        "high": high,
        "n": row["shared"],
        "told": told,
    }


def in_dispute(request: HttpRequest, collection: Collection, found: Found) -> dict:
    """One page of the pairs with different grades, with what they link to. Two queries, for admins three."""
    rows = list(zip(found.document["disputed"], disputed(found.said.table), strict=True))
    context = paged(request, rows, DISPUTED)
    queries, shown = found.said.opinions.queries, []
    for row, each in context["page"].object_list:
        query, document = found.said.pairs[each.pair]
        shown.append((row, queries["pk"].iat[query].item(), queries["text"].iat[query], document))
    documents = titles({document for *_, document in shown})
    tokens = {}
    if collection.role == Role.ADMIN:
        pairs = Pair.objects.filter(query__in={query for _, query, *_ in shown}, document__in=documents)
        tokens = {
            (query, document): token for query, document, token in pairs.values_list("query", "document", "token")
        }
    return context | {
        "total": len(rows),
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


@require_safe
@for_analysts
def agreement_csv(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """Everything as rows of one shape, as `agreement --format csv` gives it, under the names of the page."""
    found = found_in(collection, asked)
    return csv_response(request, file_name(asked, collection), *consistency.table(found.said, found.order))


@require_safe
@for_analysts
def agreement_json(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The same as a document, as `agreement --format json` gives it."""
    return json_response(file_name(asked, collection), found_in(collection, asked).document)


def file_name(asked: Asked, collection: Collection) -> str:
    return f"{collection.slug}-agreement-{asked.measure}"

"""Adjudication: pairs on which raters disagree, the decision on a pair, and the history of a pair.

Who decides must not know who rated: the inbox and the page of a pair contain no names, and no order that depends
on them. Only the history of a pair names people.
"""

from collections.abc import Iterable
from statistics import mean
from uuid import UUID

from django.contrib import messages
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from ...desk.keys import keys_of, with_keys
from ...models import Adjudication, Collection, Pair, Rating
from ...people.access import account_key, admin_page, record_act
from ...presentation.guidelines.markdown import rendered
from ...presentation.html import render_current
from ...web.pages import frame, paged
from .. import adjudication, ageing
from ..forms import AdjudicationForm, WithdrawalForm
from ..pairs import pair_of, without_names

PAIRS_ON_PAGE = 50
CHANGED_SINCE = "The ratings of this pair changed, or it was decided and opened again, since you opened the page."


@admin_page
def adjudicate(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Pairs whose raters disagree, the biggest difference first."""
    # A list, because a count costs the database as much as the rows.
    disputed = list(adjudication.disputed(collection).values_list("pair", "spread"))
    context = base_context(collection) | paged(request, disputed, PAIRS_ON_PAGE)
    spreads = dict(context["page"].object_list)  # of the pairs on this page of the list
    pairs = pair_rows(spreads)
    context["rows"] = [pairs[pk] | {"spread": spread} for pk, spread in spreads.items()]
    context["open"] = context["page"].paginator.count
    context["decided"] = decisions(collection).count()
    return render(request, "ratings/adjudicate.html", context)


@admin_page
def adjudicated(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The adjudicated pairs, the latest first."""
    latest = decisions(collection).select_related("grade", "actor").order_by("-pk")
    context = base_context(collection) | paged(request, latest, PAIRS_ON_PAGE)
    shown = list(context["page"].object_list)
    pairs = pair_rows([decision.pair_id for decision in shown])
    context["rows"] = [pairs[decision.pair_id] | {"decision": decision} for decision in shown]
    context["open"] = adjudication.disputed(collection).count()
    context["decided"] = context["page"].paginator.count
    return render(request, "ratings/adjudicated.html", context)


@admin_page
def adjudicate_pair(request: HttpRequest, collection: Collection, token: UUID) -> HttpResponse:
    return pair_page(request, collection, pair_of(collection, token))


@record_act
def save_adjudication(request: HttpRequest, collection: Collection, token: UUID) -> HttpResponse:
    """Decide a pair, and show the pair that follows it in the inbox or, after the last, the inbox.

    "seen" in the form is the latest act on the pair when the page was made. If somebody rated or decided it since,
    the page is shown again.
    """
    pair = pair_of(collection, token)
    form = AdjudicationForm(request.POST, collection=collection)
    if not form.is_valid():
        return pair_page(request, collection, pair, form=form, status=400)
    sent = form.cleaned_data
    # A decided pair goes on to `adjudicate`, which accepts the same decision again: the form may be sent twice.
    is_decided = Adjudication.objects.filter(pair=pair).exists()
    if not is_decided and adjudication.latest_act(pair) != sent["seen"]:
        return pair_page(request, collection, pair, form=form, refused=CHANGED_SINCE, status=409)
    # The next pair is looked up first, as the decision takes this one out of the inbox.
    next_token = place_in_inbox(pair, collection)["next"]
    try:
        adjudication.adjudicate(pair, sent["grade"], reason=sent["reason"], actor=request.user)
    except adjudication.Adjudicated as error:
        return pair_page(request, collection, pair, form=form, refused=str(error), status=409)
    messages.success(request, f"“{pair.document}” for “{pair.query.text}” is now {sent['grade']}.")
    if next_token:
        return redirect("adjudicate_pair", collection.slug, next_token)
    return redirect("adjudicate", collection.slug)


@record_act
def withdraw_adjudication(request: HttpRequest, collection: Collection, token: UUID) -> HttpResponse:
    """Withdraw the decision, so that the ratings count again, and show the pair."""
    pair = pair_of(collection, token)
    form = WithdrawalForm(request.POST)
    if not form.is_valid():
        return pair_page(request, collection, pair, form=form, status=400)
    try:
        adjudication.withdraw(pair, actor=request.user, **form.cleaned_data)
    except adjudication.NotAdjudicated as error:
        return pair_page(request, collection, pair, form=form, refused=str(error), status=409)
    messages.success(request, "The decision is withdrawn; the ratings of the pair count again.")
    return redirect("adjudicate_pair", collection.slug, pair.token)


@admin_page
def pair_life(request: HttpRequest, collection: Collection, token: UUID) -> HttpResponse:
    """The page of all events of a pair, in order and with the names of people."""
    pair = pair_of(collection, token)
    events = list(pair.events.select_related("rater", "actor"))
    number_by_event = {event.pk: number for number, event in enumerate(events, start=1)}
    # Undone event → the number of the event that undoes it.
    undo_by_event = {event.undoes_id: number_by_event[event.pk] for event in events if event.undoes_id}
    base = base_context(collection)
    labels = {grade.value: grade.label for grade in base["scale"]}
    ratings = ageing.of_collection(collection).filter(pair=pair)
    context = {
        **base,
        "pair": pair,
        # The ratings to an older text of the document, with that text.
        "older": list(ageing.to_older_text(ratings).select_related("rater")),
        # "undoes" and "undone_by": the number of another event, or None.
        "acts": [
            {
                "number": number,
                "event": event,
                "label": labels.get(event.value, ""),
                "undoes": number_by_event.get(event.undoes_id),
                "undone_by": undo_by_event.get(event.pk),
                # Whether somebody else than the rater did it, such as an admin who imported the rating.
                "by_another": event.rater and event.actor_id not in (None, event.rater.user_id),
            }
            for number, event in enumerate(events, start=1)
        ],
    }
    return render(request, "ratings/pair_life.html", context)


def pair_page(
    request: HttpRequest,
    collection: Collection,
    pair: Pair,
    *,
    form: AdjudicationForm | WithdrawalForm | None = None,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    """The page of a pair, decided or not. A refused form keeps what was filled in.

    `refused`: why a valid form was not applied, for a message. "seen" in the page comes back with the form.
    """
    ratings = without_names(pair.ratings.counted().select_related("grade"))
    grades = [rating["grade"].value for rating in ratings if rating["grade"]]
    guidelines = collection.latest_guidelines()
    base = base_context(collection)
    context = {
        **base,
        "pair": pair,
        "shown": render_current(collection, pair.document),
        "ratings": ratings,
        "mean": mean(grades) if grades else None,
        "graded": len(grades),
        "decision": Adjudication.objects.select_related("grade", "actor").filter(pair=pair).first(),
        "seen": adjudication.latest_act(pair),
        "guidelines": rendered(guidelines.text) if guidelines else "",
        "guidelines_version": guidelines.version if guidelines else 0,
        "form": form,
        "refused": refused,
        "keyed": with_keys(base["scale"]),  # (grade, the key of the keyboard that chooses it)
        # For the script: the browser keeps an account's own keys. The usual keys are those of the grades.
        "keys": {"account": account_key(request.user), "keys": keys_of(base["scale"])},
        **place_in_inbox(pair, collection),  # "number", "open", "previous" and "next"
    }
    return render(request, "ratings/adjudicate_pair.html", context, status=status)


def base_context(collection: Collection) -> dict:
    """The context of every page of adjudication."""
    return {**frame(collection, "adjudicate"), "scale": list(collection.grades.all())}


def decisions(collection: Collection) -> QuerySet:
    return Adjudication.objects.filter(pair__query__collection=collection)


def pair_rows(pks: Iterable[int]) -> dict[int, dict]:
    """Pair id -> the pair and its ratings without names. Three queries."""
    counted = Rating.objects.counted().select_related("grade")
    pairs = Pair.objects.filter(pk__in=pks).select_related("query", "document")
    pairs = pairs.defer("document__body", "document__fields").prefetch_related(Prefetch("ratings", counted))
    return {pair.pk: {"pair": pair, "ratings": without_names(pair.ratings.all())} for pair in pairs}


def place_in_inbox(pair: Pair, collection: Collection) -> dict:
    """The number of the pair in the inbox, from 1; how many are open; the tokens beside it. Two queries."""
    tokens = list(adjudication.disputed(collection).values_list("pair__token", flat=True))
    inbox = [None, *tokens, None]  # None: nothing comes before the first pair, and nothing after the last
    number = inbox.index(pair.token) if pair.token in tokens else None
    return {
        "number": number,
        "open": len(tokens),
        "previous": inbox[number - 1] if number else None,
        "next": inbox[number + 1] if number else None,
    }

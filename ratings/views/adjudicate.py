"""Adjudication: where raters disagree, one pair at a time, and what happened to a pair.

Who decides must not know who rated: the inbox and the page of a pair send no name and no order that tells one.
Only the life of a pair names people.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import wraps
from statistics import mean
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from .. import adjudication
from ..access import collection_for
from ..forms import AdjudicationForm, DistanceForm, WithdrawalForm, WithReason
from ..markdown import rendered
from ..models import Adjudication, Collection, Pair, Rating, RatingEvent, Role

AT_ONCE = 50
CHANGED = "The ratings of this pair changed, or it was decided and opened again, since you opened the page."


def for_admins(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Call view(request, collection, distance, …) for admins; for others the collection is absent."""

    @wraps(view)
    def answered(request: HttpRequest, slug: str, **kwargs) -> HttpResponse:
        collection = collection_for(request, slug, Role.ADMIN)
        distance = DistanceForm(request.GET.get("steps", ""), scale=list(collection.grades.all()))
        if not distance.is_valid():
            return render(request, "ratings/adjudicate.html", page(collection, distance), status=400)
        return view(request, collection, distance, **kwargs)

    return answered


@require_safe
@never_cache
@for_admins
def adjudicate(request: HttpRequest, collection: Collection, distance: DistanceForm) -> HttpResponse:
    """Pairs whose raters disagree, the biggest difference first."""
    # As a list, because to count them costs the database as much as to give them.
    disputed = list(inbox(collection, distance).values_list("pair", "spread"))
    context = page(collection, distance) | paged(request, disputed)
    spreads = dict(context["page"].object_list)
    pairs = listed(spreads)
    context["rows"] = [pairs[pk] | {"spread": spread} for pk, spread in spreads.items()]
    context["open"] = context["page"].paginator.count
    context["decided"] = decisions(collection).count()
    if not context["open"]:
        context["lack"] = lack(collection, distance)
    return render(request, "ratings/adjudicate.html", context)


@require_safe
@never_cache
@for_admins
def adjudicated(request: HttpRequest, collection: Collection, distance: DistanceForm) -> HttpResponse:
    """Pairs that somebody decided, the latest first."""
    latest = decisions(collection).select_related("grade", "actor").order_by("-pk")
    context = page(collection, distance) | paged(request, latest)
    shown = list(context["page"].object_list)
    pairs = listed([decision.pair_id for decision in shown])
    context["rows"] = [pairs[decision.pair_id] | {"decision": decision} for decision in shown]
    context["open"] = inbox(collection, distance).count()
    context["decided"] = context["page"].paginator.count
    return render(request, "ratings/adjudicated.html", context)


@require_safe
@never_cache
@for_admins
def adjudicate_pair(
    request: HttpRequest, collection: Collection, distance: DistanceForm, token: UUID
) -> HttpResponse:
    return pair_page(request, collection, distance, pair_of(collection, token))


@require_POST
@for_admins
def save_adjudication(
    request: HttpRequest, collection: Collection, distance: DistanceForm, token: UUID
) -> HttpResponse:
    """Decide a pair and go on to the one that follows it in the inbox."""
    pair = pair_of(collection, token)
    form = AdjudicationForm(request.POST, scale=distance.scale)
    if not form.is_valid():
        return pair_page(request, collection, distance, pair, form=form, status=400)
    given = form.cleaned_data
    decided = Adjudication.objects.filter(pair=pair).exists()
    if not decided and adjudication.latest_act(pair) != given["seen"]:
        return pair_page(request, collection, distance, pair, form=form, refused=CHANGED, status=409)
    # Asked before the decision, which takes the pair out of the inbox.
    place = place_of(pair, collection, distance)
    try:
        adjudication.adjudicate(pair, given["grade"], reason=given["reason"], actor=request.user)
    except adjudication.Adjudicated as error:
        return pair_page(request, collection, distance, pair, form=form, refused=str(error), status=409)
    messages.success(request, f"“{pair.document}” for “{pair.query.text}” is now {given['grade']}.")
    if place["next"]:
        return redirect(reverse("adjudicate_pair", args=[collection.slug, place["next"]]) + distance.keep)
    return redirect(reverse("adjudicate", args=[collection.slug]) + distance.keep)


@require_POST
@for_admins
def withdraw_adjudication(
    request: HttpRequest, collection: Collection, distance: DistanceForm, token: UUID
) -> HttpResponse:
    """Let the ratings speak again, and show the pair."""
    pair = pair_of(collection, token)
    form = WithdrawalForm(request.POST)
    if not form.is_valid():
        return pair_page(request, collection, distance, pair, form=form, status=400)
    try:
        adjudication.withdraw(pair, actor=request.user, **form.cleaned_data)
    except adjudication.NotAdjudicated as error:
        return pair_page(request, collection, distance, pair, form=form, refused=str(error), status=409)
    messages.success(request, "The decision is withdrawn; the ratings of the pair count again.")
    return redirect(reverse("adjudicate_pair", args=[collection.slug, pair.token]) + distance.keep)


@require_safe
@never_cache
@for_admins
def pair_life(request: HttpRequest, collection: Collection, distance: DistanceForm, token: UUID) -> HttpResponse:
    """Everything that was said and decided about a pair, in order and by name."""
    pair = pair_of(collection, token)
    events = list(pair.events.select_related("rater", "actor", "undone_by"))
    number = {event.pk: place for place, event in enumerate(events, start=1)}
    labels = {grade.value: grade.label for grade in distance.scale}
    context = page(collection, distance) | {
        "pair": pair,
        "acts": [told(event, number, labels) for event in events],
    }
    return render(request, "ratings/pair_life.html", context)


def pair_page(
    request: HttpRequest,
    collection: Collection,
    distance: DistanceForm,
    pair: Pair,
    *,
    form: WithReason | None = None,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    """What there is to decide about a pair, or what was decided; a refused form comes back as it was filled in."""
    ratings = without_names(pair.ratings.select_related("grade"))
    grades = [rating["grade"].value for rating in ratings if rating["grade"]]
    guidelines = collection.latest_guidelines()
    context = page(collection, distance) | {
        "pair": pair,
        "ratings": ratings,
        "mean": mean(grades) if grades else None,
        "graded": len(grades),
        "decision": Adjudication.objects.select_related("grade", "actor").filter(pair=pair).first(),
        "seen": adjudication.latest_act(pair),
        "guidelines": rendered(guidelines.text) if guidelines else "",
        "guidelines_version": guidelines.version if guidelines else 0,
        "form": form,
        "refused": refused,
        **place_of(pair, collection, distance),
    }
    return render(request, "ratings/adjudicate_pair.html", context, status=status)


def page(collection: Collection, distance: DistanceForm) -> dict:
    """What every page of adjudication needs."""
    return {
        "collection": collection,
        "role": collection.role,
        "section": "adjudicate",
        "distance": distance,
        "scale": distance.scale,
    }


def paged(request: HttpRequest, rows: QuerySet | list) -> dict:
    """One page of `rows`, the number of which is in the address; a number too high gives the last."""
    paginator = Paginator(rows, AT_ONCE)
    page = paginator.get_page(request.GET.get("page"))
    return {"page": page, "numbers": list(paginator.get_elided_page_range(page.number))}


def inbox(collection: Collection, distance: DistanceForm) -> QuerySet:
    return adjudication.disputed(collection, distance.scale, distance.steps_apart)


def decisions(collection: Collection) -> QuerySet:
    return Adjudication.objects.filter(pair__query__collection=collection)


def listed(pks: Iterable[int]) -> dict[int, dict]:
    """What a list shows of these pairs, by id. Three queries."""
    pairs = Pair.objects.filter(pk__in=pks).select_related("query", "document")
    pairs = pairs.defer("document__body", "document__fields").prefetch_related("ratings__grade")
    return {pair.pk: {"pair": pair, "ratings": without_names(pair.ratings.all())} for pair in pairs}


def pair_of(collection: Collection, token: UUID) -> Pair:
    """Raises Http404 for a pair of another collection."""
    pairs = Pair.objects.select_related("query__collection", "document")
    return get_object_or_404(pairs, token=token, query__collection=collection)


def place_of(pair: Pair, collection: Collection, distance: DistanceForm) -> dict:
    """Where the pair is in the inbox: its number, how many there are, the tokens beside it. One query."""
    tokens = list(inbox(collection, distance).values_list("pair__token", flat=True))
    if pair.token not in tokens:
        return {"number": None, "open": len(tokens), "previous": None, "next": None}
    here = tokens.index(pair.token)
    before, after = tokens[:here], tokens[here + 1 :]
    return {
        "number": here + 1,
        "open": len(tokens),
        "previous": before[-1] if before else None,
        "next": after[0] if after else None,
    }


def without_names(ratings: Iterable[Rating]) -> list[dict]:
    """What was said of a pair, field by field, in an order that depends on nothing else: highest grade first."""
    said = [
        {"grade": rating.grade, "reason": rating.get_reason_display(), "comment": rating.comment}
        for rating in ratings
    ]

    def content(what: dict) -> tuple:
        grade = what["grade"]
        return (grade is None, -grade.value if grade else 0, what["reason"], what["comment"])

    return sorted(said, key=content)


def lack(collection: Collection, distance: DistanceForm) -> str:
    """Why the inbox is empty: there are smaller differences, raters agree, or no pair was graded twice."""
    if distance.steps_apart and adjudication.disputed(collection, distance.scale, 0).exists():
        return "smaller"
    grades = Rating.objects.filter(pair__query__collection=collection, grade__isnull=False)
    several = grades.values("pair").annotate(n=Count("pk")).filter(n__gt=1)
    return "agreed" if several.exists() else "single"


def told(event: RatingEvent, number: dict[int, int], labels: dict[Decimal, str]) -> dict:
    """An act as the life of a pair tells it; acts that undo or are undone name each other by number."""
    undone_by = getattr(event, "undone_by", None)
    return {
        "number": number[event.pk],
        "event": event,
        "label": labels.get(event.value, ""),
        "undoes": number.get(event.undoes_id),
        "undone_by": number[undone_by.pk] if undone_by else None,
    }

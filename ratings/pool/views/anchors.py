"""The pages of anchors: warm-ups and gold pairs, and how often raters hit their grades."""

from uuid import UUID

from django.contrib import messages
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from ...desk import queue
from ...desk.figures import Share
from ...models import Anchor, Check, Collection, Grade, Pair, Rating
from ...people.access import admin_act, admin_page, record_act
from ...presentation.html import render_current
from ...web.pages import frame
from ..anchors import remove_anchor as remove
from ..anchors import set_anchor
from ..forms import AnchorForm, FindPairForm, SuggestedForm
from ..pairs import pair_of, without_names

SUGGESTED = 20
AGREEING = 2  # the fewest raters of a suggested pair; all of them gave the same grade


@admin_page
def anchors(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The anchors with the shares of raters' hits, and suggestions for more."""
    return anchors_page(request, collection, FindPairForm(collection=collection))


@admin_page
def anchor(request: HttpRequest, collection: Collection, token: UUID) -> HttpResponse:
    """One pair, to make it an anchor or to change the anchor."""
    return anchor_page(request, collection, pair_of(collection, token))


@admin_act
def find_pair(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Open the pair of a query and a document, which is made if it is missing."""
    form = FindPairForm(request.POST, collection=collection)
    if not form.is_valid():
        return anchors_page(request, collection, form, status=400)
    ids = form.cleaned_data["query"], form.cleaned_data["document"]
    return redirect("anchor", collection.slug, Pair.objects.get(pk=queue.pairs_for([ids])[ids]).token)


@record_act
def save_anchor(request: HttpRequest, collection: Collection, token: UUID) -> HttpResponse:
    pair = pair_of(collection, token)
    form = AnchorForm(request.POST, scale=list(collection.grades.all()))
    if not form.is_valid():
        return anchor_page(request, collection, pair, form=form, status=400)
    made = set_anchor(pair, **form.cleaned_data)
    messages.success(
        request, f"“{pair.document}” for “{pair.query.text}” is {made.get_use_display()}: {made.grade}."
    )
    return redirect("anchors", collection.slug)


@record_act
def remove_anchor(request: HttpRequest, collection: Collection, token: UUID) -> HttpResponse:
    pair = pair_of(collection, token)
    remove(pair)
    messages.success(request, f"“{pair.document}” for “{pair.query.text}” is no longer an anchor.")
    return redirect("anchors", collection.slug)


def anchors_page(
    request: HttpRequest, collection: Collection, form: FindPairForm, *, status: int = 200
) -> HttpResponse:
    scale = list(collection.grades.all())
    asked = SuggestedForm(request.GET, scale=scale)
    known = Anchor.objects.filter(pair__query__collection=collection).order_by("grade__value", "pair__query__key")
    known = known.select_related("grade", "pair__query", "pair__document").defer(
        "pair__document__body", "pair__document__fields"
    )
    rows: dict[str, list] = {Anchor.Use.WARM_UP: [], Anchor.Use.GOLD: []}
    hits = hit_shares(collection)
    for each in known:
        rows[each.use].append((each, hits.get(each.pk, Share())))
    warmed = {each.grade_id for each, _ in rows[Anchor.Use.WARM_UP]}
    context = {
        **frame(collection, "anchors"),
        "scale": scale,
        "warm_up": rows[Anchor.Use.WARM_UP],
        "gold": rows[Anchor.Use.GOLD],
        "missing": [grade for grade in scale if grade.pk not in warmed] if warmed else [],
        "form": form,
        "asked": asked,
        "suggested": suggested_pairs(collection, asked.chosen, scale),
    }
    return render(request, "ratings/anchors.html", context, status=status)


def anchor_page(
    request: HttpRequest,
    collection: Collection,
    pair: Pair,
    *,
    form: AnchorForm | None = None,
    status: int = 200,
) -> HttpResponse:
    scale = list(collection.grades.all())
    known = Anchor.objects.select_related("grade").filter(pair=pair).first()
    if form is None:
        facts = {"use": known.use, "grade": known.grade.value, "explanation": known.explanation} if known else {}
        form = AnchorForm(initial=facts, scale=scale)
    chosen = form["grade"].value()
    context = {
        **frame(collection, "anchors"),
        "scale": scale,
        "pair": pair,
        "shown": render_current(collection, pair.document),
        "anchor": known,
        "form": form,
        "chosen": next((grade.pk for grade in scale if chosen in (grade.value, grade.plain)), None),
        "ratings": without_names(pair.ratings.select_related("grade")),
    }
    return render(request, "ratings/anchor.html", context, status=status)


def hit_shares(collection: Collection) -> dict[int, Share]:
    """Anchor id -> the share of answers since it was made that hit its grade. Two queries.

    "Cannot judge" counts as no answer.
    """
    rated = Rating.objects.filter(
        pair__query__collection=collection,
        pair__anchor__use=Anchor.Use.GOLD,
        grade__isnull=False,
        created_at__gte=F("pair__anchor__created_at"),
    )
    rated = rated.order_by().values(anchor=F("pair__anchor"))
    rated = rated.annotate(n=Count("pk"), hits=Count("pk", filter=Q(grade=F("pair__anchor__grade"))))
    warmed = Check.objects.filter(
        pair__query__collection=collection,
        pair__anchor__use=Anchor.Use.WARM_UP,
        kind=Check.Kind.WARM_UP,
        event__value__isnull=False,
    )
    warmed = warmed.order_by().values(anchor=F("pair__anchor"))
    same = Count("pk", filter=Q(event__value=F("pair__anchor__grade__value")))
    warmed = warmed.annotate(n=Count("pk"), hits=same)
    return {row["anchor"]: Share(row["hits"], row["n"]) for rows in (rated, warmed) for row in rows}


def suggested_pairs(collection: Collection, grade: Grade | None, scale: list[Grade]) -> list[dict]:
    """Pairs whose raters all gave the same grade, most raters first. Two queries."""
    raters = list(collection.raters.values_list("pk", flat=True))
    # Not by a join: PostgreSQL would begin with the pairs of all collections.
    known = Exists(Anchor.objects.filter(pair=OuterRef("pair")))
    agreed = Rating.objects.filter(~known, rater__in=raters).order_by()
    agreed = agreed.values("pair").annotate(
        n=Count("pk"), graded=Count("grade"), lowest=Min("grade"), highest=Max("grade")
    )
    agreed = agreed.filter(n__gte=AGREEING, graded=F("n"), lowest=F("highest"))
    if grade:
        agreed = agreed.filter(lowest=grade.pk)
    rows = list(agreed.order_by("-n", "pair")[:SUGGESTED])
    pairs = Pair.objects.select_related("query", "document").defer("document__body", "document__fields")
    pairs = pairs.in_bulk([row["pair"] for row in rows])
    by_pk = {grade.pk: grade for grade in scale}
    return [{"pair": pairs[row["pair"]], "n": row["n"], "grade": by_pk[row["lowest"]]} for row in rows]

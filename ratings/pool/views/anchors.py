"""The pages of anchors, which are pairs whose grade is known, and how often raters hit this grade.

By a warm-up raters learn: they see its grade after their own. Gold tests them, and looks like any other pair.
"""

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
from ..forms import AnchorForm, FindPairForm
from ..pairs import pair_of, without_names
from ..progress.counts import gold_answers, shares

MOST_SUGGESTED_PAIRS = 20
FEWEST_AGREEING_RATERS = 2  # of a suggested pair; all of them gave the same grade


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
    pair = Pair.objects.get(pk=queue.pairs_for([ids])[ids])
    return redirect("anchor", collection.slug, pair.token)


@record_act
def save_anchor(request: HttpRequest, collection: Collection, token: UUID) -> HttpResponse:
    pair = pair_of(collection, token)
    form = AnchorForm(request.POST, collection=collection)
    if not form.is_valid():
        return anchor_page(request, collection, pair, form)
    anchor = set_anchor(pair, **form.cleaned_data)
    outcome = f"“{pair.document}” for “{pair.query.text}” is {anchor.get_use_display()}: {anchor.grade}."
    messages.success(request, outcome)
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
    """The page of all anchors, each with the share of raters' answers that hit its grade, and of suggested pairs.

    `form`: to find a pair, which can then become an anchor.
    """
    scale = list(collection.grades.all())
    # With ?grade=, a value of the scale, only pairs with that grade are suggested.
    suggested_grade = next((grade for grade in scale if grade.plain == request.GET.get("grade")), None)
    anchors = Anchor.objects.filter(pair__query__collection=collection)
    anchors = anchors.select_related("grade", "pair__query", "pair__document")
    anchors = anchors.defer("pair__document__body", "pair__document__fields")
    share_of_anchor = hit_shares(collection)  # without the anchors that nobody answered
    in_order = anchors.order_by("grade__value", "pair__query__key")
    rows = [(anchor, share_of_anchor.get(anchor.pk, Share())) for anchor in in_order]
    warm_ups = [row for row in rows if row[0].use == Anchor.Use.WARM_UP]
    warm_up_grades = {warm_up.grade_id for warm_up, _ in warm_ups}
    grades_without_warm_up = [grade for grade in scale if grade.pk not in warm_up_grades]
    context = {
        **frame(collection, "anchors"),
        "scale": scale,
        "warm_up": warm_ups,
        "gold": [row for row in rows if row[0].use == Anchor.Use.GOLD],
        "missing": grades_without_warm_up if warm_ups else [],  # without any, the page says that instead
        "form": form,
        "suggested_grade": suggested_grade,
        "suggested": suggested_pairs(collection, suggested_grade, scale),
    }
    return render(request, "ratings/anchors.html", context, status=status)


def anchor_page(
    request: HttpRequest, collection: Collection, pair: Pair, form: AnchorForm | None = None
) -> HttpResponse:
    """The page of one pair, with the form of its anchor. A refused form keeps what was filled in."""
    scale = list(collection.grades.all())
    anchor = Anchor.objects.select_related("grade").filter(pair=pair).first()
    if form is None:
        stored = anchor and {"use": anchor.use, "grade": anchor.grade.value, "explanation": anchor.explanation}
        form = AnchorForm(initial=stored, collection=collection)  # empty without an anchor
    # The form has the grade's value: a number of the stored anchor, or the text that was sent.
    value = form["grade"].value()
    chosen_grade = next((grade for grade in scale if value in (grade.value, grade.plain)), None)
    context = {
        **frame(collection, "anchors"),
        "scale": scale,
        "pair": pair,
        "shown": render_current(collection, pair.document),
        "anchor": anchor,
        "form": form,
        "chosen": chosen_grade and chosen_grade.pk,
        "ratings": without_names(pair.ratings.counted().select_related("grade")),
    }
    return render(request, "ratings/anchor.html", context, status=400 if form.errors else 200)


def hit_shares(collection: Collection) -> dict[int, Share]:
    """Anchor id → the share of raters' answers that have the anchor's grade. Two queries.

    "Cannot judge" counts as no answer.
    """
    # Raters answer a gold pair by a rating, which has a row of the scale as its grade.
    ratings = Rating.objects.counted().filter(pair__query__collection=collection)
    gold_shares = shares(gold_answers(ratings), "pair__anchor", hit=Q(grade=F("pair__anchor__grade")))
    # They answer a warm-up by a check, whose event has the value of the grade, or none for "cannot judge".
    warm_up_answers = Check.objects.filter(
        pair__query__collection=collection,
        pair__anchor__use=Anchor.Use.WARM_UP,
        kind=Check.Kind.WARM_UP,
        event__value__isnull=False,
    )
    same_value = Q(event__value=F("pair__anchor__grade__value"))
    return gold_shares | shares(warm_up_answers, "pair__anchor", hit=same_value)


def suggested_pairs(collection: Collection, grade: Grade | None, scale: list[Grade]) -> list[dict]:
    """The pairs to suggest as anchors: no anchors yet, and all their raters gave the same grade. Three queries.

    Each is {"pair", "n": number of raters, "grade"}, those with most raters first. `grade`: only pairs with this
    grade; None: with any.
    """
    raters = list(collection.raters.values_list("pk", flat=True))
    # By the raters and a subquery, not by joins: PostgreSQL would begin with the pairs of all collections.
    is_anchor = Exists(Anchor.objects.filter(pair=OuterRef("pair")))
    ratings = Rating.objects.counted().filter(~is_anchor, rater__in=raters).order_by()
    ratings_of_pair = ratings.values("pair").annotate(
        n=Count("pk"), graded=Count("grade"), lowest=Min("grade"), highest=Max("grade")
    )
    # All ratings have a grade (none is "cannot judge"), and the lowest and the highest id of a grade are the same.
    agreed = ratings_of_pair.filter(n__gte=FEWEST_AGREEING_RATERS, graded=F("n"), lowest=F("highest"))
    if grade:
        agreed = agreed.filter(lowest=grade.pk)
    rows = list(agreed.order_by("-n", "pair")[:MOST_SUGGESTED_PAIRS])
    pairs = Pair.objects.select_related("query", "document").defer("document__body", "document__fields")
    pair_by_pk = pairs.in_bulk([row["pair"] for row in rows])
    grade_by_pk = {each.pk: each for each in scale}
    return [{"pair": pair_by_pk[row["pair"]], "n": row["n"], "grade": grade_by_pk[row["lowest"]]} for row in rows]

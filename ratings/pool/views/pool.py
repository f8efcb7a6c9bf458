"""The pages of the pool: which pairs are wanted, what more of them would cost, and how raters get them.

A GET previews an act of pooling, the POST does it.
"""

from collections.abc import Callable

from django.contrib import messages
from django.db import transaction
from django.db.models import Count
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from ...desk.figures import Pace
from ...models import Collection, Pair, Role, System
from ...people.access import admin_page, readers_page, record_act
from ...presentation.pictures import fetch_pictures
from ...web.pages import frame, paged
from ...web.sent import uuid_of
from ...web.settings_forms import lock
from ...words import counted
from .. import judging, pooling
from ..forms import FewerForm, HolesForm, JudgingForm, MoreForm, PairsForm, PlanForm, WantHolesForm
from ..progress import cost
from ..progress.counts import pace, ratings_left

ROWS_ON_PAGE = 50  # retired pairs, or queries with holes
USUAL_DEPTH = 10
MOST_SYSTEMS_COUNTED = 20  # systems whose holes a page counts: it reads all their rankings
HOLES_LISTED_OF_QUERY = 5


@admin_page
def pool(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The wanted ratings, and what an act would do whose form is in the address.

    With `depth` the act is a pool of the first places of systems. `more` and `fewer` only change how many ratings
    each pair of the present pool wants: at least, or at most.
    """
    forms: dict[str, BaseForm] = {}
    # A collection that was put away takes no act, so nothing is planned there.
    sent = {} if collection.put_away_at else request.GET
    if "depth" in sent:
        forms["plan_form"] = PlanForm(sent, collection=collection)
    if "more" in sent:
        forms["more"] = MoreForm(sent)
    if "fewer" in sent:
        forms["fewer"] = FewerForm(sent)
    return pool_page(request, collection, **forms)


@record_act
def make_pool(request: HttpRequest, collection: Collection) -> HttpResponse:
    form = PlanForm(request.POST, collection=collection)
    if not form.is_valid():
        return pool_page(request, collection, plan_form=form)
    made = pooling.pool(collection, **form.cleaned_data)
    fetch_pictures(collection, request.user)
    outcome = f"{counted(made.pairs, 'pair')} in this pool, {counted(made.new_ratings, 'rating')} newly wanted."
    messages.success(request, outcome)
    return redirect("pool", collection.slug)


@record_act
def want_more(request: HttpRequest, collection: Collection) -> HttpResponse:
    form = MoreForm(request.POST)
    if not form.is_valid():
        return pool_page(request, collection, more=form)
    added = pooling.want_more(collection, form.cleaned_data["more"])
    messages.success(request, f"{counted(added, 'rating')} newly wanted.")
    return redirect("pool", collection.slug)


@record_act
def want_fewer(request: HttpRequest, collection: Collection) -> HttpResponse:
    form = FewerForm(request.POST)
    if not form.is_valid():
        return pool_page(request, collection, fewer=form)
    withdrawn = pooling.want_fewer(collection, form.cleaned_data["fewer"])
    told = counted(withdrawn, "rating is", "ratings are")
    messages.success(request, f"{told} no longer wanted. What raters gave stays.")
    return redirect("pool", collection.slug)


@record_act
@transaction.atomic
def save_judging(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Save the order of rating, the shares of gold and repeats, and the break."""
    lock(collection)
    form = JudgingForm(request.POST, instance=collection)
    if not form.is_valid():
        collection.refresh_from_db()  # the form has set its values on the collection, though it is refused
        return pool_page(request, collection, judging=form)
    judging.save_settings(collection, **form.cleaned_data)
    messages.success(request, "Saved. It applies from the next document that a rater gets.")
    return redirect("pool", collection.slug)


@record_act
def retire(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Retire pairs: one by its token, or a typed list."""
    effect = "Nobody gets them any more. Their ratings count."
    return change_pairs(request, collection, pooling.retire, done="Retired", effect=effect)


@record_act
def bring_back(request: HttpRequest, collection: Collection) -> HttpResponse:
    effect = "What is still wanted can be rated."
    return change_pairs(request, collection, pooling.bring_back, done="Brought back", effect=effect)


def change_pairs(
    request: HttpRequest,
    collection: Collection,
    act: Callable[[Collection, list[int]], int],
    done: str,
    effect: str,
) -> HttpResponse:
    """Retire pairs or bring them back: one by its token, or a typed list, which is shown again if it is refused.

    `act` does that to the pairs with these ids, and returns how many it changed. The message is made of the words
    `done` and `effect`.
    """
    if "pair" in request.POST:
        token = uuid_of(request.POST["pair"])
        ids = [get_object_or_404(Pair, token=token, query__collection=collection).pk]
    else:
        form = PairsForm(request.POST, collection=collection)
        if not form.is_valid():
            return pool_page(request, collection, typed=form)
        ids = form.cleaned_data["lines"]  # `clean_lines` has replaced the lines by ids of pairs
    if changed := act(collection, ids):
        messages.success(request, f"{done}: {counted(changed, 'pair')}. {effect}")
    else:
        messages.info(request, "Nothing changed: the pairs are in that state already, or they are warm-ups.")
    return redirect("progress" if request.POST.get("back") == "progress" else "pool", collection.slug)


@readers_page
def holes(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The unjudged documents of one system. An admin can ask raters for them."""
    systems = collection.systems.all()
    asked = {"depth": str(USUAL_DEPTH), "system": systems[0].pk if systems else ""} | request.GET.dict()
    return holes_page(request, collection, HolesForm(asked, collection=collection))


@record_act
def want_holes(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Want ratings of the holes of a system."""
    form = WantHolesForm(request.POST, collection=collection)
    if not form.is_valid():
        return holes_page(request, collection, form)
    sent = form.cleaned_data
    added = pooling.want_holes(collection, sent["system"], sent["depth"], sent["wanted"])
    fetch_pictures(collection, request.user)
    messages.success(request, f"{counted(added, 'rating')} newly wanted, for the holes of {sent['system']}.")
    return redirect("pool", collection.slug)


def pool_page(request: HttpRequest, collection: Collection, **forms: BaseForm) -> HttpResponse:
    """The page of the pool. `forms`: those that were sent, by their names in the template; all others are empty.

    The page shows what a valid form would do, if it asks for a pool, for more or for fewer ratings. Status 400 if
    a form is refused.
    """
    # Name of a valid form → its cleaned_data.
    valid = {name: form.cleaned_data for name, form in forms.items() if form.is_valid()}
    speed = pace(collection)
    left = ratings_left(collection)
    retired = Pair.objects.filter(query__collection=collection, retired_at__isnull=False)
    retired = retired.select_related("query", "document", "anchor").order_by("-retired_at", "-pk")
    retired = retired.defer("document__body", "document__fields")
    mixed = cost.mixed_in(collection, left)  # gold pairs and repeats that come on top
    wanted_rows = wanted_by_number(collection)
    usual = most_usual(wanted_rows)  # the forms propose it, one more and one fewer
    context = {
        **frame(collection, "pool"),
        "plan_form": forms.get("plan_form") or PlanForm(collection=collection, initial={"wanted": usual}),
        "more": forms.get("more") or MoreForm(initial={"more": usual + 1}),
        "fewer": forms.get("fewer") or FewerForm(initial={"fewer": max(1, usual - 1)}),
        "judging": forms.get("judging") or JudgingForm(instance=collection),
        "typed": forms.get("typed") or PairsForm(collection=collection),
        "wanted": wanted_rows,  # how many pairs want how many ratings
        "requested": sum(row["n"] * row["wanted"] for row in wanted_rows),
        "left": left,
        "pace": speed,  # None: it is not known
        "mixed": mixed,
        "mixed_hours": speed.hours(mixed) if speed else None,
        **paged(request, retired, ROWS_ON_PAGE),
        "systems": collection.systems.annotate(n=Count("rankings")),
    }
    if "plan_form" in valid:
        context["plan"] = plan_context(pooling.plan(collection, **valid["plan_form"]), speed)
    if "more" in valid:
        context["plan_more"] = plan_context(pooling.plan_more(collection, valid["more"]["more"]), speed)
    if "fewer" in valid:
        context["plan_fewer"] = pooling.plan_fewer(collection, valid["fewer"]["fewer"])
    return render(request, "ratings/pool.html", context, status=200 if len(valid) == len(forms) else 400)


def holes_page(request: HttpRequest, collection: Collection, form: HolesForm) -> HttpResponse:
    """The page of the unjudged documents (holes) of the chosen system.

    `form`: the one that chooses the system and, as `depth`, how many of its first places are read; or the one with
    a number of ratings to want of each hole, if it was sent and refused. The page has the holes if system and
    depth are valid.
    """
    status = 200 if form.is_valid() else 400
    context = {
        # Only admins have "pool" in the navigation.
        **frame(collection, "pool" if collection.role == Role.ADMIN else "results"),
        "form": form,
        "systems": collection.systems.all(),
        "holes": None,
    }
    if {"system", "depth"} <= form.cleaned_data.keys():
        context |= holes_context(request, collection, form.cleaned_data["system"], form.cleaned_data["depth"])
        usual_number = most_usual(wanted_by_number(collection))
        new_form = WantHolesForm(collection=collection, initial={"wanted": usual_number})
        context["want"] = form if isinstance(form, WantHolesForm) else new_form
    return render(request, "ratings/holes.html", context, status=status)


def holes_context(request: HttpRequest, collection: Collection, system: System, depth: int) -> dict:
    """The context of one page of queries with holes, and the time that it takes to rate those not wanted yet."""
    rows = pooling.holes(collection, system, depth)
    new = sum(row.new for row in rows)  # neither wanted nor retired: only these cost time
    speed = pace(collection)
    return {
        "system": system,
        "depth": depth,
        "holes": rows,
        "count": sum(len(row.holes) for row in rows),
        "asked": sum(row.wanted for row in rows),  # wanted already
        "retired": sum(row.retired for row in rows),
        "new": new,
        "hours": speed.hours(new) if speed and new else None,
        "named": HOLES_LISTED_OF_QUERY,  # so many holes of a query are listed
        "by_system": by_system(collection, depth),
        **paged(request, rows, ROWS_ON_PAGE),
    }


def by_system(collection: Collection, depth: int) -> list[tuple[System, int]]:
    """Each system with its number of holes, the most first; empty for one system, and for too many to count."""
    systems = list(collection.systems.all())
    if not 1 < len(systems) <= MOST_SYSTEMS_COUNTED:
        return []
    return pooling.holes_by_system(collection, systems, depth)


def plan_context(plan: pooling.Plan, speed: Pace | None) -> dict:
    """A plan with its hours; None if they are not known, or if it adds nothing."""
    hours = speed.hours(plan.new_ratings) if speed and plan.new_ratings else None
    return {"plan": plan, "hours": hours}


def wanted_by_number(collection: Collection) -> list[dict]:
    """Rows {"wanted": ratings of a pair, "n": pairs that want as many}."""
    pairs = Pair.objects.filter(query__collection=collection, wanted__gt=0, retired_at__isnull=True)
    return list(pairs.values("wanted").annotate(n=Count("pk")).order_by("wanted"))


def most_usual(wanted: list[dict]) -> int:
    """The commonest number of wanted ratings; 1 where none is wanted."""
    return max(wanted, key=lambda row: row["n"], default={"wanted": 1})["wanted"]

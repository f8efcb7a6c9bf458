"""The pool for admins: which pairs should be rated, what that would cost, and how they come to raters.

Every act can be looked at first: a GET says what it would do, the POST beside it does it.
"""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from .. import cost, pooling, queue
from ..access import collection_for
from ..forms import HolesForm, JudgingForm, MoreForm, PairsForm, PlanForm, WantHolesForm
from ..models import Collection, Pair, Role, System
from ..progress import Pace, left, pace

AT_ONCE = 50
USUAL_DEPTH = 10
NAMED = 5  # holes of a query


@require_safe
@never_cache
def pool(request: HttpRequest, slug: str) -> HttpResponse:
    """What is wanted now, and what a pool would do that is asked for in the address."""
    collection = collection_for(request, slug, Role.ADMIN)
    asked = PlanForm(request.GET, collection=collection) if "depth" in request.GET else None
    more = MoreForm(request.GET) if "more" in request.GET else None
    return pool_page(request, collection, asked=asked, more=more)


@require_POST
def make_pool(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request, slug, Role.ADMIN)
    form = PlanForm(request.POST, collection=collection)
    if not form.is_valid():
        return pool_page(request, collection, asked=form)
    made = pooling.pool(collection, **form.cleaned_data)
    messages.success(
        request, f"{counted(made.pairs, 'pair')} in this pool, {counted(made.new_assignments)} newly wanted."
    )
    return redirect("pool", slug)


@require_POST
def want_more(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request, slug, Role.ADMIN)
    form = MoreForm(request.POST)
    if not form.is_valid():
        return pool_page(request, collection, more=form)
    added = pooling.want_more(collection, form.cleaned_data["more"])
    messages.success(request, f"{counted(added)} newly wanted.")
    return redirect("pool", slug)


@require_POST
def save_judging(request: HttpRequest, slug: str) -> HttpResponse:
    """Keep the order of rating, the shares of gold and repeats, and the break."""
    collection = collection_for(request, slug, Role.ADMIN)
    form = JudgingForm(request.POST, instance=collection)
    if not form.is_valid():
        collection.refresh_from_db()
        return pool_page(request, collection, judging=form)
    # These fields alone: the record moves on while the form is open.
    collection.save(update_fields=list(form.fields))
    messages.success(request, "Saved. It holds from the next document on that a rater gets.")
    return redirect("pool", slug)


@require_POST
def retire(request: HttpRequest, slug: str) -> HttpResponse:
    """Take pairs out of the pool: one by its token, or those that are typed."""
    return change(request, slug, queue.retire, "Retired: {}. Nobody is given them; ratings that are there count.")


@require_POST
def bring_back(request: HttpRequest, slug: str) -> HttpResponse:
    return change(request, slug, pooling.bring_back, "Brought back: {}. What is still wanted can be rated.")


def change(request: HttpRequest, slug: str, act: Callable[[list[int]], int], said: str) -> HttpResponse:
    """Do `act` with the pairs that are meant; a list that cannot be read comes back as it was typed."""
    collection = collection_for(request, slug, Role.ADMIN)
    if "pair" in request.POST:
        ids = [pair_of(collection, request.POST["pair"]).pk]
    else:
        form = PairsForm(request.POST, collection=collection)
        if not form.is_valid():
            return pool_page(request, collection, typed=form)
        ids = form.cleaned_data["lines"]
    if changed := act(ids):
        messages.success(request, said.format(counted(changed, "pair")))
    else:
        messages.info(request, "Nothing changed: the pairs are as you want them already, or they are warm-ups.")
    return redirect("progress" if request.POST.get("back") == "progress" else "pool", slug)


@require_safe
@never_cache
def holes(request: HttpRequest, slug: str) -> HttpResponse:
    """Where one system returned documents that nobody has judged."""
    collection = collection_for(request, slug, Role.ADMIN)
    systems = collection.systems.all()
    asked = {"depth": str(USUAL_DEPTH), "system": systems[0].pk if systems else ""} | request.GET.dict()
    return holes_page(request, collection, HolesForm(asked, collection=collection))


@require_POST
def want_holes(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for ratings of what a system returned in its first places and nobody has judged."""
    collection = collection_for(request, slug, Role.ADMIN)
    form = WantHolesForm(request.POST, collection=collection)
    if not form.is_valid():
        return holes_page(request, collection, form)
    given = form.cleaned_data
    added = pooling.want_holes(collection, given["system"], given["depth"], given["wanted"])
    messages.success(request, f"{counted(added)} newly wanted of what {given['system']} returned unjudged.")
    return redirect("pool", slug)


def pool_page(
    request: HttpRequest,
    collection: Collection,
    *,
    asked: PlanForm | None = None,
    more: MoreForm | None = None,
    judging: JudgingForm | None = None,
    typed: PairsForm | None = None,
) -> HttpResponse:
    """The page with a form as it was sent, if one was, and what that would do. Refused: 400."""
    refused = [form for form in (asked, more, judging, typed) if form and not form.is_valid()]
    speed = pace(collection)
    waiting = left(collection)
    retired = Pair.objects.filter(query__collection=collection, retired_at__isnull=False)
    retired = retired.select_related("query", "document", "anchor").order_by("-retired_at", "-pk")
    retired = retired.defer("document__body", "document__fields")
    page = Paginator(retired, AT_ONCE).get_page(request.GET.get("page"))
    wanted = wanted_by_number(collection)
    usual = most_usual(wanted)
    context = {
        "collection": collection,
        "role": collection.role,
        "section": "pool",
        "asked": asked or PlanForm(collection=collection, initial={"wanted": usual}),
        "more": more or MoreForm(initial={"more": usual + 1}),
        "judging": judging or JudgingForm(instance=collection),
        "typed": typed or PairsForm(collection=collection),
        "wanted": wanted,
        "left": waiting,
        "pace": speed,
        "mixed": mixed_in(collection, waiting, speed),
        "page": page,
        "numbers": list(page.paginator.get_elided_page_range(page.number)),
        "systems": collection.systems.annotate(n=Count("rankings", filter=~Q(rankings__job__staging=True))),
    }
    if asked and asked.is_valid():
        context["plan"] = told(pooling.plan(collection, **asked.cleaned_data), speed)
    if more and more.is_valid():
        context["plan_more"] = told(pooling.plan_more(collection, more.cleaned_data["more"]), speed)
    return render(request, "ratings/pool.html", context, status=400 if refused else 200)


def holes_page(request: HttpRequest, collection: Collection, form: HolesForm) -> HttpResponse:
    """The holes of the system that is asked for. A refused form says why; what it names rightly is shown."""
    status = 200 if form.is_valid() else 400
    context = {
        "collection": collection,
        "role": collection.role,
        "section": "pool",
        "form": form,
        "systems": collection.systems.all(),
        "holes": None,
    }
    if {"system", "depth"} <= form.cleaned_data.keys():
        context |= report(request, collection, form.cleaned_data["system"], form.cleaned_data["depth"])
        usual = WantHolesForm(collection=collection, initial={"wanted": most_usual(wanted_by_number(collection))})
        context["want"] = form if "wanted" in form.fields else usual
    return render(request, "ratings/holes.html", context, status=status)


def report(request: HttpRequest, collection: Collection, system: System, depth: int) -> dict:
    """What a system returned unjudged, a page of queries at once, and what it would cost to ask for all."""
    found = pooling.holes(collection, system, depth)
    new, speed = sum(row.new for row in found), pace(collection)
    page = Paginator(found, AT_ONCE).get_page(request.GET.get("page"))
    numbers = list(page.paginator.get_elided_page_range(page.number))
    page.object_list = [
        {
            "query": row.query,
            "returned": row.returned,
            "holes": row.holes,
            "asked": sum(hole.wanted for hole in row.holes),
            "first": row.holes[:NAMED],
            "more": max(0, len(row.holes) - NAMED),
        }
        for row in page.object_list
    ]
    return {
        "system": system,
        "depth": depth,
        "holes": found,
        "count": sum(len(row.holes) for row in found),
        "asked": sum(hole.wanted for row in found for hole in row.holes),
        "retired": sum(hole.retired for row in found for hole in row.holes),
        "new": new,
        "hours": speed.hours(new) if speed and new else None,
        "page": page,
        "numbers": numbers,
    }


def told(plan: pooling.Plan, speed: Pace | None) -> dict:
    """A plan with its cost and, system by system, what it brings."""
    return {
        "plan": plan,
        "hours": speed.hours(plan.new_ratings) if speed and plan.new_ratings else None,
        "by_system": [(name, n, plan.only_by_system[name]) for name, n in plan.by_system.items()],
    }


def mixed_in(collection: Collection, waiting: int, speed: Pace | None) -> dict:
    """What gold and repeats cost: answers beside the ratings that are left, at most, and hours."""
    answers = cost.mixed_in(collection, waiting)
    return {"answers": answers, "hours": speed.hours(answers) if speed and answers else None}


def wanted_by_number(collection: Collection) -> list[dict]:
    """Rows {"wanted": ratings of a pair, "n": pairs that want as many}."""
    pairs = Pair.objects.filter(query__collection=collection, wanted__gt=0, retired_at__isnull=True)
    return list(pairs.values("wanted").annotate(n=Count("pk")).order_by("wanted"))


def most_usual(wanted: list[dict]) -> int:
    """How many ratings most pairs want; 1 where none does."""
    return max(wanted, key=lambda row: row["n"], default={"wanted": 1})["wanted"]


def pair_of(collection: Collection, token: str) -> Pair:
    """Raises Http404 for a pair of another collection and for what is no token."""
    try:
        return get_object_or_404(Pair, token=UUID(token), query__collection=collection)
    except ValueError as error:
        raise Http404("No such pair.") from error


def counted(n: int, what: str = "rating") -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"

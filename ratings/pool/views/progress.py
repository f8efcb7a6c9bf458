"""The pages of progress, for admins: counts, forecast, costs and obstacles; and one rater in detail."""

from datetime import date, timedelta
from itertools import accumulate

from django.contrib import messages
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from ...desk import queue
from ...models import Assignment, Collection, Rating
from ...people.access import admin_act, admin_page
from ...web.pages import frame
from ..progress.cost import mixed_in, work_ahead, work_so_far
from ..progress.counts import Progress, gold_answers, progress, repeats, work_of
from ..progress.forecast import forecast
from ..progress.forms import RateForm, ReleaseForm
from ..progress.stuck import stuck

LISTED = 50  # gold missed, repeats that differ and leases on the page of a rater
LONGEST_BEHIND = 90  # days back that it shows


@admin_page
def progress_page(request: HttpRequest, collection: Collection) -> HttpResponse:
    today = timezone.now().date()
    counted = progress(collection)
    paid = RateForm(request.GET if request.GET.keys() & RateForm.base_fields else None)
    context = {
        **frame(collection, "progress"),
        "progress": counted,
        "pace": counted.pace,
        "left": work_ahead(counted.extent.left, counted.pace),
        "forecast": forecast(counted, today),
        "chart": burn_up(counted, today),
        "days": by_day(counted),
        "rows": [(work, counted.hints(work)) for work in counted.works.values()],
        "stuck": stuck(collection, counted),
        "paid": paid,
        "costs": cost_rows(collection, counted, paid) if paid.has_price else None,
        "today": today,
    }
    return render(request, "ratings/progress.html", context, status=400 if paid.errors else 200)


def cost_rows(collection: Collection, counted: Progress, paid: RateForm) -> list[dict]:
    """The cost so far, of what is left with gold and repeats, and of both, at the price of a valid form."""
    left = counted.extent.left
    spent = work_so_far(counted)
    ahead = work_ahead(left + mixed_in(collection, left), counted.pace)
    rows = []
    for name, work in (("So far", spent), ("Left", ahead), ("In all", spent + ahead)):
        cost, least, most = paid.costs(work)
        is_range = least is not None and least < most
        rows.append({"name": name, "work": work, "cost": cost, "least": least if is_range else None, "most": most})
    return rows


def by_day(counted: Progress) -> list[tuple[date, int, int]]:
    """(day, grades, all grades until then), the latest first."""
    grades = counted.by_day.values()
    return list(zip(counted.by_day, grades, accumulate(grades), strict=True))[::-1]


def burn_up(counted: Progress, today: date) -> dict | None:
    """The burn-up chart in a square of 100 by 100, y downwards; None without grades.

    The line is the number of grades so far, and the top is the number at which nothing is left.
    """
    if not counted.by_day:
        return None
    # Imported grades can be years old, so the chart begins with the first grade of the last LONGEST_BEHIND days.
    since = today - timedelta(days=LONGEST_BEHIND)
    first = min((day for day in counted.by_day if since <= day <= today), default=today)
    days = (today - first).days + 1
    top = counted.graded + counted.extent.left

    def point(day: float, grades: float) -> str:
        return f"{100 * day / days:.2f},{100 - 100 * grades / top:.2f}"

    before = total = sum(n for day, n in counted.by_day.items() if day < first)
    line = [point(0, total)]
    for day, n in counted.by_day.items():
        if day >= first:
            place = min((day - first).days, days - 1)  # an import may hold a day in the future
            line += [point(place, total), point(place + 1, total + n)]
            total += n
    line.append(point(days, total))
    return {
        "line": " ".join(line),
        "area": " ".join([*line, point(days, 0), point(0, 0)]),
        "now_y": f"{100 - 100 * total / top:.2f}",
        "first": first,
        "before": before,
        "top": top,
    }


@admin_page
def rater(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """One rater: their work, missed gold, differing repeats, leases."""
    found = get_object_or_404(collection.raters.select_related("collection"), pk=pk)
    missed = gold_answers(Rating.objects.filter(rater=found)).exclude(grade=F("pair__anchor__grade"))
    differing = repeats([found.pk]).exclude(first=F("event__value")).order_by("-event")
    leases = Assignment.objects.filter(rater=found, state=Assignment.State.LEASED).order_by("leased_until", "pk")
    context = {
        **frame(collection, "progress"),
        "rater": found,
        "work": work_of(found),
        "scale": list(collection.grades.all()),
        "missed": of_pairs(missed.order_by("-created_at"), "grade", "pair__anchor__grade"),
        "differing": of_pairs(differing, "event"),
        "leases": of_pairs(leases),
        "most": LISTED,
        "now": timezone.now(),
    }
    return render(request, "ratings/rater.html", context)


def of_pairs(rows: QuerySet, *also: str) -> list:
    """The first LISTED rows, with their pairs."""
    rows = rows.select_related("pair__query", "pair__document", *also)
    return list(rows.defer("pair__document__body", "pair__document__fields")[:LISTED])


@admin_act
def release(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Give back all leases of a rater."""
    form = ReleaseForm(request.POST, collection=collection)
    if not form.is_valid():
        messages.error(request, "Nothing was given back: there is no such rater.")
        return redirect("progress", collection.slug)
    chosen = form.cleaned_data["rater"]
    if released := queue.stop(chosen):
        messages.success(
            request, f"{released:,} given back, free for others. If the rater still sends a grade, it is kept."
        )
    else:
        messages.info(request, "Nothing to give back: meanwhile it was rated or given back.")
    if form.cleaned_data["back"] == "rater":
        return redirect("rater", collection.slug, chosen.pk)
    return redirect("progress", collection.slug)

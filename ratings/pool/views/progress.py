"""The page of progress, for admins: counts, forecast, costs and obstacles."""

from datetime import date, timedelta
from itertools import accumulate

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from ...desk import queue
from ...models import Collection
from ...people.access import admin_act, admin_page
from ...web.pages import frame
from ..progress.cost import mixed_in, work_ahead, work_so_far
from ..progress.counts import Progress, progress
from ..progress.forecast import forecast
from ..progress.forms import RateForm, ReleaseForm
from ..progress.stuck import stuck

DAYS_OF_CHART = 90


@admin_page
def progress_page(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The page of progress. With a price in the address it shows costs, too."""
    today = timezone.now().date()
    counted = progress(collection)
    works_with_hints = [(work, counted.hints(work)) for work in counted.works.values()]
    # Without any of its fields in the address the form is empty, and not refused.
    price_form = RateForm(request.GET if request.GET.keys() & RateForm.base_fields else None)
    context = {
        **frame(collection, "progress"),
        "progress": counted,
        "pace": counted.pace,
        "left": work_ahead(counted.extent.left, counted.pace),
        "forecast": forecast(counted, today),
        "chart": burn_up(counted, today),
        "days": by_day(counted),
        # Raters with hints (row[1]) first, and then by name: among forty raters a hint is otherwise far down.
        "rows": sorted(works_with_hints, key=lambda row: not row[1]),
        "stuck": stuck(collection, counted),
        "paid": price_form,
        "costs": cost_rows(collection, counted, price_form) if price_form.has_price else None,
        "today": today,
    }
    return render(request, "ratings/progress.html", context, status=400 if price_form.errors else 200)


def cost_rows(collection: Collection, counted: Progress, price_form: RateForm) -> list[dict]:
    """A row for the work so far, for what is left with gold and repeats, and for both, with the cost of each.

    `price_form` is a valid form with a price.
    """
    left = counted.extent.left
    done = work_so_far(counted)
    ahead = work_ahead(left + mixed_in(collection, left), counted.pace)
    rows = []
    for name, work in (("So far", done), ("Left", ahead), ("In all", done + ahead)):
        cost, least, most = price_form.costs(work)
        if least == most:
            least = None  # the page names no interval of one point
        rows.append({"name": name, "work": work, "cost": cost, "least": least, "most": most})
    return rows


def by_day(counted: Progress) -> list[tuple[date, int, int]]:
    """(day, grades, all grades until then), the latest first."""
    grades = counted.by_day.values()
    return list(zip(counted.by_day, grades, accumulate(grades), strict=True))[::-1]


def burn_up(counted: Progress, today: date) -> dict | None:
    """The burn-up chart in a square of 100 by 100, y downwards; None without grades.

    "line": points "x,y" of the number of grades so far, at the start and the end of each day. "area": the same,
    and two corners that close it. "now_y": the y of the present number. "top": the number at the upper edge, at
    which nothing is left. "before": the number of grades before "first", the first day of the chart.
    """
    if not counted.by_day:
        return None
    # Imported grades can be years old, so the chart begins with the first grade of the last DAYS_OF_CHART days; if
    # there is none, with today.
    since = today - timedelta(days=DAYS_OF_CHART)
    first = min((day for day in counted.by_day if since <= day <= today), default=today)
    days = (today - first).days + 1
    top = counted.graded + counted.extent.left

    def point(day: float, grades: float) -> str:
        """The point of this number of grades at the start of a day, of which the first has number 0."""
        return f"{100 * day / days:.2f},{100 - 100 * grades / top:.2f}"

    before = sum(grades for day, grades in counted.by_day.items() if day < first)
    total = before
    line = [point(0, total)]
    for day, grades in counted.by_day.items():  # the earliest first
        if day >= first:
            day_number = min((day - first).days, days - 1)  # a day in the future, by an import, counts as today
            line += [point(day_number, total), point(day_number + 1, total + grades)]
            total += grades
    line.append(point(days, total))  # at the end of today
    return {
        "line": " ".join(line),
        "area": " ".join([*line, point(days, 0), point(0, 0)]),
        "now_y": f"{100 - 100 * total / top:.2f}",
        "first": first,
        "before": before,
        "top": top,
    }


@admin_act
def release(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Give back all leases of a rater."""
    form = ReleaseForm(request.POST, collection=collection)
    if not form.is_valid():
        messages.error(request, "Nothing was given back: there is no such rater.")
        return redirect("progress", collection.slug)
    rater = form.cleaned_data["rater"]
    if released := queue.stop(rater):
        outcome = f"{released:,} given back, free for others. If the rater still sends a grade, it is kept."
        messages.success(request, outcome)
    else:
        messages.info(request, "Nothing to give back: meanwhile it was rated or given back.")
    if form.cleaned_data["back"] == "rater":
        return redirect("rater", collection.slug, rater.pk)
    return redirect("progress", collection.slug)

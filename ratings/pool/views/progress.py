"""The pages of progress, for admins: counts, forecast, costs and obstacles; and one rater in detail."""

from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from django.contrib import messages
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from ...desk import queue
from ...models import Assignment, Collection, Pair, Rating
from ...people.access import admin_act, admin_page, record_act
from ...web.pages import frame
from ..progress.cost import Costs, Part, Rate, ahead, costs
from ..progress.counts import Progress, gold_answers, grades_given, progress, repeats, work_of
from ..progress.forecast import Forecast, forecast
from ..progress.forms import GiveForm, RateForm, ReleaseForm
from ..progress.stuck import stuck

LISTED = 50  # gold missed, repeats that differ and leases on the page of a rater
SHORTEST_AHEAD = 28  # days ahead that the chart may show even if fewer days lie behind
LONGEST_BEHIND = 90  # days back that it shows
NEAR = 60  # days ahead up to which a forecast names the day, not the month


@admin_page
def progress_page(request: HttpRequest, collection: Collection) -> HttpResponse:
    today = timezone.now().date()
    counted = progress(collection)
    expected = forecast(counted, today)
    paid = RateForm(request.GET if request.GET.keys() & RateForm.base_fields else None)
    context = {
        **frame(collection, "progress"),
        "progress": counted,
        "pace": counted.pace,
        "left": ahead(counted.extent.left, counted.pace),
        "forecast": forecast_sentence(expected, counted, today),
        "chart": burn_up(counted, expected, today),
        "days": by_day(counted),
        "rows": [(work, counted.hints(work)) for work in counted.works.values()],
        "stuck": stuck(collection, counted),
        "paid": paid,
        **(priced(costs(collection, counted), paid.rate) if paid.rate else {}),
        "people": list(collection.raters.able()),
        "today": today,
    }
    return render(request, "ratings/progress.html", context, status=400 if paid.errors else 200)


def priced(costs: Costs, rate: Rate) -> dict:
    """The costs as rows of a table, and three totals."""

    def row(name: str, part: Part) -> dict:
        cost, least, most = (rate.of(part.answers, hours) for hours in (part.hours, part.least, part.most))
        known = least is not None and least < most
        return {"name": name, "part": part, "cost": cost, "least": least if known else None, "most": most}

    spent = [
        row("Ratings", costs.ratings),
        row("Gold", costs.gold),
        row("Repeats", costs.repeats),
        row("Warm-ups", costs.warm_ups),
    ]
    ahead = [row("Ratings that are wanted", costs.left), row("Gold and repeats in addition, at most", costs.mixed)]
    figures = row("So far", costs.so_far), row("Left", costs.remaining), row("In all", costs.whole)
    return {"costs": costs, "spent": spent, "ahead": ahead, "figures": figures}


def forecast_sentence(expected: Forecast | str, counted: Progress, today: date) -> str:
    """The forecast as a sentence with its basis. Near dates have their day, far ones only their month."""
    if isinstance(expected, str):
        return expected
    # Two significant digits.
    pace = f"{float(f'{expected.pace:.2g}'):,.6g}"
    basis = f"At the pace of the last {expected.days} days, {pace} a day,"
    basis += f" the {counted.extent.left:,} left may be done"
    ends = expected.early, expected.late or expected.early
    near = (ends[1] - today).days <= NEAR
    early, late = (f"{day.day} {day:%B}" if near else f"{day:%B %Y}" for day in ends)
    if expected.late is None:
        return f"{basis} about {early} at the soonest; days differ too much to say the latest."
    return f"{basis} about {early}." if early == late else f"{basis} between {early} and {late}."


def by_day(counted: Progress) -> list[tuple[date, int, int]]:
    """(day, grades, all grades until then), the latest first."""
    rows, total = [], 0
    for day, n in counted.by_day.items():
        total += n
        rows.append((day, n, total))
    return rows[::-1]


def burn_up(counted: Progress, expected: Forecast | str, today: date) -> dict | None:
    """The burn-up chart in a square of 100 by 100, y downwards; None without grades.

    The line is the number of grades so far, the top is the number at which nothing is left, and the cone is the
    range of the forecast.
    """
    if not counted.by_day:
        return None
    # Imported grades can be years old. The chart shows LONGEST_BEHIND days until today, or until the last grade if
    # none is as recent, from the first grade in them.
    last = max(counted.by_day)
    end = today if last >= today - timedelta(days=LONGEST_BEHIND) else last
    first = min(day for day in counted.by_day if day >= end - timedelta(days=LONGEST_BEHIND))
    behind = max(1, (end - first).days + 1)
    ahead = 0
    if isinstance(expected, Forecast):
        ahead = min(((expected.late or date.max) - today).days, max(2 * behind, SHORTEST_AHEAD))
    top = counted.graded + counted.extent.left

    def point(day: float, grades: float) -> str:
        return f"{100 * day / (behind + ahead):.2f},{100 - 100 * grades / top:.2f}"

    before = total = sum(n for day, n in counted.by_day.items() if day < first)
    line = [point(0, total)]
    for day, n in counted.by_day.items():
        if day >= first:
            place = min((day - first).days, behind - 1)  # an import may hold a day in the future
            line += [point(place, total), point(place + 1, total + n)]
            total += n
    line.append(point(behind, total))
    return {
        "line": " ".join(line),
        "area": " ".join([*line, point(behind, 0), point(0, 0)]),
        "cone": cone(counted, expected, today, behind, ahead, point) if ahead else "",
        "now": f"{100 * behind / (behind + ahead):.2f}",
        "now_y": f"{100 - 100 * total / top:.2f}",
        "first": first,
        "end": end,
        "before": before,
        "last": today + timedelta(days=ahead) if ahead else None,
        "top": top,
    }


def cone(counted: Progress, expected: Forecast, today: date, behind: int, ahead: int, point) -> str:
    """The corners of the polygon from now to the early and the late end, cut off at the edge of the chart."""
    so_far, top = counted.graded, counted.graded + counted.extent.left

    def end(day: date | None, per_day: float) -> tuple[int, float]:
        away = (day - today).days if day else ahead + 1
        return (away, top) if away <= ahead else (ahead, min(top, so_far + max(0.0, per_day) * ahead))

    early, late = end(expected.early, expected.fast), end(expected.late, expected.slow)
    # If only the early end lies on the chart, the polygon has the corner of the chart.
    ends = [early, (ahead, top), late] if early[1] == top > late[1] else [early, late]
    return " ".join([point(behind, so_far), *(point(behind + away, grades) for away, grades in ends)])


@admin_page
def rater(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """One rater: pace and share of each grade, missed gold, differing repeats, leases."""
    found = get_object_or_404(collection.raters.select_related("collection"), pk=pk)
    missed = gold_answers(Rating.objects.filter(rater=found)).exclude(grade=F("pair__anchor__grade"))
    differing = repeats([found.pk]).exclude(first=F("event__value")).order_by("-event")
    leases = Assignment.objects.filter(rater=found, state=Assignment.State.LEASED).order_by("leased_until", "pk")
    context = {
        **frame(collection, "progress"),
        "rater": found,
        "work": work_of(found),
        "grades": grades_given(found),
        "scale": list(collection.grades.all()),
        "missed": of_pairs(missed.order_by("-created_at"), "grade", "pair__anchor__grade"),
        "differing": [Twice(row.pair, row.first, row.event.value) for row in of_pairs(differing, "event")],
        "leases": of_pairs(leases),
        "most": LISTED,
        "now": timezone.now(),
    }
    return render(request, "ratings/rater.html", context)


class Twice(NamedTuple):
    """A repeat with another grade than the first one."""

    pair: Pair
    first: Decimal
    second: Decimal


def of_pairs(rows: QuerySet, *also: str) -> list:
    """The first LISTED rows, with their pairs."""
    rows = rows.select_related("pair__query", "pair__document", *also)
    return list(rows.defer("pair__document__body", "pair__document__fields")[:LISTED])


@admin_act
def release(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Give back one lease or all of a rater, or one or all of the expired ones."""
    form = ReleaseForm(request.POST, collection=collection)
    if not form.is_valid():
        messages.error(request, "These leases no longer exist. Below is what is held now.")
        return redirect("progress", collection.slug)
    sent = form.cleaned_data
    if sent["rater"] and not sent["assignment"]:
        released = queue.release(sent["rater"])
    else:
        leases = Assignment.objects.filter(collection=collection, state=Assignment.State.LEASED)
        # Since the page was opened, another rater may have taken one of these leases; it must stay.
        own = {"rater": sent["rater"]} if sent["rater"] else {"leased_until__lt": timezone.now()}
        one = {"pk": sent["assignment"]} if sent["assignment"] else {}
        released = queue.release(list(leases.filter(**own, **one).values_list("pk", flat=True)))
    if released:
        messages.success(
            request, f"{released:,} given back, free for others. If the rater still sends a grade, it is kept."
        )
    else:
        messages.info(
            request, "Nothing to give back: meanwhile it was rated, given back, or taken by somebody else."
        )
    if sent["back"] == "rater" and sent["rater"]:
        return redirect("rater", collection.slug, sent["rater"].pk)
    return redirect("progress", collection.slug)


@record_act
def give(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Give a pair to one rater as their next task."""
    form = GiveForm(request.POST, collection=collection)
    if not form.is_valid():
        messages.error(request, "Nothing was given: choose a pair and a rater here who can rate now.")
        return redirect("progress", collection.slug)
    pair, chosen = form.cleaned_data["pair"], form.cleaned_data["rater"]
    if queue.give(pair, chosen):
        messages.success(request, f"{chosen} gets “{pair.document}” for “{pair.query.text}” next.")
    else:
        reason = f"{chosen} holds this pair or has rated it, cannot rate now, or no more ratings of it are wanted."
        messages.info(request, f"Nothing was given: {reason}")
    return redirect("progress", collection.slug)

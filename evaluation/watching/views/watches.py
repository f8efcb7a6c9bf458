"""Pages of watches: their list, one of them with its trend and files, its settings, and what is done with it."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from ratings.models import Baseline, Collection
from ratings.people.access import SignedInRequest, admin_page, readers_page, record_act
from ratings.web.downloads import made_in_turn
from ratings.web.pages import frame, paged
from ratings.words import as_sentence

from ...models import Night
from ...page.address import takes
from ...page.charts import charted
from ...page.downloads import json_response, table_response
from .. import pictures, setting_up, trend
from ..forms import WatchForm
from ..lookup import SECTION, gap_at_end, last_night, watch_of
from ..trend import ENDED

NIGHTS_ON_PAGE = 14


@readers_page
def watches(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The watches, each with its last night."""
    rows = [
        {"watch": watch, "last": last_night(watch), "gap": gap_at_end(watch)}
        for watch in collection.watches.select_related("engine")
    ]
    return render(request, "evaluation/watches.html", frame(collection, SECTION) | {"rows": rows})


@readers_page
@takes("today")
def watch(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """The page of a watch: its trend, last verdicts and nights. ?today=1 adds the means by today's judgments."""
    watch = watch_of(collection, pk)
    by_today = request.GET.get("today") == "1"
    points = trend.points(watch, today=by_today)
    told = [point for point in points if point.means]  # the nights that are no gap
    charts = pictures.charts(watch, points)
    context = frame(collection, SECTION) | {
        "watch": watch,
        "last": told[-1] if told else None,
        "gap": points[-1].night if points and points[-1].means is None else None,  # the last night, if it is a gap
        "alarms": watch.open_alarms(),
        "sides": trend.sides(watch, told[-1].verdicts if told else {}),  # both baselines, with the last verdicts
        "at_work": watch.nights.exclude(state__in=ENDED).last(),  # a night that is not over yet, or None
        "today": by_today,
        "charts": charts,
        "differences": [
            {"heading": f"Difference to {label}", "chart": charts[kind]}
            for kind, label in Baseline.Kind.choices
            if kind in charts
        ],
        **paged(request, points[::-1], NIGHTS_ON_PAGE),  # the newest first
    }
    return charted(request, "evaluation/watch.html", context)


@readers_page
@made_in_turn
@takes("raw", "today", is_page=False)
def watch_file(request: HttpRequest, collection: Collection, pk: int, ending: str) -> HttpResponse:
    """The nights as CSV, for Excel, or as JSON."""
    watch = watch_of(collection, pk)
    points = trend.points(watch, today=request.GET.get("today") == "1")
    name = f"{collection.slug}-watch-{watch.pk}"
    if ending == "json":
        return json_response(name, trend.document(watch, points))
    return table_response(request, ending, name, *trend.table(points))


@admin_page
def new_watch(request: HttpRequest, collection: Collection) -> HttpResponse:
    watch = setting_up.blank(collection)
    watch.zone = timezone.get_current_timezone_name()
    engine = collection.engines.first()
    form = WatchForm(
        instance=watch, collection=collection, initial={"name": "Nightly", "at": "03:00", "engine": engine}
    )
    return form_page(request, collection, form)


@record_act
@transaction.atomic
def make_watch(request: SignedInRequest, collection: Collection) -> HttpResponse:
    watch = setting_up.blank(collection, request.user)
    return saved(request, collection, WatchForm(request.POST, instance=watch, collection=collection))


@admin_page
def change_watch(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    return form_page(request, collection, WatchForm(instance=watch_of(collection, pk), collection=collection))


@record_act
@transaction.atomic
def save_watch(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    watch = watch_of(collection, pk)
    return saved(request, collection, WatchForm(request.POST, instance=watch, collection=collection))


@record_act
def pause_watch(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Pause the watch, or go on with it."""
    setting_up.set_up(watch_of(collection, pk), {"paused": request.POST.get("paused") == "1"})
    return redirect("watch", collection.slug, pk)


@record_act
def run_watch(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Begin a night now, beside those of the timetable."""
    try:
        night = setting_up.run(watch_of(collection, pk))
    except ValueError as error:
        messages.info(request, as_sentence(error))
    else:
        if night.state == Night.State.GAP:
            messages.error(request, "The engine cannot be asked. The last night says why.")
    return redirect("watch", collection.slug, pk)


@record_act
def remove_watch(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    watch = watch_of(collection, pk)
    setting_up.remove(watch)
    messages.success(request, f"{watch} is removed, with its nights. Documents that they brought stay.")
    return redirect("watches", collection.slug)


def saved(request: HttpRequest, collection: Collection, form: WatchForm) -> HttpResponse:
    """The watch as the form has it, planned anew; or the form with its errors."""
    if not form.is_valid():
        return form_page(request, collection, form)
    watch = setting_up.keep(form.save(commit=False))
    return redirect("watch", collection.slug, watch.pk)


def form_page(request: HttpRequest, collection: Collection, form: WatchForm) -> HttpResponse:
    context = {**frame(collection, SECTION), "form": form, "watch": form.instance, "offered": form.offered}
    return render(request, "evaluation/watch_form.html", context, status=400 if form.errors else 200)

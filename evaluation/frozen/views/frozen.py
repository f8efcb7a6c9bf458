"""Pages of frozen evaluations: their list and the line over time, one of them, its files, a new one."""

from collections.abc import Sequence
from itertools import chain, count

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_http_methods

from ratings.models import Collection
from ratings.people import audit
from ratings.people.access import READERS, of_collection, readers_page
from ratings.web import downloads, limits
from ratings.web.pages import frame

from ... import frozen
from ...charts.over_time import over_time as line_chart
from ...measures import parse_measure
from ...models import FrozenEvaluation
from ...page import options, words
from ...page.address import page, takes, with_judgments, with_options
from ...page.charts import Chart, charted
from ...page.downloads import json_response, table_response
from ...page.expecting import expecting, is_defined
from ...page.numbers import decimals
from ...record.drawn import rounds_so_far
from ...results import csv_and_json
from ...results.charts import as_row, cutoffs_of
from ...results.leader import highest, lead_of, leading
from ...scores import SUMS, Asked, Evaluation
from .. import bundle, over_time
from ..bundle import figures, latex, texts
from ..lookup import all_of, found_in

MOST_A_DAY = 50  # by one account; those of commands are not counted

# The list, and the line over time


@readers_page
@takes("line")
def frozen_list(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The list. ?line= is the label of the measure drawn over time."""
    every = list(all_of(collection))
    some = words.counted(len(every), "frozen evaluation", "frozen evaluations")
    heading = f"{some[0].upper()}{some[1:]}" if every else "Nothing is frozen yet"
    context = frame(collection, "results") | {"frozen": every, "total": len(every), "heading": heading}
    if every:
        context |= line(request, every)
    return charted(request, "evaluation/frozen.html", context)


def line(request: HttpRequest, every: Sequence[FrozenEvaluation]) -> dict:
    """The context of the line: the means over time, as chart, table and sentence."""
    labels = list(dict.fromkeys(label for each in reversed(every) for label in over_time.labels(each)))
    label = request.GET.get("line") or labels[0]
    if label not in labels:
        raise Http404("No such line.")
    points = over_time.points(every, label)
    systems = list(dict.fromkeys(row.system for point in reversed(points) for row in point.means))
    latest = {row.system: row.mean for row in points[-1].means if row.mean is not None}
    return {
        "labels": labels,
        "label": label,
        "measure": points[-1].measure,
        "systems": systems,
        "rows": table(every, points, systems),
        "left_out": len(every) - len(points),
        "lead": highest(latest) if latest else {"best": []},
        "charts": {"over_time": drawn(points, systems[0])} if len(points) > 1 else {},
    }


def table(
    every: Sequence[FrozenEvaluation], points: Sequence[over_time.Point], systems: Sequence[str]
) -> list[dict]:
    """A row for each frozen evaluation; without means where it is not on the line."""
    on_line = {point.frozen.pk: (place, point) for place, point in enumerate(points, 1)}
    rows = []
    for each in every:
        place, point = on_line.get(each.pk, (None, None))
        means = {row.system: row for row in point.means} if point else {}
        rows.append(
            {
                "frozen": each,
                "about": frozen.about(each),
                "ran": len(frozen.settings_of(each).systems),
                "place": place,
                "changed": point.changed if point else [],
                "means": [means.get(name) for name in systems],
            }
        )
    return rows


def drawn(points: Sequence[over_time.Point], leader: str) -> Chart:
    """The chart of the means over time, with marks where guidelines, scale or systems changed."""
    measure = points[-1].measure
    rows = [
        as_row(
            row, "mean", "low", "high", "queries", place=place, name=point.frozen.name, leader=row.system == leader
        )
        for place, point in enumerate(points, 1)
        for row in point.means
        if row.mean is not None
    ]
    marks = [
        {"place": place - 0.5, "what": ", ".join(point.changed)}
        for place, point in enumerate(points, 1)
        if point.changed
    ]
    ends = [
        f"{point.frozen.name}: " + ", ".join(f"{row.system} {decimals(row.mean)}" for row in point.means)
        for point in (points[0], points[-1])
    ]
    alt_text = f"Mean {measure} of each system over {len(points)} frozen evaluations. {'. '.join(ends)}."
    bounded = parse_measure(measure).name not in SUMS
    return Chart("over-time", line_chart(rows, marks, bounded=bounded), alt_text)


# One of them


@readers_page
@takes()
def frozen_evaluation(request: HttpRequest, collection: Collection, sha: str) -> HttpResponse:
    found = found_in(collection, sha)
    evaluation, asked, told = frozen.evaluation_of(found), frozen.settings_of(found), frozen.about(found)
    measure, standings = evaluation.measures[0], evaluation.standings
    pictured = figures.figures(evaluation)
    before = all_of(collection).filter(created_at__lt=found.created_at).order_by("-created_at", "-pk").first()
    context = frame(collection, "results") | {
        "frozen": found,
        "about": told,
        "before": before,
        "measure": str(measure),
        "degree": words.degree(measure),
        "asked": evaluation.asked,
        "evaluation": evaluation,
        "standings": standings,
        # All systems are tested, as in the paragraph on methods: with fewer, a verdict could be another one.
        "lead": leading(evaluation, len(standings)),
        "queries": len(evaluation.table.record.queries),
        "label": f"{measure} {evaluation.plain_fingerprint_of(measure)}",
        "told": evaluation.expected.get(measure),
        "described": options.in_force(asked.asked),
        "others": others(evaluation),
        "figures": [figure for figure in pictured if figure.name != "means"],
        "charts": {figure.name: figure.chart for figure in pictured},
        "methods": texts.methods(found, evaluation, bundle.comparisons(evaluation)),
        "latex": latex.table(found, evaluation),
        "files": frozen.files_of(found),
        "bundle_name": bundle.file_name(found),
    }
    return charted(request, "evaluation/frozen_one.html", context)


def others(evaluation: Evaluation) -> dict:
    """The means of the other measures, a row for each system."""
    return {"measures": evaluation.measures[1:], "rows": evaluation.across(evaluation.measures[1:])}


@readers_page
@downloads.made_in_turn
@takes("raw", is_page=False)
def frozen_file(
    request: HttpRequest, collection: Collection, sha: str, ending: str, what: str = ""
) -> HttpResponse:
    """The table `what`, "means" or "queries", as CSV or for Excel; or the JSON of `evaluate --per-query`."""
    found = found_in(collection, sha)
    evaluation = frozen.evaluation_of(found)
    name = bundle.file_name(found).removesuffix(".zip")
    if ending == "json":
        return json_response(f"{name}-evaluation", csv_and_json.document(evaluation, per_query=True))
    table = {"means": csv_and_json.means, "queries": csv_and_json.every_query}[what]
    return table_response(request, ending, f"{name}-{what}", *table(evaluation))


@readers_page
@downloads.made_in_turn
def frozen_bundle(request: HttpRequest, collection: Collection, sha: str) -> HttpResponse:
    """The bundle as ZIP, or a page that says why there is none."""
    found = found_in(collection, sha)
    try:
        file = downloads.whole(bundle.bundle(found))
    except frozen.Broken as error:
        context = frame(found.collection, "results") | {"frozen": found, "error": str(error)}
        return render(request, "evaluation/frozen_broken.html", context, status=500)
    audit.note(audit.Act.EXPORTED, collection, about=bundle.file_name(found))
    return downloads.sent(file, bundle.file_name(found))


# A new one


class FreezeForm(forms.Form):
    name = forms.CharField(max_length=frozen.NAME_LENGTH, help_text="People and commands find it by this name.")
    note = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Why it is frozen, or what is special about it. Its page and its bundle show this note.",
    )
    expected = forms.BooleanField(
        required=False,
        label="Expected values, too",
        help_text="With the rounds that they rest on, so that the bundle can be computed again.",
    )

    def __init__(self, *args, rounds: int, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        if not rounds:
            del self.fields["expected"]

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())


@require_http_methods(["GET", "HEAD", "POST"])
@of_collection(*READERS)
@with_options()
def freeze(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The form, which says what is frozen: what the overview shows with these options. A POST freezes it."""
    evaluation = with_judgments(collection, asked)
    if not evaluation.systems or not evaluation.judgments.count.any():
        messages.warning(request, "There are no numbers yet that could be frozen.")
        return redirect("overview", collection.slug)
    measures = dict.fromkeys([asked.measure, *asked.cumulative, *cutoffs_of(evaluation)])
    name = f"{asked.measure}, {date_format(timezone.now(), 'j F Y')}"
    initial = {"name": free_name(collection, name), "expected": is_defined(asked)}
    expected = expecting(collection, asked, rounds_so_far(collection))
    form = FreezeForm(request.POST or None, initial=initial, rounds=expected.rounds)
    if request.method == "POST" and form.is_valid():
        try:
            return frozen_now(request, collection, asked, list(measures), **form.cleaned_data)
        except frozen.NameTaken:
            form.add_error("name", "Another frozen evaluation of this collection has this name.")
        except ValueError as error:
            form.add_error(None, f"Nothing was frozen: {error}")
    context = page(request, collection, "results", asked) | {
        "freeze_form": form,
        "lead": lead_of(collection, evaluation, expected),
        "queries": len(evaluation.table.record.queries),
        "described": options.in_force(asked),
        "measures": list(map(str, measures)),
        "systems": evaluation.names,
        "judgments": len(evaluation.judgments.grade),
    }
    return render(request, "evaluation/freeze.html", context, status=400 if form.errors else 200)


def free_name(collection: Collection, name: str) -> str:
    """The name, with a number where frozen evaluations of the collection have it."""
    taken = set(collection.frozen_evaluations.filter(name__startswith=name).values_list("name", flat=True))
    numbered = (f"{name} ({number})" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


def frozen_now(request: HttpRequest, collection: Collection, asked: Asked, beside: list, **fields) -> HttpResponse:
    """Freezes, and leads to the page of what is frozen. fields: those of FreezeForm."""
    limits.refuse_over(
        MOST_A_DAY, "frozen evaluations", FrozenEvaluation.objects.filter(created_by=request.user.pk)
    )
    found, new = frozen.freeze(collection, asked=asked, beside=beside, by=request.user, **fields)
    if new:
        messages.success(request, f"Frozen as “{found.name}”. It never changes.")
    else:
        day = date_format(found.created_at, "j F Y")
        messages.info(
            request, f"The same content is already frozen as “{found.name}” since {day}. Nothing was made."
        )
    return redirect("frozen_evaluation", collection.slug, found.short)

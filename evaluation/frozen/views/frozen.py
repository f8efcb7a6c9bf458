"""Pages of frozen evaluations: their list and the line over time, one of them, its files, a new one."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from django import forms
from django.conf import settings
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
from ...models import FrozenEvaluation, FrozenLink
from ...page import options, words
from ...page.address import evaluated, page, takes, with_options
from ...page.charts import Chart, charted
from ...page.downloads import json_response, table_response
from ...page.numbers import decimals
from ...results import csv_and_json
from ...results.charts import as_row, cutoffs_of
from ...results.leader import highest, lead_of, leading
from ...scores import SUMS, Asked
from ...scores.expected import expecting, is_defined
from .. import bundle, over_time
from ..bundle import figures, latex, texts
from ..lookup import all_of, frozen_with

MOST_A_DAY = 50  # by one account; those of commands are not counted

# The list, and the line over time


@readers_page
@takes("line")
def frozen_list(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The list. ?line= is the label of the measure drawn over time."""
    evaluations = list(all_of(collection))
    context = frame(collection, "results") | {"frozen": evaluations, "total": len(evaluations)}
    if evaluations:
        context |= means_over_time(request, evaluations)
    return charted(request, "evaluation/frozen.html", context)


def means_over_time(request: HttpRequest, evaluations: Sequence[FrozenEvaluation]) -> dict:
    """The context of the means over time, as chart, table and sentence.

    evaluations: one or more, the oldest first. The means are those of the measure and options that ?line= names,
    by default the first ones of the newest evaluation. Evaluations without these are not in the chart.
    """
    # Labels are measures with their options, those of the newest evaluation first.
    all_labels = [label for stored in reversed(evaluations) for label in over_time.labels(stored)]
    labels = list(dict.fromkeys(all_labels))  # each once
    label = request.GET.get("line") or labels[0]
    if label not in labels:
        raise Http404("No such line.")
    points = over_time.points(evaluations, label)  # one at least, since the label is of one of them
    latest = points[-1]
    # A point has its highest mean first. With the latest point first, the leader of today comes before all others.
    all_systems = [standing.system for point in reversed(points) for standing in point.means]
    systems = list(dict.fromkeys(all_systems))  # each once
    latest_means = {row.system: row.mean for row in latest.means if row.mean is not None}
    return {
        "labels": labels,
        "label": label,
        "measure": latest.measure,
        "systems": systems,
        "rows": rows_of_table(evaluations, points, systems),
        "left_out": len(evaluations) - len(points),  # how many are not in the chart
        "lead": highest(latest_means) if latest_means else {"best": []},
        "charts": {"over_time": chart_over_time(points, leader=systems[0])} if len(points) > 1 else {},
    }


def rows_of_table(
    evaluations: Sequence[FrozenEvaluation], points: Sequence[over_time.Point], systems: Sequence[str]
) -> list[dict]:
    """A row for each frozen evaluation, with its means in the order of `systems`.

    place: the number of its point in the chart, from 1; changed: what changed since the point before. An
    evaluation that is not among `points`, and so not in the chart, has neither of them, and None for each mean.
    """
    rows = {}  # by pk
    for stored in evaluations:
        rows[stored.pk] = {
            "frozen": stored,
            "about": frozen.about(stored),
            "ran": len(frozen.settings_of(stored).systems),  # the number of its systems
            "means": [None] * len(systems),
        }
    for place, point in enumerate(points, 1):
        standing_of = {standing.system: standing for standing in point.means}
        means = [standing_of.get(name) for name in systems]
        rows[point.frozen.pk] |= {"place": place, "changed": point.changed, "means": means}
    return list(rows.values())


def chart_over_time(points: Sequence[over_time.Point], leader: str) -> Chart:
    """The chart of the means over time, with marks where guidelines, scale or systems changed.

    points: the oldest first; leader: the system that is drawn with emphasis.
    """
    measure = points[-1].measure
    rows, marks = [], []
    for place, point in enumerate(points, 1):
        if point.changed:
            # Halfway between this point and the one before.
            marks.append({"place": place - 0.5, "what": ", ".join(point.changed)})
        about_point = {"place": place, "name": point.frozen.name}
        for standing in point.means:
            if standing.mean is not None:
                is_leader = standing.system == leader
                rows.append(as_row(standing, "mean", "low", "high", "queries", **about_point, leader=is_leader))
    first, last = means_in_words(points[0]), means_in_words(points[-1])
    alt_text = f"Mean {measure} of each system over {len(points)} frozen evaluations. {first}. {last}."
    bounded = parse_measure(measure).name not in SUMS
    return Chart("over-time", line_chart(rows, marks, bounded=bounded), alt_text)


def means_in_words(point: over_time.Point) -> str:
    means = ", ".join(f"{standing.system} {decimals(standing.mean)}" for standing in point.means)
    return f"{point.frozen.name}: {means}"


# One of them


@readers_page
@takes()
def frozen_evaluation(request: HttpRequest, collection: Collection, sha: str) -> HttpResponse:
    """The page of one frozen evaluation, with the numbers that were stored."""
    stored = frozen_with(collection, sha)
    evaluation = frozen.evaluation_of(stored)
    measure, *other_measures = evaluation.measures
    all_charts = figures.figures(evaluation)
    context = frame(collection, "results") | {
        "frozen": stored,
        "about": frozen.about(stored),
        "before": all_of(collection).filter(created_at__lt=stored.created_at).last(),  # to compare with; or None
        "measure": str(measure),
        "degree": words.degree(measure),  # better and worse, or higher and lower
        "asked": evaluation.asked,
        "evaluation": evaluation,
        "standings": evaluation.standings,
        # All systems are tested, as in the paragraph on methods: with fewer, a verdict could be another one.
        "lead": leading(evaluation, len(evaluation.systems)),
        "label": evaluation.label,
        "expected_means": evaluation.expected.get(measure),  # if they were frozen
        "described": options.in_force(frozen.settings_of(stored).asked),
        "other_measures": other_measures,
        "other_means": evaluation.across(other_measures),
        # The figures at the end of the page. The chart of means stands above them, with the table of means.
        "figures": [chart for chart in all_charts if chart.id != "means"],
        "charts": {chart.id: named(chart, stored) for chart in all_charts},
        "link": FrozenLink.objects.filter(frozen=stored).first(),
        "links": settings.SHARED_LINKS,  # whether links for people without an account are switched on
        "methods": texts.methods(stored, evaluation, bundle.comparisons(evaluation)),
        "latex": latex.table(stored, evaluation),
        "files": frozen.files_of(stored),
        "bundle_name": bundle.file_name(stored),
    }
    return charted(request, "evaluation/frozen_one.html", context)


def named(chart: Chart, stored: FrozenEvaluation) -> Chart:
    """The chart with the title and the caption of its picture file."""
    name = bundle.file_name(stored).removesuffix(".zip")
    return chart.titled(f"{stored.name}: {chart.title}", chart.caption, name)


@readers_page
@downloads.made_in_turn
@takes("raw", is_page=False)  # raw: see `table_response`
def frozen_file(
    request: HttpRequest, collection: Collection, sha: str, ending: str, what: str = ""
) -> HttpResponse:
    """The table `what`, "means" or "queries", as CSV or for Excel; or the JSON of `evaluate --per-query`.

    ending: of the file, which says the format. JSON has no `what`.
    """
    stored = frozen_with(collection, sha)
    evaluation = frozen.evaluation_of(stored)
    name = bundle.file_name(stored).removesuffix(".zip")
    if ending == "json":
        return json_response(f"{name}-evaluation", csv_and_json.document(evaluation, per_query=True))
    table = {"means": csv_and_json.means, "queries": csv_and_json.every_query}[what]
    return table_response(request, ending, f"{name}-{what}", *table(evaluation))


@readers_page
@downloads.made_in_turn
def frozen_bundle(request: HttpRequest, collection: Collection, sha: str) -> HttpResponse:
    """The bundle as ZIP, or a page that says why there is none."""
    stored = frozen_with(collection, sha)
    try:
        file = downloads.whole_file(bundle.bundle(stored))
    except frozen.Broken as error:
        context = frame(collection, "results") | {"frozen": stored, "error": str(error)}
        return render(request, "evaluation/frozen_broken.html", context, status=500)
    audit.note(audit.Act.EXPORTED, collection, about=bundle.file_name(stored))
    return downloads.sent(file, bundle.file_name(stored))


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

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())


@require_http_methods(["GET", "HEAD", "POST"])
@of_collection(*READERS)
@with_options()
def freeze(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The form to freeze what the overview shows with these options; a POST freezes it.

    Frozen are the asked measure, CG, DCG and IDCG at its cutoff, and the measure at the cutoffs of its curve.
    """
    evaluation = evaluated(collection, asked, judgments=True)  # with the judgments, which are counted below
    if not evaluation.systems or not evaluation.judgments.count.any():
        messages.warning(request, "There are no numbers yet that could be frozen.")
        return redirect("overview", collection.slug)
    measures = list(dict.fromkeys([asked.measure, *asked.cumulative, *cutoffs_of(evaluation)]))
    name = free_name(collection, f"{asked.measure}, {date_format(timezone.now(), 'j F Y')}")
    expected = expecting(collection, asked)  # the expected values of the page, or why there are none
    form = FreezeForm(request.POST or None, initial={"name": name, "expected": is_defined(asked)})
    if not expected.rounds:  # expected values need rounds of pairs that were drawn with known chances
        del form.fields["expected"]
    if request.method == "POST" and form.is_valid():
        try:
            return frozen_now(request, collection, asked, measures, **form.cleaned_data)
        except frozen.NameTaken:
            form.add_error("name", "Another frozen evaluation of this collection has this name.")
        except ValueError as error:
            form.add_error(None, f"Nothing was frozen: {error}")
    context = page(request, collection, "results", asked) | {
        "freeze_form": form,
        # The sentence on the best system, by expected means where the overview shows these first.
        "lead": lead_of(collection, replace(evaluation, expecting=expected)),
        "queries": len(evaluation.table.record.queries),
        "described": options.in_force(asked),
        "measures": list(map(str, measures)),
        "label": evaluation.label,
        "systems": evaluation.names,
        "judgments": len(evaluation.judgments.grade),
    }
    return render(request, "evaluation/freeze.html", context, status=400 if form.errors else 200)


def free_name(collection: Collection, name: str) -> str:
    """The name, with a number where frozen evaluations of the collection have it."""
    taken = set(collection.frozen_evaluations.filter(name__startswith=name).values_list("name", flat=True))
    numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
    return next(each for each in numbered if each not in taken)


def frozen_now(request: HttpRequest, collection: Collection, asked: Asked, beside: list, **fields) -> HttpResponse:
    """Freezes the evaluation, and leads to the page of what is frozen: the new one, or an equal one made before.

    beside: the other measures to freeze; fields: the valid fields of FreezeForm.
    """
    frozen_by_account = FrozenEvaluation.objects.filter(created_by=request.user.pk)
    limits.refuse_above(MOST_A_DAY, "frozen evaluations", frozen_by_account)
    stored, is_new = frozen.freeze(collection, asked=asked, beside=beside, by=request.user, **fields)
    if is_new:
        messages.success(request, f"Frozen as “{stored.name}”. It never changes.")
    else:
        day = date_format(stored.created_at, "j F Y")
        message = f"The same content is already frozen as “{stored.name}” since {day}. Nothing was made."
        messages.info(request, message)
    return redirect("frozen_evaluation", collection.slug, stored.short)

"""The pages of judges: their versions, runs with an estimate before them, and the call log."""

from typing import Any

from django.contrib import messages
from django.db.models import Count, Max
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from ..importing.job_pages import no_worker_warning
from ..models import Collection, Judge, JudgeRun, JudgeUse, MachineGrade, probe_results, short_value
from ..people.access import admin_act, admin_page, record_act, refusal_if_away
from ..people.audit import Act, note
from ..web import downloads
from ..web.pages import frame, paged
from ..words import as_sentence
from . import call_log, choosing, gate, runs, uses, versions
from . import sample as samples
from .forms import JudgeForm, ProbesForm, ResumeForm, RunForm, SampleForm, StartForm, UseForm, VersionForm

AT_ONCE = 50
RUNS = 20  # of a judge that are listed, the latest first


@admin_page
def judges(request: HttpRequest, collection: Collection) -> HttpResponse:
    return judges_page(request, collection, JudgeForm())


@record_act
def make_judge(request: HttpRequest, collection: Collection) -> HttpResponse:
    form = JudgeForm(request.POST)
    if form.is_valid():
        try:
            made = versions.make_judge(collection, form.cleaned_data["name"], request.user)
            return redirect("judge", collection.slug, made.pk)
        except ValueError as error:
            form.add_error("name", as_sentence(error))
    return judges_page(request, collection, form, status=400)


def judges_page(request: HttpRequest, collection: Collection, form: JudgeForm, status: int = 200) -> HttpResponse:
    counted = collection.judges.annotate(
        n=Count("versions", distinct=True),
        runs=Count("versions__runs", distinct=True),
        at=Max("versions__created_at"),
    )
    context = frame(collection, "judges") | paged(request, counted.order_by("name"), AT_ONCE)
    return render(request, "ratings/judges.html", context | {"form": form}, status=status)


@admin_page
def judge(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """One judge; with `choice` in the address, also the estimated cost of a run."""
    own = judge_of(collection, pk)
    plans = "choice" in request.GET and not collection.put_away_at  # a run would be refused
    asked = RunForm(request.GET, judge=own) if plans else None
    return judge_page(request, own, run=asked)


@record_act
def make_judge_version(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    own = judge_of(collection, pk)
    form = VersionForm(request.POST, collection=collection)
    if form.is_valid():
        try:
            made, new = versions.make_version(own, form.version_settings, request.user)
            outcome = " is made." if new else " is exactly this already, so none was made."
            messages.success(request, f"Version {made.number}{outcome}")
            return redirect("judge", collection.slug, own.pk)
        except ValueError as error:
            form.add_error(None, as_sentence(error))
    return judge_page(request, own, version=form)


@record_act
def draw_judge_sample(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    own = judge_of(collection, pk)
    form = SampleForm(request.POST)
    if form.is_valid():
        try:
            drawn = samples.draw(own, **form.cleaned_data, by=request.user)
            n = drawn.pairs.count()
            messages.success(request, f"Drawn: {n:,} pair{'' if n == 1 else 's'} of the pool.")
            return redirect("judge", collection.slug, own.pk)
        except ValueError as error:
            form.add_error(None, as_sentence(error))
    return judge_page(request, own, sample=form)


@record_act
def take_judge_sample(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Use the pairs that people rated as the sample."""
    own = judge_of(collection, pk)
    try:
        samples.take_rated(own, request.user)
        messages.success(
            request, "Taken. The judge is measured on these pairs, which are no random sample of the pool."
        )
    except ValueError as error:
        messages.error(request, as_sentence(error))
    return redirect("judge", collection.slug, own.pk)


@record_act
def drop_judge_sample(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Delete the samples of the judge, so that an import can be undone."""
    own = judge_of(collection, pk)
    if samples.drop(own):
        messages.success(request, "Dropped. Ratings and the judge's grades stay; its agreement is unknown again.")
    else:
        messages.info(request, "Nothing changed: the judge has no sample.")
    return redirect("judge", collection.slug, own.pk)


@record_act
def use_judge(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Switch the use of a version's grades on, or off."""
    own = judge_of(collection, pk)
    form = UseForm(request.POST, judge=own)
    if not form.is_valid():
        raise Http404("There is no such use or version.")
    use, version = form.cleaned_data["use"], form.cleaned_data["version"]
    try:
        if version is None:
            changed = uses.switch_off(own, use)
            messages.success(request, "Its grades are no longer used for this." if changed else "Nothing changed.")
        else:
            uses.switch_on(version, use, request.user)
            messages.success(request, f"The grades of version {version.number} are used from now on.")
    except ValueError as error:
        messages.error(request, as_sentence(error))
    return redirect("judge", collection.slug, own.pk)


@record_act
def start_judge_run(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    own = judge_of(collection, pk)
    return start_run(request, own, run=StartForm(request.POST, judge=own))


@record_act
def start_probes(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    own = judge_of(collection, pk)
    return start_run(request, own, probes=ProbesForm(request.POST, judge=own))


def start_run(request: HttpRequest, own: Judge, **named: Any) -> HttpResponse:
    """Start the run of the one form, by its name on the page, and show the run; a refused form comes back."""
    (form,) = named.values()
    if form.is_valid():
        version = form.cleaned_data["version"]
        try:
            run = runs.start(version, form.chosen, form.options, form.limits, request.user)
            return redirect("judge_run", own.collection.slug, run.pk)
        except ValueError as error:
            form.add_error(None, as_sentence(error))
    return judge_page(request, own, **named)


def judge_page(
    request: HttpRequest,
    own: Judge,
    *,
    version: VersionForm | None = None,
    run: RunForm | None = None,
    sample: SampleForm | None = None,
    probes: ProbesForm | None = None,
) -> HttpResponse:
    """The page, with a form as it was sent. Status 400 if the form is refused."""
    collection, made = own.collection, list(own.versions.all())
    refused = [form for form in (version, run, sample, probes) if form and not form.is_valid()]
    latest = own.samples.annotate(n=Count("pairs")).order_by("-pk").first()
    context = {
        **frame(collection, "judges"),
        "judge": own,
        "versions": made,
        "runs": JudgeRun.objects.filter(version__judge=own).select_related("version")[:RUNS],
        "sample": latest,
        "unrated": latest.unrated() if latest else 0,
        "sample_form": sample or SampleForm(),
        "version_form": version or VersionForm(collection=collection, latest=made[0] if made else None),
        "run_form": run or RunForm(judge=own),
        "probes_form": probes or ProbesForm(judge=own),
        "uses": uses_of(own),
        "can_run": any(each.endpoint for each in made),
        "probed": probe_results(collection, made),
        "least": short_value(collection.relevant_from),
    }
    if run and run.is_valid():
        context |= run_estimate(run)
    status = 400 if refused or context.get("problem") else 200
    return render(request, "ratings/judge.html", context, status=status)


def uses_of(own: Judge) -> list[dict]:
    """Each use with the version that is used for it now, and the form to change that."""
    now = {row.use: row for row in own.uses.select_related("version", "by")}
    return [
        {
            "label": label,
            "use": use,
            "now": now.get(use),
            "form": UseForm(
                judge=own,
                auto_id=f"id_{use}_%s",
                initial={"use": use, "version": now[use].version_id if use in now else None},
            ),
        }
        for use, label in JudgeUse.Use.choices
    ]


def run_estimate(form: RunForm) -> dict:
    """The context of a valid form: the estimated cost of the run, or the problem that keeps it from starting.

    The form to start it proposes twice the estimate as caps.
    """
    sent = form.cleaned_data
    version, choice = sent["version"], sent["choice"]
    if problem := gate.refusal(version.judge, choice):
        return {"problem": as_sentence(problem)}
    try:
        estimate = choosing.estimate(version, choice, form.options, sent["concurrency"])
    except ValueError as error:
        return {"problem": as_sentence(error)}
    caps = {
        "most_calls": max(1, 2 * estimate.calls),
        "most_cost": 2 * estimate.cost or None,  # no cap where the version has no prices
    }
    start = StartForm(initial=sent | {"version": version.pk} | caps, judge=version.judge)
    return {"plan": estimate, "start": start, "hours": estimate.seconds / 3600}


@admin_page
def judge_run(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """One run: its progress and its call log, filtered by `problem` in the address."""
    run = run_of(collection, pk)
    return run_page(request, collection, run, ResumeForm())


def run_page(request: HttpRequest, collection: Collection, run: JudgeRun, form: ResumeForm) -> HttpResponse:
    rows = run.answers.select_related("query").defer("query__fields").order_by("pk")
    if rows.model is MachineGrade:
        rows = rows.select_related("query", "document").defer("document__body", "document__fields")
    asked = request.GET.get("problem", "")
    if asked in MachineGrade.Problem.values:
        rows = rows.filter(problem=asked)
    elif asked:
        raise Http404("There is no such reason.")
    problems = run.answers.exclude(problem="").order_by().values("problem").annotate(n=Count("pk")).order_by("-n")
    labels = dict(MachineGrade.Problem.choices)
    context = {
        **frame(collection, "judges"),
        "run": run,
        "judge": run.version.judge,
        "form": form,
        "share": (run.graded + run.ungraded) / run.pairs if run.pairs else 1,
        "problems": [row | {"label": labels[row["problem"]]} for row in problems],
        "asked": labels.get(asked, ""),
        "models": list(run.answers.exclude(model="").order_by("model").values_list("model", flat=True).distinct()),
        "no_worker": no_worker_warning() if run.state in (JudgeRun.State.QUEUED, JudgeRun.State.RUNNING) else "",
        **paged(request, rows, AT_ONCE),
    }
    return render(request, "ratings/judge_run.html", context, status=400 if form.errors else 200)


@admin_act
def change_judge_run(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Pause, resume or cancel the run. While the collection is put away, it can only be stopped."""
    run, act = run_of(collection, pk), request.POST.get("act")
    if act == "resume":
        if refused := refusal_if_away(request, collection):
            return refused
        form = ResumeForm(request.POST)
        try:
            changed = form.is_valid() and runs.resume(run, **form.cleaned_data)
        except ValueError as error:
            form.add_error(None, as_sentence(error))
        if form.errors:
            return run_page(request, collection, run, form)
        outcome = "It continues as soon as a worker is free."
    elif act == "pause":
        changed, outcome = runs.pause(run), "Paused. The answers of calls under way are still kept."
    elif act == "cancel":
        changed, outcome = runs.cancel(run), "Cancelled. The answers so far stay in the log."
    else:
        raise Http404("A run is paused, resumed or cancelled.")
    if changed:
        messages.success(request, outcome)
    else:
        messages.warning(request, "Nothing changed. The state of the run did not allow it.")
    return redirect("judge_run", collection.slug, run.pk)


@admin_page
@downloads.made_in_turn
def judge_log(request: HttpRequest, collection: Collection, pk: int, format: str) -> HttpResponse:
    """The call log of a run as CSV or JSON lines."""
    run = run_of(collection, pk)
    if format not in call_log.FORMATS:
        raise Http404("There is no such format.")
    file = downloads.whole(call_log.FORMATS[format](call_log.rows(run.answers.all())))
    name = f"{collection.slug}-run-{run.pk}.{format}"
    note(Act.EXPORTED, collection, about=name)
    return downloads.sent(file, name)


def judge_of(collection: Collection, pk: int) -> Judge:
    own = get_object_or_404(Judge, collection=collection, pk=pk)
    own.collection = collection  # it carries the role of the signed-in person
    return own


def run_of(collection: Collection, pk: int) -> JudgeRun:
    rows = JudgeRun.objects.select_related("version__judge__collection", "by")
    return get_object_or_404(rows, version__judge__collection=collection, pk=pk)

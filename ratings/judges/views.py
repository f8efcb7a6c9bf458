"""The pages of judges: their versions, runs with an estimate before them, and the call log."""

from typing import Any

from django.contrib import messages
from django.db.models import Count, Max
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from ..importing.job_pages import no_worker_warning
from ..models import Collection, Judge, JudgeRun, JudgeUse, MachineGrade, probe_results, short_value
from ..people.access import admin_act, admin_page, record_act, refusal_if_away
from ..people.audit import Act, note
from ..web import downloads
from ..web.forms import errors_into
from ..web.pages import frame, paged
from ..words import as_sentence, counted
from . import call_log, choosing, gate, runs, uses, versions
from . import sample as samples
from .forms import JudgeForm, ProbesForm, ResumeForm, RunForm, SampleForm, StartForm, UseForm, VersionForm

ROWS_PER_PAGE = 50
MOST_RUNS_LISTED = 20  # of a judge, the latest first


@admin_page
def judges(request: HttpRequest, collection: Collection) -> HttpResponse:
    return judges_page(request, collection, JudgeForm())


@record_act
def make_judge(request: HttpRequest, collection: Collection) -> HttpResponse:
    form = JudgeForm(request.POST)
    if form.is_valid():
        with errors_into(form, "name"):
            made = versions.make_judge(collection, form.cleaned_data["name"], request.user)
            return redirect("judge", collection.slug, made.pk)
    return judges_page(request, collection, form, status=400)


def judges_page(request: HttpRequest, collection: Collection, form: JudgeForm, status: int = 200) -> HttpResponse:
    rows = collection.judges.annotate(
        n=Count("versions", distinct=True),
        runs=Count("versions__runs", distinct=True),
        at=Max("versions__created_at"),
    )
    context = frame(collection, "judges") | paged(request, rows.order_by("name"), ROWS_PER_PAGE)
    return render(request, "ratings/judges.html", context | {"form": form}, status=status)


@admin_page
def judge(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """One judge; with `choice` in the address, also the estimated cost of a run."""
    shown = judge_of(collection, pk)
    wants_estimate = "choice" in request.GET and not collection.put_away_at  # a run would be refused
    return judge_page(request, shown, RunForm(request.GET, judge=shown) if wants_estimate else None)


@record_act
def make_judge_version(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    judge = judge_of(collection, pk)
    form = VersionForm(request.POST, collection=collection)
    if form.is_valid():
        with errors_into(form):
            version, is_new = versions.make_version(judge, form.version_settings, request.user)
            outcome = " is made." if is_new else " is exactly this already, so none was made."
            messages.success(request, f"Version {version.number}{outcome}")
            return redirect("judge", collection.slug, judge.pk)
    return judge_page(request, judge, form)


@record_act
def draw_judge_sample(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    judge = judge_of(collection, pk)
    form = SampleForm(request.POST)
    if form.is_valid():
        with errors_into(form):
            drawn = samples.draw(judge, **form.cleaned_data, by=request.user)
            messages.success(request, f"Drawn: {counted(drawn.pairs.count(), 'pair')} of the pool.")
            return redirect("judge", collection.slug, judge.pk)
    return judge_page(request, judge, form)


@record_act
def take_judge_sample(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Use the pairs that people rated as the sample."""
    judge = judge_of(collection, pk)
    try:
        samples.take_rated(judge, request.user)
        messages.success(
            request, "Taken. The judge is measured on these pairs, which are no random sample of the pool."
        )
    except ValueError as error:
        messages.error(request, as_sentence(error))
    return redirect("judge", collection.slug, judge.pk)


@record_act
def drop_judge_sample(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Delete the samples of the judge, so that an import can be undone."""
    judge = judge_of(collection, pk)
    if samples.drop(judge):
        messages.success(request, "Dropped. Ratings and the judge's grades stay; its agreement is unknown again.")
    else:
        messages.info(request, "Nothing changed: the judge has no sample.")
    return redirect("judge", collection.slug, judge.pk)


@record_act
def use_judge(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Switch a use on for the grades of the version in the form, or off if the form has no version."""
    judge = judge_of(collection, pk)
    form = UseForm(request.POST, judge=judge)
    if not form.is_valid():
        raise Http404("There is no such use or version.")
    use, version = form.cleaned_data["use"], form.cleaned_data["version"]
    try:
        if version is None:
            changed = uses.switch_off(judge, use)
            messages.success(request, "Its grades are no longer used for this." if changed else "Nothing changed.")
        else:
            uses.switch_on(version, use, request.user)
            messages.success(request, f"The grades of version {version.number} are used from now on.")
    except ValueError as error:
        messages.error(request, as_sentence(error))
    return redirect("judge", collection.slug, judge.pk)


@record_act
def start_judge_run(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    judge = judge_of(collection, pk)
    return start_run(request, judge, StartForm(request.POST, judge=judge))


@record_act
def start_probes(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    judge = judge_of(collection, pk)
    return start_run(request, judge, ProbesForm(request.POST, judge=judge))


def start_run(request: HttpRequest, judge: Judge, form: StartForm | ProbesForm) -> HttpResponse:
    """Start the run and show it; a refused form comes back."""
    if form.is_valid():
        version = form.cleaned_data["version"]
        with errors_into(form):
            run = runs.start(version, form.chosen, form.options, form.limits, request.user)
            return redirect("judge_run", judge.collection.slug, run.pk)
    return judge_page(request, judge, form)


def judge_page(request: HttpRequest, judge: Judge, sent: Form | None = None) -> HttpResponse:
    """The page of a judge. A form that was sent replaces the empty one of its class; 400 if it is refused."""

    def sent_or_new(form_class: type[Form], **arguments: Any) -> Form:
        return sent if isinstance(sent, form_class) else form_class(**arguments)

    collection = judge.collection
    judge_versions = list(judge.versions.all())  # the latest first
    latest_version = judge_versions[0] if judge_versions else None
    sample = judge.samples.annotate(n=Count("pairs")).order_by("-pk").first()
    context = {
        **frame(collection, "judges"),
        "judge": judge,
        "versions": judge_versions,
        "runs": JudgeRun.objects.filter(version__judge=judge).select_related("version")[:MOST_RUNS_LISTED],
        "sample": sample,
        "unrated": sample.unrated() if sample else 0,
        "sample_form": sent_or_new(SampleForm),
        "version_form": sent_or_new(VersionForm, collection=collection, latest=latest_version),
        "run_form": sent_or_new(RunForm, judge=judge),
        "probes_form": sent_or_new(ProbesForm, judge=judge),
        "uses": uses_of(judge),
        "can_run": any(version.endpoint for version in judge_versions),
        "probed": probe_results(collection, judge_versions),
        "least": short_value(collection.relevant_from),  # from this grade on a probe got through
    }
    is_refused = sent is not None and not sent.is_valid()
    # A valid form of this class only asks for an estimate. Other valid forms were acted on, and do not come here.
    if isinstance(sent, RunForm) and not is_refused:
        context |= run_estimate(sent)  # "plan", "start" and "hours"; or only "problem" if the run cannot start
    cannot_start = "problem" in context
    return render(request, "ratings/judge.html", context, status=400 if is_refused or cannot_start else 200)


def uses_of(judge: Judge) -> list[dict]:
    """Each use with the version that is used for it now, and the form to change that."""
    present_uses = {row.use: row for row in judge.uses.select_related("version", "by")}
    rows = []
    for use, label in JudgeUse.Use.choices:
        present = present_uses.get(use)
        initial = {"use": use, "version": present.version_id if present else None}
        form = UseForm(judge=judge, auto_id=f"id_{use}_%s", initial=initial)
        rows.append({"label": label, "use": use, "now": present, "form": form})
    return rows


def run_estimate(form: RunForm) -> dict:
    """The context of a valid form: the estimated cost of the run, or the problem that keeps it from starting.

    The form to start it proposes twice the estimate as caps.
    """
    settings = form.cleaned_data
    version, choice = settings["version"], settings["choice"]
    if problem := gate.refusal(version.judge, choice):
        return {"problem": as_sentence(problem)}
    try:
        estimate = choosing.estimate(version, choice, form.options, settings["concurrency"])
    except ValueError as error:
        return {"problem": as_sentence(error)}
    initial = {
        **settings,
        "version": version.pk,
        "most_calls": max(1, 2 * estimate.calls),
        "most_cost": 2 * estimate.cost or None,  # no cap where the version has no prices
    }
    start_form = StartForm(initial=initial, judge=version.judge)
    return {"plan": estimate, "start": start_form, "hours": estimate.seconds / 3600}


@admin_page
def judge_run(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """One run: its progress and its call log, filtered by `problem` in the address."""
    run = run_of(collection, pk)
    return run_page(request, collection, run, ResumeForm())


def run_page(request: HttpRequest, collection: Collection, run: JudgeRun, form: ResumeForm) -> HttpResponse:
    """The page of a run, with the form to resume it and the call log.

    With a `problem` in the address the log shows only calls that ended in it. Raises Http404 for an unknown one.
    """
    answers = run.answers.select_related("query").defer("query__fields").order_by("pk")
    if answers.model is MachineGrade:  # and not Probe, which has no document
        answers = answers.select_related("query", "document").defer("document__body", "document__fields")
    problem = request.GET.get("problem", "")
    if problem in MachineGrade.Problem.values:
        answers = answers.filter(problem=problem)
    elif problem:
        raise Http404("There is no such reason.")
    ungraded = run.answers.exclude(problem="")
    problem_counts = ungraded.values("problem").annotate(n=Count("pk")).order_by("-n")
    labels = dict(MachineGrade.Problem.choices)
    named_models = run.answers.exclude(model="").order_by("model").values_list("model", flat=True).distinct()
    may_wait = run.state in (JudgeRun.State.QUEUED, JudgeRun.State.RUNNING)
    context = {
        **frame(collection, "judges"),
        "run": run,
        "judge": run.version.judge,
        "form": form,
        "share": (run.graded + run.ungraded) / run.pairs if run.pairs else 1,
        "problems": [row | {"label": labels[row["problem"]]} for row in problem_counts],
        "asked": labels.get(problem, ""),  # the problem that the log is narrowed to
        "models": list(named_models),
        "no_worker": no_worker_warning() if may_wait else "",
        **paged(request, answers, ROWS_PER_PAGE),  # "page" of the call log, and "numbers" of its pages
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
        with errors_into(form):
            changed = form.is_valid() and runs.resume(run, **form.cleaned_data)
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
    if format not in call_log.WRITERS:
        raise Http404("There is no such format.")
    file = downloads.whole_file(call_log.WRITERS[format](call_log.rows(run.answers.all())))
    name = f"{collection.slug}-run-{run.pk}.{format}"
    note(Act.EXPORTED, collection, about=name)
    return downloads.sent(file, name)


def judge_of(collection: Collection, pk: int) -> Judge:
    judge = get_object_or_404(Judge, collection=collection, pk=pk)
    judge.collection = collection  # it carries the role of the signed-in person
    return judge


def run_of(collection: Collection, pk: int) -> JudgeRun:
    rows = JudgeRun.objects.select_related("version__judge__collection", "by")
    return get_object_or_404(rows, version__judge__collection=collection, pk=pk)

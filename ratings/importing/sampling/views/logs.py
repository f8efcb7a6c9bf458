"""The pages of logs: send one, see what it holds and what a sample would say, draw queries, undo.

A page depends only on the state of its job, so a reload, or a browser without scripts, shows the same.
"""

from django.contrib import messages
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from ....formats import searches
from ....models import Collection, Job
from ....people.access import admin_page, record_act
from ....web.pages import frame, paged
from ... import jobs, uploads
from ...job_pages import job_context, no_worker_warning, stored_files
from ...preview import sources_of
from ...refusals import with_page_cure
from ..forms import DrawForm, MoreForm, ReadLogForm, SendLogForm
from ..jobs import READING

ROWS_PER_PAGE = 50
SECTION = "imports"
State = Job.State


@admin_page
def sampling(request: HttpRequest, collection: Collection) -> HttpResponse:
    """A form for a log, and the samples and logs so far."""
    return sampling_page(request, collection, SendLogForm())


@uploads.takes_logs
@record_act
def send_log(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Store the log and queue its count."""
    form = SendLogForm(request.POST, request.FILES)
    files = stored_files(form, collection, logs=True) if form.is_valid() else []
    if form.errors:
        return sampling_page(request, collection, form)
    job = jobs.check(collection, Job.Kind.LOG, files, {}, request.user)
    return redirect("log_job", collection.slug, job.pk)


@admin_page
def log_job(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    return job_page(request, collection, job_of(collection, pk))


@record_act
def check_log(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Count the log again with other options."""
    job = job_of(collection, pk)
    form = ReadLogForm(request.POST, job=job, columns=columns_of(job))
    if not form.is_valid():
        return job_page(request, collection, job, read=form)
    tell_if_late(request, jobs.check_again(job, Job.Kind.LOG, form.options))
    return redirect("log_job", collection.slug, pk)


@record_act
def draw_log(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Queue the draw."""
    job = job_of(collection, pk)
    form = DrawForm(request.POST, log=log_of(job))
    if not form.is_valid():
        return job_page(request, collection, job, draw=form)
    return started(request, collection, job, form.options)


@record_act
def draw_more(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Queue a draw in addition to the last sample."""
    job = job_of(collection, pk)
    sample = collection.samples.last()
    if sample is None:
        return redirect("log_job", collection.slug, pk)
    form = MoreForm(request.POST, sample=sample)
    if not form.is_valid():
        return job_page(request, collection, job, more=form)
    return started(request, collection, job, form.options)


def started(request: HttpRequest, collection: Collection, job: Job, draw_options: dict) -> HttpResponse:
    """The answer after the draw of a job with these options was queued. The log is read as before."""
    reading = {name: value for name, value in job.options.items() if name in READING}
    tell_if_late(request, jobs.start(job, options=reading | draw_options))
    return redirect("log_job", collection.slug, job.pk)


def tell_if_late(request: HttpRequest, queued: bool) -> None:
    if not queued:
        messages.warning(request, "The log is at work or its job has ended, so nothing changed.")


def sampling_page(request: HttpRequest, collection: Collection, form: Form) -> HttpResponse:
    context = {
        **frame(collection, SECTION),
        "form": form,
        "samples": collection.samples.order_by("-number"),
        **paged(request, logs_of(collection), ROWS_PER_PAGE),
        "no_worker": no_worker_warning(),
    }
    return render(request, "ratings/sampling.html", context, status=400 if form.errors else 200)


def job_page(request: HttpRequest, collection: Collection, job: Job, **forms: Form) -> HttpResponse:
    """The page of a job in any state. `forms`: those that were sent and are invalid, as read, draw or more."""
    log = job.report.get("log")  # what the count found; None before it
    context = {
        **frame(collection, SECTION),
        **job_context(job, doing="Drawing", done="Drawn"),  # also heading and refusals, changed below
        "log": log,
        "sample": job.samples.first(),  # the one that this job drew; None before
    }
    fields = {}  # of the form, for cures that say what to choose in it
    if job.state in (State.CHECKED, State.REFUSED, State.FAILED):
        read_form = ReadLogForm(job=job, columns=columns_of(job))
        context["read"] = forms.get("read", read_form)
        fields = read_form.fields
    context["refusals"] = [with_page_cure(refusal, fields) for refusal in context["refusals"]]
    # A check ends as CHECKED even if it refused the log. Otherwise somebody now has to say how to draw.
    if job.state == State.CHECKED and not job.report.get("refused"):
        context["heading"] = "Counted"
        context["draw"] = forms.get("draw") or DrawForm(log=log)
        context["rows"] = outlook_rows(log["outlooks"])  # what samples of several sizes would say
        last = collection.samples.last()
        if last and log["again"] == last.number:
            # The last sample is of this log, so that a draw can add to it.
            context |= {"last": last, "more": forms.get("more") or MoreForm(sample=last)}
    return render(request, "ratings/log.html", context, status=400 if forms else 200)


def outlook_rows(outlooks: dict[str, list[dict]]) -> list[dict]:
    """A row for each size: the outlook of the first method, and the margins of all methods."""
    by_size = zip(*outlooks.values(), strict=True)
    return [of_size[0] | {"margins": [outlook["margin"] for outlook in of_size]} for of_size in by_size]


def job_of(collection: Collection, pk: int) -> Job:
    return get_object_or_404(logs_of(collection), pk=pk)


def logs_of(collection: Collection) -> QuerySet[Job]:
    return collection.jobs.filter(kind=Job.Kind.LOG).select_related("by")


def log_of(job: Job) -> dict:
    """What the report says of the log; of a job that was not checked, an empty log."""
    return job.report.get("log") or {"days": "", "strata": [], "by_column": False}


def columns_of(job: Job) -> dict[str, str]:
    """Each column of a log -> what it holds, "" for nothing; {} for a log without columns or that cannot be read.

    Of several files, the first that has a header and a column of queries counts; without such a file, the first.
    Columns without a header are named 1, 2, …. Raises ConnectionError: without the columns, the form would lose
    what was chosen.
    """
    if not job.files or "stored" not in job.files[0]:
        return {}
    try:
        with sources_of(job) as sources:
            columns_of_files = []
            for source in sources:
                columns = searches.columns_of(source, job.options.get("format", ""))
                has_header = "1" not in columns
                if has_header and "text" in columns.values():  # a column of queries
                    return columns
                columns_of_files.append(columns)
            return columns_of_files[0]
    except ConnectionError:  # an OSError, too
        raise
    except (OSError, ValueError):
        return {}

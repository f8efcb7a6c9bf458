"""The pages of imports: send files, see how they are read and what they would change, import, undo.

A page depends only on the state of its job, so a reload, or a browser without scripts, shows the same.
"""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render

from ...formats.refusal import Refused
from ...formats.registry import KINDS
from ...models import MAKERS, Collection, Job
from ...people.access import admin_act, admin_page, record_act
from ...web.pages import frame, paged
from .. import jobs, uploads
from ..forms import USUAL, HowForm, SendForm
from ..intake import undoing
from ..job_pages import (
    cancel,
    heading,
    no_worker_warning,
    progress,
    refusals_of,
    step,
    stored_files,
    waiting_reason,
)
from ..preview import Preview, certain_kind, preview
from ..refusals import fields_for, with_page_cure
from ..samples import of_kind

AT_ONCE = 50
LISTED = 100  # refused lines on the page
State = Job.State


@admin_page
def imports(request: HttpRequest, collection: Collection) -> HttpResponse:
    """A form for files, and the imports so far."""
    return imports_page(request, collection, SendForm(initial={"kind": request.GET.get("kind", "")}))


@uploads.takes_files
@record_act
def send_files(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Store the files and queue a check, which changes no record."""
    form = SendForm(request.POST, request.FILES)
    if not form.is_valid():
        return imports_page(request, collection, form)
    files = stored_files(form, collection)
    if form.errors:
        return imports_page(request, collection, form)
    try:
        kind = form.cleaned_data["kind"] or certain_kind(files[0])
    except Refused as error:
        uploads.forget(files)
        (refusal,) = error.refusals
        form.add_error("files", f"{refusal.sentence} {refusal.cure_text()}")
        return imports_page(request, collection, form)
    if kind:
        job = jobs.check(collection, kind, files, USUAL[kind], request.user)
    else:
        job = jobs.await_kind(collection, files, request.user)
    return redirect("import_job", collection.slug, job.pk)


@admin_page
def import_job(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    return job_page(request, collection, job_of(collection, pk))


@record_act
def check_import(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Check the files again with other options."""
    job = job_of(collection, pk)
    seen = preview_of(job)
    form = HowForm(request.POST, job=job, columns=seen.columns, sheets=seen.sheets)
    if not form.is_valid():
        return job_page(request, collection, job, form)
    if not jobs.check_again(job, form.cleaned_data["kind"], form.options):
        messages.warning(request, "The import is running or has ended, so nothing changed.")
    return redirect("import_job", collection.slug, pk)


@record_act
def start_import(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    job = job_of(collection, pk)
    if not jobs.start(job):
        messages.warning(request, "The import is running or has ended, so nothing changed.")
    return redirect("import_job", collection.slug, pk)


@admin_act
def cancel_import(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    cancel(request, job_of(collection, pk))
    return redirect("import_job", collection.slug, pk)


@record_act
def undo_import(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Undo the whole import, or tell what depends on it."""
    job = job_of(collection, pk)
    obstacles = undoing.undo_import(job, request.user)
    for sentence in obstacles:
        messages.warning(request, sentence)
    if not obstacles:
        ratings = job.kind == Job.Kind.RATINGS
        what = "Each rating is what it was before" if ratings else "Nothing of it is in the record any more"
        messages.success(request, f"Undone. {what}.")
    return redirect("import_job", collection.slug, pk)


@admin_page
def import_progress(request: HttpRequest, collection: Collection, pk: int) -> JsonResponse:
    return progress(job_of(collection, pk))


def imports_page(request: HttpRequest, collection: Collection, form: SendForm) -> HttpResponse:
    context = {
        **frame(collection, "imports"),
        "form": form,
        "samples": [(kind, of_kind(kind)) for kind in KINDS],
        **paged(request, imports_of(collection), AT_ONCE),
        "no_worker": no_worker_warning(),
    }
    return render(request, "ratings/imports.html", context, status=400 if form.errors else 200)


def job_page(request: HttpRequest, collection: Collection, job: Job, form: HowForm | None = None) -> HttpResponse:
    """The page of a job in any state. A checked job has what it would change, one that is over what it changed."""
    report = job.report
    fields = fields_for(job)
    refusals = [with_page_cure(refusal, fields) for refusal in refusals_of(job)]
    context = {
        **frame(collection, "imports"),
        "job": job,
        "heading": heading(job, "Importing", "Imported"),
        "waits": waiting_reason(job),
        "step": step(job),
        "report": report,
        "refusals": refusals[:LISTED],
        "more": report.get("refused", 0) - min(len(refusals), LISTED),
        "grades": histogram(report.get("grades", {})),
        "scale": [grade.value for grade in collection.grades.all()],
    }
    if job.is_over and job.state not in (State.CANCELLED, State.UNDONE):
        seen = preview_of(job)
        context |= {
            "seen": seen,
            "form": form or HowForm(job=job, columns=seen.columns, sheets=seen.sheets),
        }
    return render(request, "ratings/import.html", context, status=400 if form and form.errors else 200)


def job_of(collection: Collection, pk: int) -> Job:
    return get_object_or_404(imports_of(collection), pk=pk)


def imports_of(collection: Collection) -> QuerySet[Job]:
    """The imports of a collection, without the archive or copy that made it, and without pictures and logs."""
    return collection.jobs.exclude(kind__in=[*MAKERS, Job.Kind.PICTURES, Job.Kind.LOG]).select_related("by")


def preview_of(job: Job) -> Preview:
    """A preview of the first file; empty if the file is no longer stored or was read by a command.

    Raises ConnectionError: without a preview, the form would lose the columns that were chosen.
    """
    try:
        return preview(job) if "stored" in job.files[0] else Preview()
    except ConnectionError:
        raise
    except (OSError, ValueError):
        return Preview()


def histogram(grades: dict[str, int]) -> list[dict]:
    """A row for each grade, lowest first: number of ratings, share of all, length of the bar in percent."""
    total, most = sum(grades.values()), max(grades.values(), default=0)
    rows = sorted(((float(value), n) for value, n in grades.items()), key=lambda row: row[0])
    return [{"value": value, "n": n, "share": n / total, "bar": f"{100 * n / most:.1f}"} for value, n in rows]

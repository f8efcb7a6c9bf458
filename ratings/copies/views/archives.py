"""The pages of archives, for superusers: send an archive, see what is in it, name the collection, import it."""

import re

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from ...database import disk
from ...importing import jobs, uploads
from ...importing.job_pages import cancel, heading, no_worker_warning, progress, refusals_of, step, waiting_reason
from ...models import Job
from ...people.access import of_archives
from ...web.pages import paged
from ..forms import ArchiveForm, SlugForm
from ..restoring import wrong_slug

AT_ONCE = 50
LISTED = 100  # refused lines on the page
State = Job.State


@require_safe
@of_archives
def archives(request: HttpRequest, known: QuerySet[Job]) -> HttpResponse:
    """A form for a file, and the archives so far."""
    return archives_page(request, known, ArchiveForm())


@uploads.takes_files
@require_POST
@of_archives
def send_archive(request: HttpRequest, known: QuerySet[Job]) -> HttpResponse:
    """Store the file and queue a check, which changes no record."""
    form = ArchiveForm(request.POST, request.FILES)
    if not form.is_valid():
        return archives_page(request, known, form)
    try:
        kept = uploads.keep(form.cleaned_data["file"])
    except OSError as error:
        if disk.trouble(error) or isinstance(error, ConnectionError):
            raise  # `web.failures.server_error` answers it
        form.add_error("file", f"The file cannot be stored: {error.strerror or error}.")
        return archives_page(request, known, form)
    return redirect("archive_job", jobs.check(None, Job.Kind.ARCHIVE, [kept], {}, request.user).pk)


@require_safe
@of_archives
def archive_job(request: HttpRequest, known: QuerySet[Job], pk: int) -> HttpResponse:
    job = get_object_or_404(known, pk=pk)
    return job_page(request, job, SlugForm(initial={"slug": job.options.get("slug") or suggested_slug(job)}))


@require_POST
@of_archives
def start_archive(request: HttpRequest, known: QuerySet[Job], pk: int) -> HttpResponse:
    """Queue the import under the chosen slug."""
    job, form = get_object_or_404(known, pk=pk), SlugForm(request.POST)
    if not form.is_valid():
        return job_page(request, job, form)
    if not jobs.start(job, options={"slug": form.cleaned_data["slug"]}):
        messages.warning(request, "The import is running or has ended, so nothing changed.")
    return redirect("archive_job", pk)


@require_POST
@of_archives
def cancel_archive(request: HttpRequest, known: QuerySet[Job], pk: int) -> HttpResponse:
    cancel(request, get_object_or_404(known, pk=pk))
    return redirect("archive_job", pk)


@require_safe
@of_archives
def archive_progress(request: HttpRequest, known: QuerySet[Job], pk: int) -> JsonResponse:
    return progress(get_object_or_404(known, pk=pk))


def archives_page(request: HttpRequest, known: QuerySet[Job], form: ArchiveForm) -> HttpResponse:
    context = {
        "section": "archives",
        "form": form,
        "no_worker": no_worker_warning(),
        **paged(request, known, AT_ONCE),
    }
    return render(request, "ratings/archives.html", context, status=400 if form.errors else 200)


def job_page(request: HttpRequest, job: Job, form: SlugForm) -> HttpResponse:
    """The page of a job in any state. A checked job has its contents and a form for the slug."""
    report = job.report
    refusals = refusals_of(job)
    offers = job.state in (State.CHECKED, State.REFUSED, State.FAILED) and "stored" in job.files[0]
    context = {
        "section": "archives",
        "job": job,
        "heading": heading(job, "Making", "Made"),
        "waits": waiting_reason(job),
        "step": step(job),
        "report": report,
        "refusals": refusals[:LISTED],
        "more": report.get("refused", 0) - min(len(refusals), LISTED),
        "taken": not form.is_bound and form.initial["slug"] and wrong_slug(form.initial["slug"]),
        "form": form if offers and not (job.checking and refusals) else None,
    }
    return render(request, "ratings/archive.html", context, status=400 if form.errors else 200)


def suggested_slug(job: Job) -> str:
    """A slug made of the file's name, without the snapshot id that an export appends."""
    name = job.files[0]["name"].removesuffix(".zip")
    return slugify(re.sub(r"-[0-9a-f]{12}$", "", name))[:80]

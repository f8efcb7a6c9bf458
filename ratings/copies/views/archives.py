"""The pages of archives, for superusers: send an archive, name its collection, and see how it is made."""

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from ...database import disk
from ...importing import uploads
from ...importing.job_pages import cancel, heading, no_worker_warning, progress, refusals_of, step, waiting_reason
from ...importing.jobs import store_queued
from ...models import Job
from ...people.access import of_superusers
from ...web.pages import paged
from ..forms import ArchiveForm

AT_ONCE = 50
LISTED = 100  # refused lines on the page


@require_safe
@of_superusers
def archives(request: HttpRequest, superuser: User) -> HttpResponse:
    """A form for a file, and the archives so far."""
    return archives_page(request, ArchiveForm())


@uploads.takes_files
@require_POST
@of_superusers
def send_archive(request: HttpRequest, superuser: User) -> HttpResponse:
    """Store the file and queue its import, which is whole or not at all."""
    form = ArchiveForm(request.POST, request.FILES)
    if not form.is_valid():
        return archives_page(request, form)
    try:
        kept = uploads.keep(form.cleaned_data["file"])
    except OSError as error:
        if disk.trouble(error) or isinstance(error, ConnectionError):
            raise  # `web.failures.server_error` answers it
        form.add_error("file", f"The file cannot be stored: {error.strerror or error}.")
        return archives_page(request, form)
    options = {"slug": form.cleaned_data["slug"]}
    job = store_queued(Job(kind=Job.Kind.ARCHIVE, files=[kept], options=options, by=superuser))
    return redirect("archive_job", job.pk)


@require_safe
@of_superusers
def archive_job(request: HttpRequest, superuser: User, pk: int) -> HttpResponse:
    """The job in any state."""
    job = archive_of(pk)
    refusals = refusals_of(job)
    context = {
        "section": "archives",
        "job": job,
        "heading": heading(job, "Making", "Made"),
        "waits": waiting_reason(job),
        "step": step(job),
        "report": job.report,
        "refusals": refusals[:LISTED],
        "more": job.report.get("refused", 0) - min(len(refusals), LISTED),
    }
    return render(request, "ratings/archive.html", context)


@require_POST
@of_superusers
def cancel_archive(request: HttpRequest, superuser: User, pk: int) -> HttpResponse:
    cancel(request, archive_of(pk))
    return redirect("archive_job", pk)


@require_safe
@of_superusers
def archive_progress(request: HttpRequest, superuser: User, pk: int) -> JsonResponse:
    return progress(archive_of(pk))


def archive_of(pk: int) -> Job:
    """The job of an archive. Raises Http404."""
    return get_object_or_404(Job.objects.select_related("by", "collection"), pk=pk, kind=Job.Kind.ARCHIVE)


def archives_page(request: HttpRequest, form: ArchiveForm) -> HttpResponse:
    jobs = Job.objects.filter(kind=Job.Kind.ARCHIVE).select_related("by", "collection")
    context = {
        "section": "archives",
        "form": form,
        "no_worker": no_worker_warning(),
        **paged(request, jobs, AT_ONCE),
    }
    return render(request, "ratings/archives.html", context, status=400 if form.errors else 200)

"""The pages of archives, for superusers: send an archive, name its collection, and see how it is made."""

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from ...importing import uploads
from ...importing.job_pages import cancel, job_context, kept_files, no_worker_warning, progress
from ...importing.jobs import store_queued
from ...models import Job
from ...people.access import of_superusers
from ...web.pages import paged
from ..forms import ArchiveForm

ROWS_PER_PAGE = 50


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
    kept = kept_files(form, "file", [form.cleaned_data["file"]])
    if form.errors:
        return archives_page(request, form)
    options = {"slug": form.cleaned_data["slug"]}
    job = store_queued(Job(kind=Job.Kind.ARCHIVE, files=kept, options=options, by=superuser))
    return redirect("archive_job", job.pk)


@require_safe
@of_superusers
def archive_job(request: HttpRequest, superuser: User, pk: int) -> HttpResponse:
    """The job in any state."""
    context = {"section": "archives", **job_context(archive_of(pk), doing="Making", done="Made")}
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
        **paged(request, jobs, ROWS_PER_PAGE),
    }
    return render(request, "ratings/archives.html", context, status=400 if form.errors else 200)

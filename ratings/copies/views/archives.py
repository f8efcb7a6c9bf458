"""The page of archives, for superusers: send an archive, and name its collection."""

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from ...importing import uploads
from ...importing.job_pages import no_worker_warning
from ...importing.jobs import store_queued
from ...models import Job
from ...people.access import superuser_act, superuser_page
from ...web.pages import paged
from ..forms import ArchiveForm

ROWS_PER_PAGE = 50


@superuser_page
def archives(request: HttpRequest, superuser: User) -> HttpResponse:
    """A form for a file, and the archives so far."""
    return archives_page(request, ArchiveForm())


@uploads.takes_files
@superuser_act
def send_archive(request: HttpRequest, superuser: User) -> HttpResponse:
    """Store the file and queue its import, which is whole or not at all."""
    form = ArchiveForm(request.POST, request.FILES)
    if not form.is_valid():
        return archives_page(request, form)
    files = [uploads.keep(form.cleaned_data["file"])]
    options = {"slug": form.cleaned_data["slug"]}
    job = store_queued(Job(kind=Job.Kind.ARCHIVE, files=files, options=options, by=superuser))
    return redirect("archive_job", job.pk)


def archives_page(request: HttpRequest, form: ArchiveForm) -> HttpResponse:
    jobs = Job.objects.filter(kind=Job.Kind.ARCHIVE).select_related("by", "collection")
    context = {
        "section": "archives",
        "form": form,
        "no_worker": no_worker_warning(),
        **paged(request, jobs, ROWS_PER_PAGE),
    }
    return render(request, "ratings/archives.html", context, status=400 if form.errors else 200)

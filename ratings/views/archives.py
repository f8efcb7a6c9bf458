"""Bring a whole collection: send its archive, see what is in it, give it a name, have it made.

For superusers, who make collections. A page is the state of one job, as at the import desk.
"""

import re

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from .. import archive, jobs, uploads
from ..access import archives_for
from ..import_forms import ArchiveForm, SlugForm
from ..models import Job
from .job_pages import cancel, heading, progress, refusals_of, waits

AT_ONCE = 50
LISTED = 100  # refused lines on the page
State = Job.State


@require_safe
@never_cache
def archives(request: HttpRequest) -> HttpResponse:
    """A form for a file, and what was brought."""
    return archives_page(request, ArchiveForm())


@require_POST
def send_archive(request: HttpRequest) -> HttpResponse:
    """Keep the file and have it checked. Nothing of it is in the record then."""
    archives_for(request)
    form = ArchiveForm(request.POST, request.FILES)
    if not form.is_valid():
        return archives_page(request, form)
    try:
        kept = uploads.keep(form.cleaned_data["file"])
    except OSError as error:
        form.add_error("file", f"It cannot be kept here: {error.strerror or error}.")
        return archives_page(request, form)
    return redirect("archive_job", jobs.check(None, Job.Kind.ARCHIVE, [kept], {}, request.user).pk)


@require_safe
@never_cache
def archive_job(request: HttpRequest, pk: int) -> HttpResponse:
    job = job_of(request, pk)
    return job_page(request, job, SlugForm(initial={"slug": job.options.get("slug") or suggested(job)}))


@require_POST
def start_archive(request: HttpRequest, pk: int) -> HttpResponse:
    """Make the collection under the name that is given."""
    job, form = job_of(request, pk), SlugForm(request.POST)
    if not form.is_valid():
        return job_page(request, job, form)
    if not jobs.start(job, {"slug": form.cleaned_data["slug"]}):
        messages.warning(request, "It is under way, or over: nothing changed.")
    return redirect("archive_job", pk)


@require_POST
def cancel_archive(request: HttpRequest, pk: int) -> HttpResponse:
    cancel(request, job_of(request, pk))
    return redirect("archive_job", pk)


@require_safe
@never_cache
def archive_progress(request: HttpRequest, pk: int) -> JsonResponse:
    return progress(job_of(request, pk))


def archives_page(request: HttpRequest, form: ArchiveForm) -> HttpResponse:
    page = Paginator(archives_for(request), AT_ONCE).get_page(request.GET.get("page"))
    numbers = list(page.paginator.get_elided_page_range(page.number))
    context = {"section": "archives", "form": form, "page": page, "numbers": numbers}
    return render(request, "ratings/archives.html", context, status=400 if form.errors else 200)


def job_page(request: HttpRequest, job: Job, form: SlugForm) -> HttpResponse:
    """At work, checked with what is in it and a name to give, or over with what happened."""
    report = job.report
    refusals = refusals_of(job)
    offers = job.state in (State.CHECKED, State.REFUSED, State.FAILED) and "stored" in job.files[0]
    context = {
        "section": "archives",
        "job": job,
        "heading": heading(job, "Making", "Made"),
        "waits": waits(job),
        "report": report,
        "refusals": refusals[:LISTED],
        "more": report.get("refused", 0) - min(len(refusals), LISTED),
        "taken": not form.is_bound and form.initial["slug"] and archive.wrong_slug(form.initial["slug"]),
        "form": form if offers and not (job.checking and refusals) else None,
    }
    return render(request, "ratings/archive.html", context, status=400 if form.errors else 200)


def job_of(request: HttpRequest, pk: int) -> Job:
    return get_object_or_404(archives_for(request), pk=pk)


def suggested(job: Job) -> str:
    """A name from that of the file, without the snapshot id that Export puts there."""
    name = job.files[0]["name"].removesuffix(".zip")
    return slugify(re.sub(r"-[0-9a-f]{12}$", "", name))[:80]

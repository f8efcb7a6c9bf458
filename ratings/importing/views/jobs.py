"""What an admin does with any job of a collection, whatever it brings: watch it, cancel it, undo it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect

from ...models import MAKERS, Collection, Job
from ...people.access import admin_act, admin_page, record_act
from ..intake import undoing
from ..job_pages import cancel, progress

PAGES: dict[str, str] = {Job.Kind.LOG: "log_job", Job.Kind.ENGINE: "fetch"}  # those of other jobs: import_job
UNDONE: dict[str, str] = {
    Job.Kind.RATINGS: "Each rating is what it was before.",
    Job.Kind.LOG: "The sample and the queries that it brought are not in the record any more.",
}


@admin_page
def job_progress(request: HttpRequest, collection: Collection, pk: int) -> JsonResponse:
    return progress(job_of(collection, pk))


@admin_act
def cancel_job(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    job = job_of(collection, pk)
    cancel(request, job)
    return to_page(collection, job)


@record_act
def undo_job(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Undo all that the job brought, or tell what depends on it."""
    job = job_of(collection, pk)
    obstacles = undoing.undo_import(job, request.user)
    for obstacle in obstacles:
        messages.warning(request, obstacle)
    if not obstacles:
        done = UNDONE.get(job.kind, "Nothing of it is in the record any more.")
        messages.success(request, f"Undone. {done}")
    return to_page(collection, job)


def to_page(collection: Collection, job: Job) -> HttpResponse:
    if job.kind == Job.Kind.PICTURES:
        return redirect("pictures", collection.slug)
    return redirect(PAGES.get(job.kind, "import_job"), collection.slug, job.pk)


def job_of(collection: Collection, pk: int) -> Job:
    """The job. Raises Http404, also for one that made the collection: it belongs to who asked for it."""
    return get_object_or_404(collection.jobs.exclude(kind__in=MAKERS), pk=pk)

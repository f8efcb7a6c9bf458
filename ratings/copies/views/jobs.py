"""The page of a job that makes a collection, of an archive or as a copy: its progress and its outcome."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from ...importing.job_pages import cancel, job_context, progress
from ...models import Collection, Job, Role
from ...people.access import of_makings


@require_safe
@of_makings
def archive_job(request: HttpRequest, job: Job) -> HttpResponse:
    context = {"section": "archives", **job_context(job, doing="Making", done="Made")}
    return render(request, "ratings/archive.html", context)


@require_safe
@of_makings
def copy_job(request: HttpRequest, job: Job) -> HttpResponse:
    administered = Collection.objects.visible_to(request.user, Role.ADMIN)
    source = administered.filter(pk=job.options["source"]).first()
    context = {**job_context(job, doing="Copying", done="Copied"), "source": source}
    return render(request, "ratings/copy.html", context)


@require_POST
@of_makings
def cancel_making(request: HttpRequest, job: Job) -> HttpResponse:
    cancel(request, job)
    return redirect("copy_job" if job.kind == Job.Kind.COPY else "archive_job", job.pk)


@require_safe
@of_makings
def making_progress(request: HttpRequest, job: Job) -> JsonResponse:
    return progress(job)

"""The page of a job that copies a collection: its progress and its outcome."""

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from ...importing.job_pages import cancel, job_context, progress
from ...models import Collection, Job, Role
from ...people.access import of_copies


@require_safe
@of_copies
def copy_job(request: HttpRequest, known: QuerySet[Job], pk: int) -> HttpResponse:
    job = get_object_or_404(known, pk=pk)
    context = {
        **job_context(job, doing="Copying", done="Copied"),
        "source": Collection.objects.visible_to(request.user, Role.ADMIN).filter(pk=job.options["source"]).first(),
    }
    return render(request, "ratings/copy.html", context)


@require_POST
@of_copies
def cancel_copy(request: HttpRequest, known: QuerySet[Job], pk: int) -> HttpResponse:
    cancel(request, get_object_or_404(known, pk=pk))
    return redirect("copy_job", pk)


@require_safe
@of_copies
def copy_progress(request: HttpRequest, known: QuerySet[Job], pk: int) -> JsonResponse:
    return progress(get_object_or_404(known, pk=pk))

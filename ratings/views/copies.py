"""The pages of copies of collections: ask for one, and see how far it is."""

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from ..imports import jobs
from ..models import Collection, Job
from ..people.access import of_copies, of_source
from ..set_up.forms import CopyForm
from .collection import collection_page
from .job_pages import cancel, heading, progress, refusals_of, waits


@require_POST
@of_source
def copy_collection(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Queue a copy, of which the person who asks becomes the admin."""
    form = CopyForm(request.POST)
    if not form.is_valid():
        return collection_page(request, collection, copy=form)
    sent = form.cleaned_data
    return redirect("copy_job", jobs.copy(collection, sent["slug"], sent["name"], request.user).pk)


@require_safe
@of_copies
def copy_job(request: HttpRequest, known: QuerySet[Job], pk: int) -> HttpResponse:
    job = get_object_or_404(known, pk=pk)
    context = {
        "job": job,
        "heading": heading(job, "Copying", "Copied"),
        "waits": waits(job),
        "refusals": refusals_of(job),
        "source": Collection.objects.visible_to(request.user).filter(pk=job.options["source"]).first(),
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

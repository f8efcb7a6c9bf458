"""The pictures of documents: the page of an admin, and the address of each picture."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db.models import Count
from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from ...models import Collection, Job, Picture
from ...people.access import admin_act, admin_page
from ...presentation.versions import latest_of
from ...web.pages import frame, paged
from .. import jobs, uploads
from ..forms import ZipForm
from ..job_pages import progress, step, stored_files, waiting_reason
from ..pictures import store
from ..pictures.fetching import try_again, unlisted_hosts

AT_ONCE = 50
State = Picture.State


@require_safe
def picture(request: HttpRequest, token: UUID, size: str) -> FileResponse:
    """A picture, for every member of its collection. One query besides those of the session."""
    mine = Collection.objects.visible_to(request.user)
    found = get_object_or_404(Picture, token=token, state=State.READY, collection__in=mine)
    return store.sent(found, size)


@admin_page
def pictures(request: HttpRequest, collection: Collection) -> HttpResponse:
    return pictures_page(request, collection, ZipForm())


@admin_act
def fetch_pictures(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Fetch the missing pictures, and try the refused ones again."""
    try_again(collection)
    if not jobs.fetch_pictures(collection, request.user):
        messages.warning(request, "The presentation shows no pictures.")
    return redirect("pictures", collection.slug)


@uploads.takes_files
@admin_act
def send_pictures(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Store ZIPs, and queue a job that takes the pictures from them."""
    form = ZipForm(request.POST, request.FILES)
    if not form.is_valid():
        return pictures_page(request, collection, form)
    files = stored_files(form, collection)
    if form.errors:
        return pictures_page(request, collection, form)
    if not jobs.fetch_pictures(collection, request.user, files):
        uploads.forget(files)
        form.add_error("files", "The presentation shows no pictures. Add a part of the kind Pictures first.")
        return pictures_page(request, collection, form)
    return redirect("pictures", collection.slug)


@admin_act
def cancel_pictures(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    if jobs.cancel(job_of(collection, pk)):
        messages.success(request, "Stopped. The pictures that are here stay.")
    return redirect("pictures", collection.slug)


@admin_page
def pictures_progress(request: HttpRequest, collection: Collection, pk: int) -> JsonResponse:
    return progress(job_of(collection, pk))


def job_of(collection: Collection, pk: int) -> Job:
    return get_object_or_404(collection.jobs, kind=Job.Kind.PICTURES, pk=pk)


def pictures_page(request: HttpRequest, collection: Collection, form: ZipForm) -> HttpResponse:
    rows = collection.pictures.order_by()
    counts = dict(rows.values_list("state").annotate(n=Count("pk")))
    job = collection.jobs.filter(kind=Job.Kind.PICTURES).order_by("-pk").first()
    missing = collection.pictures.filter(state=State.REFUSED).order_by("pk")
    context = {
        **frame(collection, "presentation"),
        "shows": latest_of(collection).has_pictures,
        "form": form,
        "counts": {state: counts.get(state, 0) for state in State.values},
        "all": sum(counts.values()),
        "job": job,
        "waits": waiting_reason(job) if job else "",
        "step": step(job) if job else None,
        "hosts": unlisted_hosts(collection).most_common(20),
        "listed": settings.PULL_HOSTS,
        **paged(request, missing, AT_ONCE),
    }
    return render(request, "ratings/pictures.html", context, status=400 if form.errors else 200)

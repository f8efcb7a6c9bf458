"""The pictures of documents: the page of an admin, and the address of each picture."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db.models import Count
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from ...models import AllowedHost, Collection, Job, Picture
from ...people.access import admin_act, admin_page
from ...presentation.versions import latest_presented
from ...web.pages import frame, paged
from .. import jobs, uploads
from ..forms import ZipForm
from ..job_pages import step, stored_files, waiting_reason
from ..pictures import store
from ..pictures.fetching import try_again, unlisted_hosts
from ..pull import allowing

ROWS_PER_PAGE = 50
State = Picture.State
PICTURES = AllowedHost.Purpose.PICTURES
SHOWS_NO_PICTURES = (
    "The presentation shows no pictures. Add a part of the kind Pictures first, with the path id if the files of"
    " a ZIP are named by ids of documents."
)


@require_safe
def picture(request: HttpRequest, token: UUID, size: str) -> FileResponse:
    """A picture, for every member of its collection. One query besides those of the session."""
    visible = Collection.objects.visible_to(request.user)
    row = get_object_or_404(Picture, token=token, state=State.READY, collection__in=visible)
    return store.sent(row, size)


@admin_page
def pictures(request: HttpRequest, collection: Collection) -> HttpResponse:
    return pictures_page(request, collection, ZipForm())


@admin_act
def fetch_pictures(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Fetch the missing pictures, and try the refused ones again."""
    try_again(collection)
    if not jobs.fetch_pictures(collection, request.user):
        messages.warning(request, SHOWS_NO_PICTURES)
    return redirect("pictures", collection.slug)


@admin_act
def allow_picture_host(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Let pictures come from a host, and fetch them. Only superusers may."""
    if allowed := allowing.allow_for(request, request.POST.get("host", ""), PICTURES):
        try_again(collection)
        jobs.fetch_pictures(collection, request.user)
        messages.success(request, f"Pictures may come from {allowed.host} now, in all collections.")
    return redirect("pictures", collection.slug)


@uploads.takes_files
@admin_act
def send_pictures(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Store ZIPs, and queue a job that takes the pictures from them."""
    form = ZipForm(request.POST, request.FILES)
    files = stored_files(form, collection) if form.is_valid() else []
    if form.errors:
        return pictures_page(request, collection, form)
    if not jobs.fetch_pictures(collection, request.user, files):  # no job: the presentation shows none
        uploads.forget(files)
        messages.warning(request, SHOWS_NO_PICTURES)
    return redirect("pictures", collection.slug)


def pictures_page(request: HttpRequest, collection: Collection, form: ZipForm) -> HttpResponse:
    counts = dict(collection.pictures.order_by().values_list("state").annotate(n=Count("pk")))
    job = collection.jobs.filter(kind=Job.Kind.PICTURES).order_by("-pk").first()
    refused = collection.pictures.filter(state=State.REFUSED).order_by("pk")
    context = {
        **frame(collection, "presentation"),
        "shows": latest_presented(collection).has_pictures,  # whether the presentation shows any
        "form": form,
        "counts": {state: counts.get(state, 0) for state in State.values},
        "all": sum(counts.values()),
        "job": job,
        "waits": waiting_reason(job) if job else "",
        "step": step(job) if job else None,
        "hosts": unlisted_hosts(collection).most_common(20),  # (host that is not allowed, its missing pictures)
        "listed": settings.PULL_HOSTS,  # hosts that the operator allows
        "allowed": AllowedHost.objects.filter(purpose=PICTURES).select_related("allowed_by"),
        **paged(request, refused, ROWS_PER_PAGE),
    }
    return render(request, "ratings/pictures.html", context, status=400 if form.errors else 200)

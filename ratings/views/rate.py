"""The rating desk. What is sent to a rater is listed here field by field: no rank, system or other's grade."""

import logging
from collections.abc import Callable
from functools import wraps
from uuid import UUID, uuid4

from django.contrib import messages
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from .. import queue
from ..access import collection_for, rater_for
from ..forms import RatingForm
from ..markdown import rendered
from ..models import Collection, Pair, Rater, Rating, RatingEvent, Reason, Role

logger = logging.getLogger(__name__)


def told_when_busy(act: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Where the database lets nobody write for too long, give the rater their work back to send again.

    The form is the one that was sent, with its key: if it did arrive after all, it is not counted twice.
    """

    @wraps(act)
    def view(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            return act(request, *args, **kwargs)
        except OperationalError:
            logger.exception("An act of a rater could not be written.")
            sent = [(name, value) for name, value in request.POST.items() if name != "csrfmiddlewaretoken"]
            response = render(request, "ratings/busy.html", {"sent": sent}, status=503)
            response["Retry-After"] = "5"
            return response

    return view


@require_safe
@never_cache
def rate(request: HttpRequest, slug: str) -> HttpResponse:
    """The pair that the rater holds or, if they hold none, how to get one."""
    collection = collection_for(request, slug, Role.RATER)
    rater = rater_for(request, collection)
    pair = queue.held_by(rater)
    if pair is None:
        context = {
            "collection": collection,
            "role": collection.role,
            "section": "rate",
            "outlook": queue.outlook(rater),
            "last": last_shown(rater),
            "scale": list(collection.grades.all()),
            "client_key": uuid4(),
        }
        return render(request, "ratings/rate_next.html", context)
    return desk(request, collection, rater, pair)


@require_safe
@never_cache
def rate_pair(request: HttpRequest, slug: str, token: UUID) -> HttpResponse:
    """A pair that the rater has had before, to look at and to grade again."""
    collection = collection_for(request, slug, Role.RATER)
    rater = rater_for(request, collection)
    return desk(request, collection, rater, own_pair(rater, token))


@require_POST
@told_when_busy
def claim(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request, slug, Role.RATER)
    queue.claim(rater_for(request, collection))
    return redirect("rate", slug)


@require_POST
@told_when_busy
def save_rating(request: HttpRequest, slug: str, token: UUID) -> HttpResponse:
    collection = collection_for(request, slug, Role.RATER)
    rater = rater_for(request, collection)
    pair = own_pair(rater, token)
    form = RatingForm(request.POST, collection=collection)
    if not form.is_valid():
        return desk(request, collection, rater, pair, form=form, status=400)
    try:
        queue.save(rater, pair, **form.cleaned_data)
    except queue.Conflict as conflict:
        current = conflict.current or "withdrawn"
        return desk(request, collection, rater, pair, form=form, conflict=current, status=409)
    if "back" in request.POST:
        return redirect("my_ratings", slug)
    queue.claim(rater)
    return redirect("rate", slug)


@require_POST
@told_when_busy
def skip_pair(request: HttpRequest, slug: str, token: UUID) -> HttpResponse:
    collection = collection_for(request, slug, Role.RATER)
    rater = rater_for(request, collection)
    queue.skip(rater, own_pair(rater, token), client_key=sent_key(request))
    queue.claim(rater)
    return redirect("rate", slug)


@require_POST
@told_when_busy
def undo_rating(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request, slug, Role.RATER)
    rater = rater_for(request, collection)
    pair = queue.undo(rater, client_key=sent_key(request))
    if pair is None:
        messages.info(request, "There is nothing to undo.")
        return redirect("rate", slug)
    return redirect("rate_pair", slug, pair.token)


@require_POST
@told_when_busy
def stop_rating(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(request, slug, Role.RATER)
    queue.stop(rater_for(request, collection))
    return redirect("home")


@require_safe
@never_cache
def my_ratings(request: HttpRequest, slug: str) -> HttpResponse:
    """The rater's own latest ratings, to look at and to change."""
    collection = collection_for(request, slug, Role.RATER)
    rater = rater_for(request, collection)
    ratings = Rating.objects.filter(rater=rater).select_related("grade", "pair__query", "pair__document")
    context = {
        "collection": collection,
        "role": collection.role,
        "section": "mine",
        "outlook": queue.outlook(rater),
        "scale": list(collection.grades.all()),
        "ratings": [own(rating) for rating in ratings.order_by("-changed_at", "-pk")[:50]],
    }
    return render(request, "ratings/my_ratings.html", context)


def desk(
    request: HttpRequest,
    collection: Collection,
    rater: Rater,
    pair: Pair,
    *,
    form: RatingForm | None = None,
    conflict: "Rating | str | None" = None,
    status: int = 200,
) -> HttpResponse:
    own_rating = Rating.objects.select_related("grade").filter(pair=pair, rater=rater).first()
    guidelines = collection.latest_guidelines()
    outlook = queue.outlook(rater)
    if form:
        comment = form.data.get("comment", "")
    else:
        comment = own_rating.comment if own_rating else queue.last_comment(rater, pair)
    grades = list(collection.grades.all())
    context = {
        "collection": {"slug": collection.slug, "name": collection.name},
        "role": collection.role,
        "section": "rate",
        "token": pair.token,
        "query": {"text": pair.query.text, "need": pair.query.need},
        "document": shown_document(pair),
        "grades": grades,
        "scale": grades,
        "reasons": Reason.choices,
        "guidelines": rendered(guidelines.text) if guidelines else "",
        "guidelines_version": guidelines.version if guidelines else 0,
        "own": own_rating,
        "comment": comment,
        # A rating that is changed was opened from "My ratings"; a form shown again goes where it would have gone.
        "back": "back" in request.POST if form else own_rating is not None,
        "errors": form.errors if form else {},
        "conflict": conflict,
        "base_revision": own_rating.revision if own_rating else 0,
        "client_key": uuid4(),
        "undo_key": uuid4(),
        "last": last_shown(rater),
        "outlook": outlook,
        "total": outlook.done + outlook.left,
    }
    return render(request, "ratings/rate.html", context, status=status)


def shown_document(pair: Pair) -> dict:
    document = pair.document
    return {"title": document.title, "body": document.body, "url": document.url}


def own_pair(rater: Rater, token: UUID) -> Pair:
    """A pair that this rater holds or has acted on. Raises Http404 for any other."""
    pair = (
        Pair.objects.select_related("query", "document")
        .filter(token=token, query__collection=rater.collection_id)
        .first()
    )
    if pair is None:
        raise Http404("No such pair.")
    acted = RatingEvent.objects.filter(rater=rater, pair=pair).exists()
    if not acted and not pair.assignments.filter(rater=rater).exists():
        raise Http404("No such pair.")
    return pair


def last_shown(rater: Rater) -> dict | None:
    """What undo would take back, in the rater's words."""
    event = queue.last_act(rater)
    if event is None:
        return None
    grade = None
    if event.value is not None:
        grade = rater.collection.grades.filter(value=event.value).first()
    return {"kind": event.kind, "grade": grade, "reason": event.get_reason_display()}


def own(rating: Rating) -> dict:
    return {
        "token": rating.pair.token,
        "query": rating.pair.query.text,
        "document": rating.pair.document.title or "(no title)",
        "grade": rating.grade,
        "reason": rating.get_reason_display(),
        "comment": rating.comment,
        "changed_at": rating.changed_at,
    }


def sent_key(request: HttpRequest) -> UUID | None:
    try:
        return UUID(request.POST.get("client_key", ""))
    except ValueError:
        return None

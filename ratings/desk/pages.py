"""The pages of the desk that several addresses answer with. For what they show see `content`."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from ..models import Grade, Rater, Rating, RatingEvent, Reason, Role
from ..people.access import account_key
from ..presentation.guidelines.changes import changes
from ..presentation.guidelines.markdown import rendered, section_of
from . import queue
from .content import (
    Showing,
    acts_json,
    document_json,
    outlook_json,
    query_json,
    task_json,
    total_of,
)
from .forms import RatingForm
from .keys import keys_of, with_keys
from .queue import Saved, Task

UNDONE = 20  # acts that the desk can take back


def desk(
    request: HttpRequest,
    rater: Rater,
    task: Task,
    *,
    held: list[Task] | None = None,
    form: RatingForm | None = None,
    conflict: "Rating | str | None" = None,
    status: int = 200,
) -> HttpResponse:
    """The page of one task; `held` are the tasks for its script. A refused form keeps what was sent."""
    # A changed rating leads back to "My ratings". A refused form keeps its destination.
    back = "back" in request.POST if form else task.rating is not None
    # A form sends lines that end with CRLF. In a text field of a page they end with LF, as they are stored.
    comment = form.data.get("comment", "").replace("\r\n", "\n") if form else task.comment
    showing = Showing.of(rater, [task, *(held or [])])
    context = desk_context(request, rater, task, showing)
    context |= {
        "token": task.token,
        "document": document_json(task, showing),
        "presentation": showing.version,
        "own": task.rating,
        "warm_up": task.kind == "warm_up",
        "comment": comment,
        "back": back,
        "errors": form.errors if form else {},
        "conflict": conflict,
        "base_revision": task.rating.revision if task.rating else 0,
        "client_key": uuid4(),
    }
    if context["warm_up"]:
        context["place"], context["warm_ups"] = place_in_warm_up(rater, context["outlook"])
        context["desk"] |= {"place": context["place"], "warmUps": context["warm_ups"]}
    context["desk"] |= {
        "back": reverse("my_ratings", args=[rater.collection.slug]) if back else "",
        "tasks": [
            {**task_json(task, showing), "comment": comment},
            *(task_json(each, showing) for each in (held or [])[1:]),
        ],
    }
    return render(request, "ratings/rate.html", context, status=status)


def desk_context(request: HttpRequest, rater: Rater, task: Task, showing: Showing) -> dict:
    """The context that the desk and its list share, without documents. `desk` is the data for the script."""
    collection = rater.collection
    guidelines = collection.latest_guidelines()
    outlook = queue.outlook(rater)
    grades = list(collection.grades.all())
    acts = queue.last_acts(rater, UNDONE)
    version = guidelines.version if guidelines else 0
    unread = version > rater.guidelines_read
    since = collection.guidelines.filter(version=rater.guidelines_read).first() if unread else None
    return {
        **frame(rater, "rate"),
        "query": query_json(task, showing),
        "grades": grades,
        "keyed": with_keys(grades),
        "scale": grades,
        "sections": [(section_of(grade), grade) for grade in grades],
        "reasons": reasons_for(showing),
        "guidelines": rendered(guidelines.text, grades) if guidelines else "",
        "guidelines_version": version,
        "unread": unread,
        "since": since,
        "changes": changes(since.text, guidelines.text) if since else [],
        "undo_key": uuid4(),
        "last": last_act(acts, grades),
        "outlook": outlook,
        "total": total_of(outlook),
        "passwords": settings.PASSWORDS and request.user.has_usable_password(),
        "desk": {
            "account": account_key(request.user),
            "keys": keys_of(grades),
            "base": reverse("rate", args=[collection.slug]),
            "session": reverse("session"),
            "signIn": reverse("sign_in"),
            "mine": reverse("my_ratings", args=[collection.slug]),
            "read": reverse("read_guidelines", args=[collection.slug]),
            "scale": collection.scale_version,
            "guidelines": version,
            "unread": version if unread else 0,
            "break": collection.break_after,
            "outlook": outlook_json(outlook),
            "last": acts_json(acts)[::-1],
        },
    }


def reasons_for(showing: Showing) -> list[tuple[str, str]]:
    """The reasons why a document cannot be judged. A missing picture is one only where pictures are shown."""
    without = () if showing.presented.has_pictures else (Reason.PICTURE,)
    return [(value, label) for value, label in Reason.choices if value not in without]


def place_in_warm_up(rater: Rater, outlook: queue.Outlook) -> tuple[int, int]:
    """The number of the next warm-up, and the number of all."""
    answered = rater.checks.filter(kind="warm_up", event__isnull=False).count()
    left = outlook.left if outlook.why == "warm_up" else 0
    return (answered + 1 if left else answered), answered + left


def answer_page(request: HttpRequest, rater: Rater, task: Task, saved: Saved) -> HttpResponse:
    """The page after a warm-up: the rater's grade, the known one and its explanation."""
    scale = list(rater.collection.grades.all())
    outlook = queue.outlook(rater)
    place, warm_ups = place_in_warm_up(rater, outlook)
    context = {
        **frame(rater, "rate"),
        "left": warm_ups - place + 1 if outlook.why == "warm_up" else 0,
        "warm_ups": warm_ups,
        "task": task_json(task, Showing.of(rater, [task])),
        "given": last_act([saved.event], scale),
        "answer": saved.answer,
        "scale": scale,
    }
    return render(request, "ratings/rate_answer.html", context)


def frame(rater: Rater, section: str) -> dict:
    """The context of the navigation for raters. It has only the names of the collection."""
    collection = rater.collection
    return {
        "collection": {"slug": collection.slug, "name": collection.name},
        "role": Role.RATER,
        "section": section,
    }


def task_or_404(rater: Rater, token: UUID) -> Task:
    task = queue.task(rater, token)
    if task is None:
        raise Http404("This document was never assigned to you.")
    return task


def last_act(acts: Sequence[RatingEvent], scale: Sequence[Grade]) -> dict | None:
    """The latest of `acts`: its grade, the value of a grade that the scale no longer has, or its reason."""
    if not acts:
        return None
    event = acts[0]
    grade = next((step for step in scale if step.value == event.value), None)
    return {"grade": grade, "given": event.value, "reason": event.get_reason_display()}

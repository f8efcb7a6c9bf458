"""The pages of the desk that several addresses answer with. For what they show see `content`."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext

from ..models import Grade, Rater, Rating, RatingEvent, Reason, Role
from ..people.access import account_key
from ..presentation.guidelines.changes import changes
from ..presentation.guidelines.markdown import rendered, section_of
from . import queue
from .content import Showing, acts_json, document_json, outlook_json, query_json, task_json, total_of
from .forms import RatingForm
from .keys import keys_of, with_keys
from .queue import Saved, Task


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
    """The page of one task. A refused form keeps what was sent.

    `held`: the tasks that the rater holds, for the script; this one is the first. None: this one alone.
    `conflict`: the rating that another window stored meanwhile, or "withdrawn" if it was taken back there.
    """
    # A changed rating leads back to "My ratings". A refused form keeps its destination.
    back = "back" in request.POST if form else task.rating is not None
    # A form sends lines that end with CRLF. In a text field of a page they end with LF, as they are stored.
    comment = form.data.get("comment", "").replace("\r\n", "\n") if form else task.comment
    tasks = held or [task]
    showing = Showing.of(rater, tasks)
    context = desk_context(request, rater, tasks, showing) | {
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
            *(task_json(later_task, showing) for later_task in tasks[1:]),
        ],
    }
    return render(request, "ratings/rate.html", context, status=status)


def desk_context(request: HttpRequest, rater: Rater, tasks: Sequence[Task], showing: Showing) -> dict:
    """The context that the desk and its list share, without documents. `desk` is the data for the script.

    The first of the tasks is shown.
    """
    collection = rater.collection
    guidelines = collection.latest_guidelines()
    outlook = queue.outlook(rater, {task.pair.query_id for task in tasks})
    grades = list(collection.grades.all())
    acts = queue.last_acts(rater)
    version = guidelines.version if guidelines else 0
    unread = version > rater.guidelines_read
    # The version that the rater read last, with which the page compares the latest.
    since = collection.guidelines.filter(version=rater.guidelines_read).first() if unread else None
    return {
        **frame(rater, "rate"),
        "query": query_json(tasks[0], showing),
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
        "in_query": in_query(outlook, tasks[0]),
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
            "outlook": outlook_json(outlook, rater),
            "last": acts_json(acts)[::-1],
        },
    }


def in_query(outlook: queue.Outlook, task: Task) -> dict | None:
    """How many tasks of this task's query the rater has done, and of how many; None where that is not counted."""
    counts = (outlook.queries or {}).get(task.pair.query_id)
    return counts and {"done": counts[0], "total": sum(counts)}


def reasons_for(showing: Showing) -> list[tuple[str, str]]:
    """(value, label) of the reasons why a document cannot be judged, in the order of the page.

    "The picture is missing" is a reason only where pictures are shown.
    """
    of_pictures = [Reason.PICTURE] if showing.presented.has_pictures else []
    others = [reason for reason in Reason if reason not in (Reason.PICTURE, Reason.OTHER)]
    return [(reason.value, str(reason.label)) for reason in (*others, *of_pictures, Reason.OTHER)]


def place_in_warm_up(rater: Rater, outlook: queue.Outlook) -> tuple[int, int]:
    """The number of the next warm-up, from 1, and the number of all warm-ups.

    After the last warm-up the first number is that of the last one.
    """
    answered = rater.checks.filter(kind="warm_up", event__isnull=False).count()
    left = outlook.left if outlook.why == "warm_up" else 0
    return (answered + 1 if left else answered), answered + left


def answer_page(request: HttpRequest, rater: Rater, task: Task, saved: Saved) -> HttpResponse:
    """The page after a warm-up: the rater's grade, the right one (`saved.right_answer`) and its explanation."""
    scale = list(rater.collection.grades.all())
    outlook = queue.outlook(rater)
    _, warm_ups = place_in_warm_up(rater, outlook)  # the number of all, answered or not
    context = {
        **frame(rater, "rate"),
        # Of warm-ups: after the last one, `outlook.left` counts pairs.
        "left": outlook.left if outlook.why == "warm_up" else 0,
        "warm_ups": warm_ups,
        "task": task_json(task, Showing.of(rater, [task])),
        "given": last_act([saved.event], scale),  # the rater's own grade
        "answer": saved.right_answer,
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
        raise Http404(gettext("This document was never assigned to you."))
    return task


def last_act(acts: Sequence[RatingEvent], scale: Sequence[Grade]) -> dict | None:
    """The latest of `acts`, which come latest first; None without acts.

    `grade` is its grade on the scale, and None for a reason or if the scale no longer has that grade. Then `given`
    still has the value. `reason` is the label of the reason why the pair could not be judged.
    """
    if not acts:
        return None
    event = acts[0]
    grade = next((grade for grade in scale if grade.value == event.value), None)
    return {"grade": grade, "given": event.value, "reason": event.get_reason_display()}

"""The pages of a rater: the desk, the page without tasks, their own ratings. What they show: `desk.content`."""

from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ...models import Rater
from ...people.access import of_rater
from ...web.pages import paged
from ...web.preferences import in_list
from .. import queue
from ..answers import latest, look_up
from ..content import Showing, outlook_words, task_json
from ..figures import pace_of
from ..pages import desk, desk_context, frame, last_act, task_or_404
from ..queue import Task

RATINGS_ON_PAGE = 20


@require_safe
@of_rater
def rate(request: HttpRequest, rater: Rater) -> HttpResponse:
    """The page of the rater's first task, or of a list of their first tasks.

    For a rater who holds no task, the page of what is left to do, with a button to get tasks.
    """
    held = queue.held(rater)
    if held and in_list(request) and (tasks_of_list := of_one_query(held)):
        return list_page(request, rater, tasks_of_list)
    if held:
        return desk(request, rater, held[0], held=held)
    outlook = queue.outlook(rater)
    to_do, next_step = outlook_words(outlook)
    pace = pace_of(rater)
    guidelines = rater.collection.latest_guidelines()
    scale = list(rater.collection.grades.all())
    context = {
        **frame(rater, "rate"),
        "outlook": outlook,
        "pace": pace,
        "hours": pace.hours(outlook.left) if pace else None,
        # Whether the rater has not read the latest guidelines, and the version that they read; 0: none.
        "unread": guidelines is not None and guidelines.version > rater.guidelines_read,
        "rater_read": rater.guidelines_read,
        "to_do": to_do,
        "next_step": next_step,
        "scale": scale,
        "last": last_act(queue.last_acts(rater, 1), scale),
        "client_key": uuid4(),
    }
    return render(request, "ratings/rate_next.html", context)


@require_safe
@of_rater
def rate_pair(request: HttpRequest, rater: Rater, token: UUID) -> HttpResponse:
    """A task that the rater had before, to change its rating."""
    return desk(request, rater, task_or_404(rater, token))


@require_safe
@of_rater
def my_ratings(request: HttpRequest, rater: Rater) -> HttpResponse:
    """The rater's own ratings, the latest first: all, or some of them.

    In the address, `query` is a text that the query has in it, and `grade` the id of a grade.
    """
    scale = list(rater.collection.grades.all())
    query = request.GET.get("query", "").strip().replace("\0", "")  # PostgreSQL refuses NUL
    grade = next((grade for grade in scale if str(grade.pk) == request.GET.get("grade")), None)
    paging = paged(request, latest(rater, query, grade), RATINGS_ON_PAGE)
    context = {
        **frame(rater, "mine"),
        "outlook": queue.outlook(rater),
        "scale": scale,
        "query": query,
        "grade": grade,
        **paging,
        "answers": look_up(paging["page"].object_list),
    }
    return render(request, "ratings/my_ratings.html", context)


def list_page(request: HttpRequest, rater: Rater, tasks: list[Task]) -> HttpResponse:
    """The page of several tasks of one query, each with a form of its own, in the order of the queue."""
    showing = Showing.of(rater, tasks)
    context = desk_context(request, rater, tasks, showing)
    context["in_grid"] = any(part.kind == "image" for part in showing.presented.document)
    context["desk"]["tasks"] = rows = [task_json(task, showing) for task in tasks]
    context["rows"] = [
        {**row, "place": str(place), "rating": task.rating, "client_key": uuid4()}
        for place, (row, task) in enumerate(zip(rows, tasks, strict=True), 1)
    ]
    return render(request, "ratings/rate_list.html", context)


def of_one_query(held: list[Task]) -> list[Task]:
    """The tasks for a list: those of the first task's query, without warm-ups.

    Empty if the first one is a warm-up, whose known grade is shown right after the answer.
    """
    first = held[0]
    if first.kind == "warm_up":
        return []
    return [task for task in held if task.pair.query_id == first.pair.query_id and task.kind != "warm_up"]

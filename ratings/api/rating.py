"""Rating by program, in the name of the token's owner: get tasks, send what is said of them, read one's own.

It is the desk by another door: what a rater is sent is what `ratings.shown` names, and `ratings.queue` writes.
"""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Query as Q
from ninja import Schema
from pydantic import Field, model_validator

from .. import queue
from ..forms import LONGEST_VISIT, RatingForm
from ..models import Rater, Rating, Reason
from ..shown import outlook_words, rating_shown, saved_shown, task_shown
from .access import rater_in
from .problems import Problem
from .routes import router
from .shapes import Number, OfPage, Page, Sent, page, text

MOST = 100  # ratings in one batch

Uuid = Annotated[UUID, Field(strict=False)]


class TasksIn(Sent):
    count: int = Field(1, ge=1, le=queue.MOST_HELD, description="How many to hold, those held already among them.")


class TextOut(Schema):
    text: str
    need: str


class ReadOut(Schema):
    title: str
    body: str
    url: str


class SaidOut(Schema):
    grade: str | None
    reason: str


class TaskOut(Schema):
    token: UUID
    query: TextOut
    document: ReadOut
    own: SaidOut | None = Field(description="What you say of it now.")
    base_revision: int = Field(description="Send it along, so that nothing is overwritten unseen.")
    comment: str
    warm_up: bool


class TasksOut(Schema):
    tasks: list[TaskOut]
    words: list[str] = Field(description="What there is for you, and what happens next.")


class OwnIn(Sent):
    token: Uuid
    key: Uuid = Field(description="Made by you for this rating: sent again, it is the same rating.")
    grade: Number | None = None
    reason: Literal[tuple(Reason.values)] | None = Field(None, description="Why it cannot be judged.")
    comment: text(5_000) = ""
    base_revision: int = Field(
        0, ge=0, le=2**31 - 1, description="That of the task, or of your last rating of it."
    )
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _grade_or_reason(self) -> "OwnIn":
        if (self.grade is None) == (self.reason is None):
            raise ValueError("a rating is a grade, or a reason why the pair cannot be judged")
        return self


class OwnBatch(Sent):
    ratings: Annotated[list[OwnIn], Field(min_length=1, max_length=MOST)]


class AnswerOut(Schema):
    grade: str
    reason: str
    explanation: str


class SavedOut(Schema):
    token: UUID
    key: UUID
    saved: bool = Field(description="false: it was changed elsewhere; `current` is what is stored.")
    revision: int
    said: str
    warm_up: AnswerOut | None = None
    current: SaidOut | None = None


class SavedBatch(Schema):
    results: list[SavedOut]


class OwnOut(Schema):
    token: UUID
    query: str
    document: str
    grade: str | None
    reason: str
    comment: str
    revision: int
    changed_at: datetime


@router.post("/collections/{slug:slug}/tasks", response=TasksOut, tags=["rating"], summary="Get what to rate next")
def tasks(request: HttpRequest, slug: str, sent: TasksIn):
    """Leases them to you for some hours, as the desk does."""
    rater = rater_in(request, slug)
    found = queue.claim(rater, sent.count)
    words = [] if found else [said for said in outlook_words(queue.outlook(rater)) if said]
    return {"tasks": [task_shown(task) for task in found], "words": words}


@router.post(
    "/collections/{slug:slug}/my-ratings", response=SavedBatch, tags=["rating"], summary="Rate what you were given"
)
def save_my_ratings(request: HttpRequest, slug: str, sent: OwnBatch):
    """All are checked before the first is saved. Then each is saved by itself; one that was changed elsewhere
    meanwhile is not, and says so. A batch that is sent again changes nothing."""
    rater = rater_in(request, slug)
    checked = [checked_rating(rater, place, row) for place, row in enumerate(sent.ratings)]
    errors = [error for _, _, found in checked for error in found]
    if errors:
        raise Problem(422, "Nothing was saved: there is something to correct.", kind="refused", errors=errors)
    saved = [
        saved_rating(rater, row, task, cleaned)
        for row, (task, cleaned, _) in zip(sent.ratings, checked, strict=True)
    ]
    return {"results": saved}


@router.get(
    "/collections/{slug:slug}/my-ratings", response=Page[OwnOut], tags=["rating"], summary="Your own ratings"
)
def my_ratings(request: HttpRequest, slug: str, asked: Q[OfPage]):
    rows = Rating.objects.filter(rater=rater_in(request, slug))
    return page(rows.select_related("grade", "pair__query", "pair__document"), asked, own_shown)


def checked_rating(rater: Rater, place: int, row: OwnIn) -> tuple[queue.Task | None, dict, list[dict]]:
    """The task and what `queue.save` takes, or what is wrong with them."""
    task, at = queue.task(rater, row.token), {"pointer": f"/ratings/{place}", "index": place}
    if task is None:
        return None, {}, [at | {"detail": "You were never given this document."}]
    seconds = None if row.seconds is None else min(row.seconds, LONGEST_VISIT)
    given = row.model_dump(exclude={"token", "key", "seconds"}, exclude_none=True)
    given |= {"client_key": row.key} | ({} if seconds is None else {"seconds": seconds})
    form = RatingForm(given, collection=rater.collection)
    if form.is_valid():
        return task, form.cleaned_data, []
    return task, {}, [at | {"detail": said} for errors in form.errors.values() for said in errors]


def saved_rating(rater: Rater, row: OwnIn, task: queue.Task, cleaned: dict) -> dict:
    about = {"token": row.token, "key": row.key}
    try:
        return about | {"saved": True} | saved_shown(queue.save(rater, task, **cleaned))
    except queue.Conflict as conflict:
        stored = conflict.current
        told = {"revision": stored.revision if stored else 0, "said": "It was changed elsewhere meanwhile."}
        return about | {"saved": False} | told | {"current": rating_shown(stored)}


def own_shown(rating: Rating) -> dict:
    """As the page of one's own ratings has it."""
    pair = rating.pair
    names = ("comment", "reason", "revision", "changed_at")
    return {name: getattr(rating, name) for name in names} | {
        "token": pair.token,
        "query": pair.query.text,
        "document": pair.document.title,
        "grade": rating.grade.plain if rating.grade else None,
    }

"""Rating by programs, in the name of the token's owner: get tasks, save ratings, read one's own.

It shares its rules with the rating desk: `desk.content` makes what a rater is sent, and `desk.queue` writes.
"""

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated, Literal
from uuid import UUID

from django.shortcuts import get_object_or_404
from ninja import Query as Q
from ninja import Schema
from pydantic import Field, StringConstraints

from ..desk import queue
from ..desk.answers import Answer, answers
from ..desk.content import Showing, outlook_words, parts_json, rating_json, saved_json, task_json
from ..desk.forms import LONGEST_VISIT, RatingForm
from ..importing.pictures.store import sent
from ..models import Rater
from ..web import limits
from ..web.problems import Problem
from .access import TokenRequest, rater_in
from .routes import router
from .shapes import OfPage, Page, Said, Sent

RATINGS_PER_BATCH = 100  # at most
KEY_USED = "This key came with another rating before. Give each rating a key of its own."
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Uuid = Annotated[UUID, Field(strict=False)]


class TasksIn(Sent):
    count: int = Field(1, ge=1, le=queue.MOST_HELD, description="How many to hold, those held already among them.")


class TextOut(Schema):
    text: str
    need: str


class PictureOut(Schema):
    alt: str
    token: UUID | None = Field(description="Under which it is fetched; null where it is missing.")
    width: int = Field(description="Of the small one, in pixels.")
    height: int
    problem: str


class PartOut(Schema):
    kind: str
    label: str
    text: str
    items: list[str | list[str]] = Field(description="Of a list; rows of a table.")
    html: str = Field(description="Of a rich text.")
    pictures: list[PictureOut]


class ReadOut(Schema):
    title: str | None
    parts: list[PartOut] = Field(description="What the presentation shows besides, in its order.")


class SaidOut(Schema):
    grade: float | None
    reason: str


class TaskOut(Schema):
    token: UUID
    query: TextOut
    document: ReadOut
    own: SaidOut | None = Field(description="What you say of it now.")
    base_revision: int = Field(description="Send it along, so that nothing is overwritten unseen.")
    presentation: int = Field(description="The version in which it is shown; 0 is a web page.")
    comment: str
    warm_up: bool


class TasksOut(Schema):
    tasks: list[TaskOut]
    words: list[str] = Field(description="What there is for you, and what happens next.")


class OwnIn(Said):
    token: Uuid
    key: Uuid = Field(description="Made by you for this rating alone: sent again, it is the same rating.")
    base_revision: int = Field(
        0, ge=0, le=2**31 - 1, description="That of the task, or of your last rating of it."
    )


class OwnBatch(Sent):
    ratings: Annotated[list[OwnIn], Field(min_length=1, max_length=RATINGS_PER_BATCH)]


class AnswerOut(Schema):
    grade: float
    reason: str
    explanation: str


class SavedOut(Schema):
    token: UUID
    key: UUID
    saved: bool = Field(
        description="false: `said` says why, and `current` is what is stored if it was changed elsewhere."
    )
    revision: int
    said: str
    warm_up: AnswerOut | None = None
    current: SaidOut | None = None


class SavedBatch(Schema):
    results: list[SavedOut]


class OfOwn(OfPage):
    cursor: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,16}-[0-9a-f]{32}$")] | None = Field(
        None, description="`next` of the page before."
    )

    @property
    def after(self) -> tuple[datetime, UUID] | None:
        if self.cursor is None:
            return None
        at, token = self.cursor.split("-")
        return EPOCH + timedelta(microseconds=int(at)), UUID(token)


class OwnOut(Schema):
    token: UUID
    query: str = Field(alias="rating.pair.query.text")
    document: str = Field(alias="rating.pair.document.title")
    grade: float | None
    reason: str = Field(alias="rating.reason")
    comment: str = Field(alias="rating.comment")
    revision: int = Field(alias="rating.revision")
    changed_at: datetime = Field(alias="rating.changed_at")

    @staticmethod
    def resolve_grade(answer: Answer) -> float | None:
        grade = answer.rating.grade
        return float(grade.value) if grade else None


@router.post("/collections/{slug:slug}/tasks", response=TasksOut, tags=["rating"], summary="Get what to rate next")
def get_tasks(request: TokenRequest, slug: str, body: TasksIn):
    """Leases pairs to you for some hours, as the desk does."""
    rater = rater_in(request, slug)
    claimed = queue.claim(rater, body.count)
    words = [] if claimed else [sentence for sentence in outlook_words(queue.outlook(rater)) if sentence]
    showing = Showing.of(rater, claimed)
    return {"tasks": [task_json(task, showing, parts_json) for task in claimed], "words": words}


@router.get("/collections/{slug:slug}/pictures/{uuid:token}/{size}", tags=["rating"], summary="A picture as WebP")
def get_picture(request: TokenRequest, slug: str, token: UUID, size: Literal["small", "large"]):
    """The picture for a token that a task has."""
    rater = rater_in(request, slug)
    return sent(get_object_or_404(rater.collection.pictures, token=token, state="ready"), size)


@router.post(
    "/collections/{slug:slug}/my-ratings", response=SavedBatch, tags=["rating"], summary="Rate what you were given"
)
def save_my_ratings(request: TokenRequest, slug: str, body: OwnBatch):
    """Checks all ratings before the first is saved. Then each is saved by itself. A rating that was changed
    elsewhere meanwhile is not saved, and its result says so. A batch that is sent again changes nothing.
    """
    rater = rater_in(request, slug)
    tasks = [queue.task(rater, row.token) for row in body.ratings]  # None for a pair that was never assigned
    # Rows whose key came with another rating, which are refused. The same rating may come again with its key.
    places_with_used_key = used_keys(rater, body.ratings, tasks)
    submissions: list[queue.Submission | None] = []
    errors: list[dict] = []
    for place, row in enumerate(body.ratings):
        submission, problems = checked_rating(rater, place, row, tasks[place], place in places_with_used_key)
        submissions.append(submission)
        errors += problems
    if errors:
        raise Problem(422, "Nothing was saved: there is something to correct.", kind="refused", errors=errors)
    checked = zip(body.ratings, tasks, submissions, strict=True)
    return {"results": [saved_rating(rater, row, task, submission) for row, task, submission in checked]}


@router.get(
    "/collections/{slug:slug}/my-ratings", response=Page[OwnOut], tags=["rating"], summary="Your own ratings"
)
def list_my_ratings(request: TokenRequest, slug: str, asked: Q[OfOwn]):
    # One more than the page has tells whether there is a next page.
    rows = list(islice(answers([rater_in(request, slug)], after=asked.after), asked.limit + 1))
    items = rows[: asked.limit]
    return {"items": items, "next": own_cursor(items[-1]) if len(rows) > len(items) else None}


def used_keys(rater: Rater, rows: list[OwnIn], tasks: list[queue.Task | None]) -> set[int]:
    """The places of rows, from 0, whose key came with another rating, in this batch or before.

    The client makes a key for each rating, so that a rating that is sent twice is saved once. `tasks`: the task of
    each row, None where the rater has none.
    """
    with_task = [place for place, task in enumerate(tasks) if task]
    are_used = queue.used(rater, [(tasks[place], rows[place].key) for place in with_task])
    places = {place for place, is_used in zip(with_task, are_used, strict=True) if is_used}
    token_by_key: dict[UUID, UUID] = {}  # the token of the first row of the batch with the key
    for place, row in enumerate(rows):
        if token_by_key.setdefault(row.key, row.token) != row.token:
            places.add(place)
    return places


def checked_rating(
    rater: Rater, place: int, row: OwnIn, task: queue.Task | None, key_is_used: bool
) -> tuple[queue.Submission | None, list[dict]]:
    """(what is to be saved for a row, []) or, for a row with errors, (None, its errors for a problem document).

    `place`: of the row in the batch, from 0. `key_is_used`: whether its key came with another rating.
    """
    position = {"pointer": f"/ratings/{place}", "index": place}
    if task is None:
        return None, [position | {"detail": "This document was never assigned to you."}]
    if key_is_used:
        return None, [position | {"pointer": f"/ratings/{place}/key", "detail": KEY_USED}]
    data = row.model_dump(exclude={"token", "key"}, exclude_none=True) | {"client_key": row.key}
    if row.seconds is not None:  # a longer visit says nothing about the effort
        data["seconds"] = min(row.seconds, LONGEST_VISIT)
    form = RatingForm(data, collection=rater.collection)
    if form.is_valid():
        return form.submission, []
    if form.has_error("grade"):
        scale = ", ".join(grade.plain for grade in rater.collection.grades.all())
        detail = f"The scale has no grade {row.grade:g}; it is {scale}."
        return None, [position | {"pointer": f"/ratings/{place}/grade", "detail": detail}]
    messages = [message for messages_of_field in form.errors.values() for message in messages_of_field]
    return None, [position | {"detail": message} for message in messages]


def saved_rating(rater: Rater, row: OwnIn, task: queue.Task, submission: queue.Submission) -> dict:
    """Save the rating of a row, and return its result as a dict of `SavedOut`.

    The result says why if nothing was saved, and has the stored rating if that was changed elsewhere.
    """
    result = {"token": row.token, "key": row.key, "saved": False}
    stored = task.rating  # None if the rater has not rated the pair yet
    try:
        rating = queue.save(rater, task, submission)
        return result | {"saved": True} | saved_json(rating)  # which has revision, said and warm_up
    except queue.KeyUsed:  # by another call, after this one was checked
        reason = KEY_USED
    except limits.Reached as reached:
        reason = reached.messages[0]
    except queue.Conflict as conflict:
        reason = "It was changed elsewhere meanwhile."
        stored = conflict.current
        result["current"] = rating_json(stored)
    return result | {"said": reason, "revision": stored.revision if stored else 0}


def own_cursor(answer: Answer) -> str:
    """The cursor of a page that ends with this answer: its time in microseconds since 1970, and its token.

    It is not an id, because ratings and answers to repeats are two tables with ids of their own.
    """
    return f"{(answer.rating.created_at - EPOCH) // timedelta(microseconds=1)}-{answer.token.hex}"

"""Everything that the server sends to a rater, field by field.

It must not contain a rank, score or system, anything of other raters, whether a grade is known, or an id that
tells the order of import. Tasks are therefore named by random tokens.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from django.template.loader import render_to_string

from ..models import Rater, RatingEvent, plain_value
from ..presentation.content import source_of, source_of_query
from ..presentation.html import html_of, render_document
from ..presentation.parts import Presented, pieces_of
from ..presentation.pictures import NONE, Pictures, pictures_of
from ..presentation.versions import presented_in
from ..web.template_tags.figures import left_words
from ..words import counted
from .queue import Outlook, Saved, Task

# What a rater is told about the fate of a rating. "Surplus" is missing, as it would reveal extra gold.
FATES = {
    "retired": "This document is no longer needed. Your rating is kept.",
}


class Showing(NamedTuple):
    """The presentation that a rater sees, and the pictures of their tasks."""

    version: int
    presented: Presented
    pictures: Pictures

    @classmethod
    def of(cls, rater: Rater, tasks: Sequence[Task]) -> "Showing":
        """The presentation for a rater annotated with `presentation_now`.

        No query without a presentation, one with it, two with pictures.
        """
        version = rater.presentation_now or 0
        presented = presented_in(rater.collection_id, version)
        if not presented.has_pictures:
            return cls(version, presented, NONE)
        sources = [source_of(task.pair.document) for task in tasks]
        sources += [source_of_query(task.pair.query) for task in tasks]
        parts = (*presented.document, *presented.query)
        return cls(version, presented, pictures_of(rater.collection_id, parts, sources))


def task_json(task: Task, showing: Showing, read: Callable[[Task, Showing], dict] | None = None) -> dict:
    """The task as JSON. `read` makes the member `document`; by default it is HTML."""
    return {
        "token": str(task.token),
        "query": query_json(task, showing),
        "document": (read or document_json)(task, showing),
        "presentation": showing.version,
        "own": rating_json(task.rating),
        "base_revision": task.rating.revision if task.rating else 0,
        "comment": task.comment,
        "warm_up": task.kind == "warm_up",
    }


def query_json(task: Task, showing: Showing) -> dict:
    query = task.pair.query
    pieces = pieces_of(showing.presented.query, source_of_query(query))
    return {"text": query.text, "need": query.need, "html": html_of(pieces, showing.pictures) if pieces else ""}


def document_json(task: Task, showing: Showing) -> dict:
    """The document as HTML. `title` is None if the presentation shows none."""
    rendered = render_document(showing.presented, source_of(task.pair.document), showing.pictures)
    html = rendered.html + render_to_string("ratings/_no_text.html") if rendered.bare else rendered.html
    return {"title": rendered.title, "html": html, "long": rendered.long}


def parts_json(task: Task, showing: Showing) -> dict:
    """The document for programs, part by part."""
    rendered = render_document(showing.presented, source_of(task.pair.document), showing.pictures)
    parts = [
        {**piece._asdict(), "items": [], "pictures": [picture._asdict() for picture in pictures]}
        if pictures
        else {**piece._asdict(), "pictures": []}
        for piece, pictures in zip(rendered.pieces, rendered.pictures, strict=True)
    ]
    return {"title": rendered.title, "parts": parts}


def rating_json(rating) -> dict | None:
    """The rater's own rating: the value of its grade as text, and its reason."""
    if rating is None:
        return None
    return {"grade": rating.grade.plain if rating.grade else None, "reason": rating.reason}


def saved_json(saved: Saved) -> dict:
    """The response to a save. Only that of a warm-up has the known grade."""
    answer = saved.answer
    known = {"grade": answer.grade.plain, "reason": "", "explanation": answer.explanation} if answer else None
    return {
        "revision": saved.rating.revision if saved.rating else 0,
        "said": FATES.get(saved.fate, ""),
        "warm_up": known,
    }


def acts_json(events: Iterable[RatingEvent]) -> list[dict]:
    """The events of `queue.last_acts`. A repeat looks like any other grade."""
    return [
        {
            "key": str(event.client_key) if event.client_key else None,
            "token": str(event.token),
            "grade": None if event.value is None else plain_value(event.value),
            "reason": event.reason,
        }
        for event in events
    ]


def outlook_json(outlook: Outlook) -> dict:
    return {
        "done": outlook.done,
        "total": total_of(outlook),
        "more": outlook.more,
        "left": left_words(outlook),
        "words": list(outlook_words(outlook)),
    }


def total_of(outlook: Outlook) -> int:
    """The end of the progress bar: how many tasks there will be in all."""
    return outlook.done + outlook.left


def outlook_words(outlook: Outlook) -> tuple[str, str]:
    """Two sentences for this rater: what there is to do, and what happens next."""
    done, left = outlook.done, outlook.left
    if outlook.why == "put_away":
        return (
            "This collection is put away: nothing is rated in it at the moment.",
            "An admin of the collection decides that. Your ratings are kept.",
        )
    if outlook.why == "not_active":
        return (
            "You get no documents here at the moment.",
            "An admin of the collection decides that. Your ratings are kept.",
        )
    if outlook.why == "limit":
        return f"You have rated all that you were asked for: {counted(done, 'document')}. Thank you.", ""
    if left:
        words = left_words(outlook, "document").capitalize()
        words += f" wait{'s' if outlook.left == 1 else ''} for your rating"
        return f"{words}; you have rated {done}." if done else f"{words}.", ""
    if outlook.held_by_others:
        others = outlook.held_by_others
        verb = "are" if others > 1 else "is"
        back = f"{outlook.next_return:%H:%M} UTC"
        return (
            "Nothing for you at this moment.",
            f"{counted(others, 'document')} {verb} open at other raters and may come back at {back}.",
        )
    if done:
        return (
            f"All done. Thank you for {counted(done, 'rating')}.",
            "When new documents come in they will wait here.",
        )
    return (
        "There is nothing to rate yet.",
        "An admin of the collection chooses which documents want ratings. They will wait for you here.",
    )

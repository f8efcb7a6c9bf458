"""Everything that the server sends to a rater, field by field.

It must not contain a rank, score or system, anything of other raters, whether a grade is known, or an id that
tells the order of import. Tasks are therefore named by random tokens. A warm-up is a task before the first other
pair. Its grade is known, and the rater sees it after their own.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils.crypto import salted_hmac
from django.utils.formats import number_format
from django.utils.translation import gettext, gettext_lazy, ngettext

from ..models import Rater, RatingEvent, plain_value
from ..presentation.content import source_of, source_of_query
from ..presentation.html import html_of, render_document
from ..presentation.parts import Presented, pieces_of
from ..presentation.pictures import NO_PICTURES, Pictures, pictures_of
from ..presentation.versions import presented_in
from ..web.template_tags.figures import left_words
from .queue import Outlook, Saved, Task

# What a rater is told about the outcome of a rating. "Surplus" is missing, as it would reveal extra gold.
OUTCOME_MESSAGES = {
    "retired": gettext_lazy("This document is no longer needed. Your rating is kept."),
}


class Showing(NamedTuple):
    """The presentation that a rater sees, and the pictures of their tasks."""

    version: int
    presented: Presented
    pictures: Pictures
    rater: int  # the id of the rater who is shown the tasks

    @classmethod
    def of(cls, rater: Rater, tasks: Sequence[Task]) -> "Showing":
        """The latest presentation, for a rater annotated with its version as `presentation_now`.

        Database queries: none without a presentation, one with it, two with pictures.
        """
        version = rater.presentation_now or 0  # 0: the collection has none, and documents look as web pages do
        presented = presented_in(rater.collection_id, version)
        pictures = NO_PICTURES
        if presented.has_pictures:
            sources = [source_of(task.pair.document) for task in tasks]
            sources += [source_of_query(task.pair.query) for task in tasks]
            pictures = pictures_of(rater.collection_id, (*presented.document, *presented.query), sources)
        return cls(version, presented, pictures, rater.pk)


def task_json(task: Task, showing: Showing, to_json: Callable[[Task, Showing], dict] | None = None) -> dict:
    """The task as JSON. `to_json` makes its member `document`; None: `document_json`, which makes HTML.

    `token` is the id by which the rater's acts name the task. `own` is the rater's present rating of the pair, or
    None, and `base_revision` its revision, which a save sends back, so that it cannot overwrite a newer rating.
    `comment` is what the field for it holds at first. `warm_up`: whether the known grade follows the answer.
    """
    return {
        "token": str(task.token),
        "query": query_json(task, showing),
        "document": (to_json or document_json)(task, showing),
        "presentation": showing.version,
        "own": rating_json(task.rating),
        "base_revision": task.rating.revision if task.rating else 0,
        "comment": task.comment,
        "warm_up": task.kind == "warm_up",
    }


def query_json(task: Task, showing: Showing) -> dict:
    query = task.pair.query
    pieces = pieces_of(showing.presented.query, source_of_query(query))
    return {
        "token": query_token(showing.rater, query.pk),
        "text": query.text,
        "need": query.need,
        "html": html_of(pieces, showing.pictures) if pieces else "",
    }


def query_token(rater: int, query: int) -> str:
    """What names the query on the pages of the rater: its id would tell the order of import."""
    return salted_hmac("ratings.desk.query", f"{rater} {query}").hexdigest()[:16]


def document_json(task: Task, showing: Showing) -> dict:
    """The document as HTML. `title` is None if the presentation shows none."""
    rendered = render_document(showing.presented, source_of(task.pair.document), showing.pictures)
    html = rendered.html + render_to_string("ratings/_no_text.html") if rendered.bare else rendered.html
    return {"title": rendered.title, "html": html, "long": rendered.long}


def parts_json(task: Task, showing: Showing) -> dict:
    """The document for programs, part by part. The `items` of a part with pictures are their sources: not sent."""
    rendered = render_document(showing.presented, source_of(task.pair.document), showing.pictures)
    parts = []
    for piece, pictures in zip(rendered.pieces, rendered.pictures, strict=True):
        part = {**piece._asdict(), "pictures": [picture._asdict() for picture in pictures]}
        parts.append(part | {"items": []} if pictures else part)
    return {"title": rendered.title, "parts": parts}


def rating_json(rating) -> dict | None:
    """The rater's own rating: the value of its grade as text, and its reason."""
    if rating is None:
        return None
    return {"grade": rating.grade.plain if rating.grade else None, "reason": rating.reason}


def saved_json(saved: Saved) -> dict:
    """The response to a save. Only that of a warm-up has the known grade."""
    right = saved.right_answer  # None but for a warm-up
    known = {"grade": right.grade.plain, "reason": "", "explanation": right.explanation} if right else None
    return {
        "revision": saved.rating.revision if saved.rating else 0,
        "said": OUTCOME_MESSAGES.get(saved.outcome, ""),
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


def outlook_json(outlook: Outlook, rater: Rater) -> dict:
    """The progress as JSON. Its `queries` are those of the outlook, by token in place of id."""
    queries = outlook.queries
    return {
        "queries": queries and {query_token(rater.pk, query): counts for query, counts in queries.items()},
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
    """Two texts for a rater: what there is to do, and what happens next, which may be empty.

    `outlook.left` counts what waits for them, and `outlook.done` their answers so far. The reason why they get no
    pairs (`outlook.why`) comes before all numbers.
    """
    done, left = outlook.done, outlook.left
    by_admin = gettext("An admin of the collection decides that. Your ratings are kept.")
    if outlook.why == "put_away":
        return gettext("This collection is put away: nothing is rated in it at the moment."), by_admin
    if outlook.why == "not_active":
        return gettext("You get no documents here at the moment."), by_admin
    if outlook.why == "limit":
        thanks = ngettext(
            "You have rated all that you were asked for: %(n)s document. Thank you.",
            "You have rated all that you were asked for: %(n)s documents. Thank you.",
            done,
        )
        return with_number(thanks, done), ""
    if outlook.why == "warm_up":  # `left` is then the number of warm-ups that are not answered
        first = ngettext("%(n)s warm-up comes first.", "%(n)s warm-ups come first.", left)
        return with_number(first, left), ""
    if left:
        return waiting_words(outlook), ""
    if outlook.held_by_others:
        held = ngettext(
            "%(n)s document is open at other raters and may come back at %(time)s UTC.",
            "%(n)s documents are open at other raters and may come back at %(time)s UTC.",
            outlook.held_by_others,
        )
        time = f"{outlook.next_return:%H:%M}"
        return gettext("Nothing for you at this moment."), with_number(held, outlook.held_by_others, time=time)
    if done:
        thanks = ngettext("All done. Thank you for %(n)s rating.", "All done. Thank you for %(n)s ratings.", done)
        return with_number(thanks, done), gettext("When new documents come in they will wait here.")
    return (
        gettext("There is nothing to rate yet."),
        gettext("An admin of the collection chooses which documents want ratings. They will wait for you here."),
    )


def waiting_words(outlook: Outlook) -> str:
    """One sentence about what waits for the rater and, if they have rated, one about what they have done."""
    left = outlook.left
    if outlook.more:  # `left` is the greatest number that is counted
        waits = gettext("More than %(n)s documents wait for your rating.")
    else:
        waits = ngettext("%(n)s document waits for your rating.", "%(n)s documents wait for your rating.", left)
    waits = with_number(waits, left)
    if not outlook.done:
        return waits
    rated = ngettext("You have rated %(n)s document.", "You have rated %(n)s documents.", outlook.done)
    return f"{waits} {with_number(rated, outlook.done)}"


def with_number(words: str, number: int, **more: str) -> str:
    return words % {"n": number_format(number, force_grouping=True), **more}

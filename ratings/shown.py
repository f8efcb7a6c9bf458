"""What a rater is sent, field by field. What is not named here, no page and no answer of the desk contains.

No rank, score or system, nothing of others' ratings, not whether the answer is known already, no order of import:
tasks are known by random tokens alone.
"""

from collections.abc import Iterable

from .models import RatingEvent, plain_value
from .queue import Outlook, Saved, Task

# What became of a rating, where it is worth a word to who gave it.
FATES = {
    "surplus": "Others had judged this document as well by then. Yours is kept.",
    "retired": "This document is no longer needed. Your rating is kept.",
}


def task_shown(task: Task) -> dict:
    pair = task.pair
    return {
        "token": str(task.token),
        "query": {"text": pair.query.text, "need": pair.query.need},
        "document": document_shown(task),
        "own": rating_shown(task.rating),
        "base_revision": task.rating.revision if task.rating else 0,
        "comment": task.comment,
        "warm_up": task.kind == "warm_up",
    }


def document_shown(task: Task) -> dict:
    document = task.pair.document
    return {"title": document.title, "body": document.body, "url": document.url}


def rating_shown(rating) -> dict | None:
    """A rater's own rating: its grade as a number in text, or its reason."""
    if rating is None:
        return None
    return {"grade": rating.grade.plain if rating.grade else None, "reason": rating.reason}


def saved_shown(saved: Saved) -> dict:
    """What the desk needs to go on after a save. Only a warm-up tells what the answer should have been."""
    answer = saved.answer
    known = {"grade": answer.grade.plain, "reason": "", "explanation": answer.explanation} if answer else None
    return {
        "revision": saved.rating.revision if saved.rating else 0,
        "said": FATES.get(saved.fate, ""),
        "warm_up": known,
    }


def acts_shown(events: Iterable[RatingEvent]) -> list[dict]:
    """What `queue.last_acts` says that undo can take back, latest first. A repeat looks like any other grade."""
    return [
        {
            "key": str(event.client_key) if event.client_key else None,
            "token": str(event.token),
            "grade": None if event.value is None else plain_value(event.value),
            "reason": event.reason,
        }
        for event in events
    ]


def outlook_shown(outlook: Outlook) -> dict:
    lead, more = outlook_words(outlook)
    return {"done": outlook.done, "left": outlook.left, "more": outlook.more, "words": [lead, more]}


def outlook_words(outlook: Outlook) -> tuple[str, str]:
    """What there is for this rater, and what happens next: true in every case."""
    done, left = outlook.done, outlook.left
    if outlook.why == "not_active":
        return (
            "You get no documents here at the moment.",
            "An admin of the collection decides that. Your ratings are kept.",
        )
    if outlook.why == "limit":
        return f"You have rated all that you were asked for: {counted(done, 'document')}. Thank you.", ""
    if left:
        words = f"{left}{'+' if outlook.more else ''} document{'s wait' if left > 1 else ' waits'} for your rating"
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


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

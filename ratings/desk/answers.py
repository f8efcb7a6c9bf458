"""A rater's own answers as they see them. An answer to a repeat looks like any other rating.

A repeat is a pair that the rater grades again: a `Check`, whose answer is an event and no rating.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from django.db.models import F, Min, OuterRef, Q, QuerySet, Subquery, Value

from ..models import Check, Grade, Rater, Rating, RatingEvent
from .queue import answers_of

ROWS_AT_ONCE = 1_000  # rows that are read at a time: a person may have rated a hundred thousand pairs
JOINS_OF_PAIR = ("pair__query__collection", "pair__document")


class Answer(NamedTuple):
    """One rating or answer to a repeat. The text of the document is not loaded."""

    token: UUID  # of the pair or, for a repeat, of the check: the id of the task that the rater saw
    rating: Rating  # for a repeat its answer, which is not stored as a rating


def answers(raters: Iterable[Rater], *, after: tuple[datetime, UUID] | None = None) -> Iterator[Answer]:
    """The ratings of these raters and their answers to repeats, sorted by the time when they were first given.

    Equal times are sorted by token. `after`: the time and the token of an answer; only those after it are read.
    """
    ratings = Rating.objects.filter(rater__in=raters).annotate(at=F("created_at"), task_token=F("pair__token"))
    # The rater's answers to the repeat of the outer query, without undone ones. A changed answer is another event.
    events_of_repeat = RatingEvent.objects.standing().filter(
        rater=OuterRef("rater"), pair=OuterRef("pair"), kind=OuterRef("kind")
    )
    # All these events are of one pair, so grouping by the pair makes one row, with the time of the first answer.
    first_time = events_of_repeat.order_by().values("pair").annotate(first=Min("created_at")).values("first")
    # A repeat has a token of its own, by which its rater knows it, so the token of its pair is not used.
    repeats = answered_repeats(raters).annotate(at=Subquery(first_time), task_token=F("token"))
    return merge(
        _read_after(after, ratings.select_related("grade", *JOINS_OF_PAIR), ratings_as_answers),
        _read_after(after, with_event_and_pair(repeats), repeats_as_answers),
        # `at` and `task_token` of the row: an answer to a repeat, too, has the time of the first answer as its
        # `created_at`. Both databases sort tokens as `hex` does.
        key=lambda answer: (answer.rating.created_at, answer.token.hex),
    )


def _read_after(
    after: tuple[datetime, UUID] | None, rows: QuerySet, to_answers: Callable[[list], list[Answer]]
) -> Iterator[Answer]:
    """The answers that `to_answers` makes of the rows, sorted by time and token: all, or only those after `after`.

    `rows` are annotated with the time, as `at`, and with the token, as `task_token`. They are read in pieces.
    """
    if after:
        at, token = after
        rows = rows.filter(Q(at__gt=at) | Q(at=at, task_token__gt=token))
    row_iterator = without_text(rows.order_by("at", "task_token")).iterator(chunk_size=ROWS_AT_ONCE)
    while chunk := list(islice(row_iterator, ROWS_AT_ONCE)):
        yield from to_answers(chunk)


def latest(rater: Rater, text: str, grade: Grade | None) -> QuerySet:
    """The keys of the rater's answers, for `look_up`, the latest first: (time, 1 for a repeat or 0, id).

    Only answers for queries that have `text` in their text and, if there is a `grade`, only those with it.
    All rows are sorted, but only `look_up` reads the documents and collections, for the keys of one page: to read
    those of a hundred thousand rows before the sort would take seconds.
    """
    ratings = Rating.objects.filter(rater=rater, pair__query__text__icontains=text)
    repeats = answered_repeats([rater]).filter(pair__query__text__icontains=text)
    if grade:
        ratings = ratings.filter(grade=grade)
        repeats = repeats.filter(event__value=grade.value)
    ratings = ratings.annotate(at=F("changed_at"), repeat=Value(0))
    repeats = repeats.annotate(at=F("event__created_at"), repeat=Value(1))
    columns = ("at", "repeat", "pk")
    keys = ratings.values_list(*columns).union(repeats.values_list(*columns), all=True)
    return keys.order_by("-at", "-repeat", "-pk")


def look_up(keys: Iterable[tuple[datetime, int, int]]) -> list[Answer]:
    """The answers with these keys, without those that were withdrawn meanwhile."""
    keys = list(keys)
    rating_ids = [pk for _, is_repeat, pk in keys if not is_repeat]
    check_ids = [pk for _, is_repeat, pk in keys if is_repeat]
    ratings = list(without_text(Rating.objects.select_related("grade", *JOINS_OF_PAIR).filter(pk__in=rating_ids)))
    repeats = list(without_text(with_event_and_pair(Check.objects.filter(pk__in=check_ids, event__isnull=False))))
    by_key = {(0, row.pk): answer for row, answer in zip(ratings, ratings_as_answers(ratings), strict=True)}
    by_key |= {(1, row.pk): answer for row, answer in zip(repeats, repeats_as_answers(repeats), strict=True)}
    return [by_key[is_repeat, pk] for _, is_repeat, pk in keys if (is_repeat, pk) in by_key]


def answered_repeats(raters: Iterable[Rater]) -> QuerySet:
    return Check.objects.filter(rater__in=raters, kind=Check.Kind.REPEAT, event__isnull=False)


def with_event_and_pair(rows: QuerySet) -> QuerySet:
    return rows.select_related("event", *JOINS_OF_PAIR)


def without_text(rows: QuerySet) -> QuerySet:
    return rows.defer("pair__document__body", "pair__document__fields")


def ratings_as_answers(rows: list[Rating]) -> list[Answer]:
    return [Answer(row.pair.token, row) for row in rows]


def repeats_as_answers(rows: list[Check]) -> list[Answer]:
    """The answers to these answered repeats. Two queries."""
    return [Answer(row.token, answer) for row, answer in zip(rows, answers_of(rows), strict=True)]

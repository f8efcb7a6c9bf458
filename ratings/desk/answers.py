"""A rater's own answers as they see them. An answer to a repeat looks like any other rating."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from django.db.models import F, Min, OuterRef, Q, QuerySet, Subquery, Value

from ..models import Check, Grade, Pair, Rater, Rating, RatingEvent
from .queue import answers_of

AT_ONCE = 1_000  # rows that are read at a time: a person may have rated a hundred thousand pairs
OF_PAIR = ("pair__query__collection", "pair__document")


class Answer(NamedTuple):
    """One rating or answer to a repeat. The text of the document is not loaded."""

    token: UUID  # of the task, as the rater saw it
    pair: Pair
    grade: Grade | None
    reason: str
    comment: str
    revision: int
    created_at: datetime
    changed_at: datetime


def answers(raters: Iterable[Rater], *, after: tuple[datetime, UUID] | None = None) -> Iterator[Answer]:
    """The answers of these raters, sorted by the time of the first rating and by token.

    `after` is a time and a token: only answers after them are returned.
    """

    def read(rows: QuerySet, made: Callable) -> Iterator[Answer]:
        if after:
            at, token = after
            rows = rows.filter(Q(at__gt=at) | Q(at=at, seen__gt=token))
        rows = without_text(rows.order_by("at", "seen")).iterator(chunk_size=AT_ONCE)
        while some := list(islice(rows, AT_ONCE)):
            yield from made(some)

    ratings = Rating.objects.filter(rater__in=raters).annotate(at=F("created_at"), seen=F("pair__token"))
    standing = RatingEvent.objects.standing().filter(
        rater=OuterRef("rater"), pair=OuterRef("pair"), kind=OuterRef("kind")
    )
    first = standing.order_by().values("pair").annotate(first=Min("created_at")).values("first")
    repeats = answered_repeats(raters).annotate(at=Subquery(first), seen=F("token"))
    parts = read(ratings.select_related("grade", *OF_PAIR), of_ratings), read(of_checks(repeats), of_repeats)
    return merge(*parts, key=lambda row: (row.created_at, row.token.hex))


def latest(rater: Rater) -> QuerySet:
    """Keys for `look_up`, the latest first: (time, 1 for a repeat or 0, id).

    Only the rows of one page are joined: joining a hundred thousand before the sort would take seconds.
    """
    ratings = Rating.objects.filter(rater=rater).annotate(at=F("changed_at"), repeat=Value(0))
    repeats = answered_repeats([rater]).annotate(at=F("event__created_at"), repeat=Value(1))
    first, second = (rows.values_list("at", "repeat", "pk") for rows in (ratings, repeats))
    return first.union(second, all=True).order_by("-at", "-repeat", "-pk")


def look_up(keys: Iterable[tuple[datetime, int, int]]) -> list[Answer]:
    """The answers with these keys, without those that were withdrawn meanwhile."""
    keys = list(keys)
    ids = [[pk for _, repeat, pk in keys if repeat == kind] for kind in (0, 1)]
    ratings = list(without_text(Rating.objects.select_related("grade", *OF_PAIR).filter(pk__in=ids[0])))
    repeats = list(without_text(of_checks(Check.objects.filter(pk__in=ids[1], event__isnull=False))))
    by_key = {(0, row.pk): each for row, each in zip(ratings, of_ratings(ratings), strict=True)}
    by_key |= {(1, row.pk): each for row, each in zip(repeats, of_repeats(repeats), strict=True)}
    return [by_key[kind, pk] for _, kind, pk in keys if (kind, pk) in by_key]


def answered_repeats(raters: Iterable[Rater]) -> QuerySet:
    return Check.objects.filter(rater__in=raters, kind=Check.Kind.REPEAT, event__isnull=False)


def of_checks(rows: QuerySet) -> QuerySet:
    return rows.select_related("event", *OF_PAIR)


def without_text(rows: QuerySet) -> QuerySet:
    return rows.defer("pair__document__body", "pair__document__fields")


def of_ratings(rows: list[Rating]) -> list[Answer]:
    return [of_rating(row.pair.token, row) for row in rows]


def of_repeats(rows: list[Check]) -> list[Answer]:
    """Two queries."""
    return [of_rating(row.token, answer) for row, answer in zip(rows, answers_of(rows), strict=True)]


def of_rating(token: UUID, row: Rating) -> Answer:
    return Answer(
        token, row.pair, row.grade, row.reason, row.comment, row.revision, row.created_at, row.changed_at
    )

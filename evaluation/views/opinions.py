"""The ratings of the documents of a query, under pseudonyms even for admins.

An admin who adjudicates a pair must not know who rated it. The page of the pair's history has names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Prefetch

from ratings.models import Document, Grade, Pair, Query, Rating

from ..pages.asked import Asked
from ..templatetags.numbers import number
from ..words import options
from ..words.sentences import counted
from .agreement import pseudonym


@dataclass(frozen=True)
class Opinion:
    """One rating."""

    rater: str  # a pseudonym
    grade: Grade | None
    reason: str  # why there is no grade
    comment: str
    apart: str  # why it does not count, or its weight


@dataclass(frozen=True)
class Judged:
    """A document of the query with its judgment and ratings."""

    document: Document
    grade: float | None  # the judgment; None = unjudged
    made: str  # how the judgment was made, or why there is none
    opinions: list[Opinion]
    token: UUID | None  # of the pair, where there is one


def opinions(
    query: Query, documents: Mapping[int, Document], grades: Mapping[int, float], asked: Asked
) -> list[Judged]:
    """The judgment and ratings of each document. Two database queries."""
    prefetched = Prefetch("ratings", Rating.objects.select_related("grade", "rater"))
    pairs = Pair.objects.filter(query=query, document__in=documents).select_related("adjudication__grade")
    pairs = {pair.document_id: pair for pair in pairs.prefetch_related(prefetched)}
    result = []
    for pk, document in documents.items():
        pair, grade = pairs.get(pk), grades.get(pk)
        if pair is None:
            made = "It is not in the pool: nobody was asked to judge it."
            result.append(Judged(document, grade, made, [], None))
            continue
        ratings = sorted((opinion(rating, asked) for rating in pair.ratings.all()), key=lambda each: each.rater)
        result.append(Judged(document, grade, how_judged(pair, ratings, grade, asked), ratings, pair.token))
    return result


def opinion(rating: Rating, asked: Asked) -> Opinion:
    weight = f"weight {number(float(rating.rater.weight), 3)}" if asked.rule == "weighted" else ""
    reason = rating.get_reason_display() if rating.reason else ""
    return Opinion(pseudonym(rating.rater.pk), rating.grade, reason, rating.comment, weight)


def how_judged(pair: Pair, ratings: Sequence[Opinion], grade: float | None, asked: Asked) -> str:
    """A text: how the judgment was made, or why there is none."""
    decision = getattr(pair, "adjudication", None)
    if decision and asked.adjudications == "use":
        return f"Decided as {decision.grade}, overriding the ratings: {decision.reason}"
    aside = f" A decision for {decision.grade} is not used, as asked." if decision else ""
    given = sum(each.grade is not None for each in ratings)
    if grade is not None:
        return f"From {counted(given, 'grade', 'grades')}: {options.WORDS['rule'][asked.rule]}.{aside}"
    if given:
        return f"Unjudged: no grade of it counts here.{aside}"
    if ratings:
        return f"Unjudged: nobody who was asked could judge it.{aside}"
    waits = "its pair is retired" if pair.retired_at else f"{counted(pair.wanted, 'grade', 'grades')} wanted"
    return f"Unjudged: nobody has answered yet, {waits}.{aside}"

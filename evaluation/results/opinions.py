"""The ratings of the documents of a query, under pseudonyms even for admins.

An admin who adjudicates a pair must not know who rated it. The page of the pair's history has names.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter

from django.db.models import Prefetch

from ratings.models import Document, Pair, Query, Rating
from ratings.people.names import pseudonym

from ..page import options
from ..page.numbers import number
from ..page.words import counted
from ..scores import Asked


def opinions(
    query: Query, documents: Mapping[int, Document], grades: Mapping[int, float], asked: Asked
) -> list[dict]:
    """The judgment and ratings of each document, how it was made, and the pair's token. Two database queries."""
    prefetched = Prefetch("ratings", Rating.objects.select_related("grade", "rater"))
    pairs = Pair.objects.filter(query=query, document__in=documents).select_related("adjudication__grade")
    pairs = {pair.document_id: pair for pair in pairs.prefetch_related(prefetched)}
    result = []
    for pk, document in documents.items():
        pair, grade = pairs.get(pk), grades.get(pk)
        row = {"document": document, "grade": grade, "opinions": [], "token": None}
        if pair is None:
            result.append(row | {"made": "It is not in the pool: nobody was asked to judge it."})
            continue
        given = sorted((opinion(rating, asked) for rating in pair.ratings.all()), key=itemgetter("rater"))
        made = how_judged(pair, given, grade, asked)
        result.append(row | {"made": made, "opinions": given, "token": pair.token})
    return result


def opinion(rating: Rating, asked: Asked) -> dict:
    """A rating with its grade or the reason why there is none; apart: its weight, where ratings have one."""
    return {
        "rater": pseudonym(rating.rater.pk),
        "grade": rating.grade,
        "reason": rating.get_reason_display() if rating.reason else "",
        "comment": rating.comment,
        "apart": f"weight {number(float(rating.rater.weight), 3)}" if asked.rule == "weighted" else "",
    }


def how_judged(pair: Pair, ratings: Sequence[dict], grade: float | None, asked: Asked) -> str:
    """A text: how the judgment was made, or why there is none."""
    decision = getattr(pair, "adjudication", None)
    if decision and asked.adjudications == "use":
        return f"Decided as {decision.grade}, overriding the ratings: {decision.reason}"
    aside = f" A decision for {decision.grade} is not used, as asked." if decision else ""
    given = sum(each["grade"] is not None for each in ratings)
    if grade is not None:
        return f"From {counted(given, 'grade', 'grades')}: {options.WORDS['rule'][asked.rule]}.{aside}"
    if given:
        return f"Unjudged: no grade of it counts here.{aside}"
    if ratings:
        return f"Unjudged: nobody who was asked could judge it.{aside}"
    waits = "its pair is retired" if pair.retired_at else f"{counted(pair.wanted, 'grade', 'grades')} wanted"
    return f"Unjudged: nobody has answered yet, {waits}.{aside}"

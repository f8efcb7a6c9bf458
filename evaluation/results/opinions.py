"""The ratings of the documents of a query, under pseudonyms even for admins.

An admin who adjudicates a pair must not know who rated it. The page of the pair's history has names.
"""

from collections.abc import Mapping
from operator import itemgetter

from django.db.models import Prefetch

from ratings.models import Document, Pair, Query, Rating
from ratings.people.names import pseudonym

from ..page import options
from ..page.numbers import number
from ..scores import Asked


def opinions(
    query: Query, documents: Mapping[int, Document], grades: Mapping[int, float], asked: Asked
) -> list[dict]:
    """The context of each document: its judgment, its ratings, and what tells how these became the judgment.

    grade: the judgment, None without one; graded: how many ratings have a grade; decision: the adjudication, None
    without one; uses_decisions: whether the options let it override the ratings; rule: how ratings are combined,
    in words. documents, grades: by pk of the document. Two database queries.
    """
    with_ratings = Prefetch("ratings", Rating.objects.counted().select_related("grade", "rater"))
    pairs = Pair.objects.filter(query=query, document__in=documents).select_related("adjudication__grade")
    pair_of = {pair.document_id: pair for pair in pairs.prefetch_related(with_ratings)}
    result = []
    for pk, document in documents.items():
        pair = pair_of.get(pk)  # None for a document that is not in the pool
        ratings = pair.ratings.all() if pair else ()
        rows = sorted((opinion(rating, asked) for rating in ratings), key=itemgetter("rater"))
        result.append(
            {
                "document": document,
                "grade": grades.get(pk),
                "pair": pair,
                "opinions": rows,
                "graded": sum(row["grade"] is not None for row in rows),
                "decision": getattr(pair, "adjudication", None),
                "uses_decisions": asked.adjudications == "use",
                "rule": options.PHRASES["rule"][asked.rule],
            }
        )
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

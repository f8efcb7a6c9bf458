"""A pair of a collection, and its ratings as admins see them."""

from collections.abc import Iterable
from uuid import UUID

from django.shortcuts import get_object_or_404

from ..models import Collection, Pair, Rating


def pair_of(collection: Collection, token: UUID) -> Pair:
    """Raises Http404 for a pair of another collection."""
    pairs = Pair.objects.select_related("query__collection", "document")
    return get_object_or_404(pairs, token=token, query__collection=collection)


def without_names(ratings: Iterable[Rating]) -> list[dict]:
    """Ratings without their raters, as {"grade", "reason", "comment"}, the highest grade first.

    A rating without a grade ("cannot judge") comes last. The order depends on nothing but these contents, so it
    does not give away who rated.
    """
    contents = [
        {"grade": rating.grade, "reason": rating.get_reason_display(), "comment": rating.comment}
        for rating in ratings
    ]

    def sort_key(content: dict) -> tuple:
        grade = content["grade"]
        return (grade is None, -grade.value if grade else 0, content["reason"], content["comment"])

    return sorted(contents, key=sort_key)

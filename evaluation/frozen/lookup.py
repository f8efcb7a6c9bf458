"""Frozen evaluations by the beginning of their hash."""

import re

from django.db.models import QuerySet
from django.http import Http404

from ratings.models import Collection

from ..models import FrozenEvaluation

SHA = re.compile(r"[0-9a-f]{12,64}")  # the beginning of a hash, long enough to be unique


def found_in(collection: Collection, sha: str) -> FrozenEvaluation:
    """The frozen evaluation whose hash begins with `sha`. Raises Http404."""
    found = all_of(collection).filter(hash__startswith=sha).first() if SHA.fullmatch(sha) else None
    if found is None:
        raise Http404("No such frozen evaluation.")
    return found


def all_of(collection: Collection) -> QuerySet[FrozenEvaluation]:
    """All frozen evaluations of the collection, in their order."""
    return collection.frozen_evaluations.select_related("created_by")

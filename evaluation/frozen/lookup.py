"""Frozen evaluations by the beginning of their hash."""

import re

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_list_or_404

from ratings.models import Collection

from ..models import FrozenEvaluation

SHA = re.compile(r"[0-9a-f]{12,64}")  # the beginning of a hash, long enough to be unique


def frozen_with(collection: Collection, sha: str) -> FrozenEvaluation:
    """The frozen evaluation whose hash begins with `sha`. Raises Http404."""
    if not SHA.fullmatch(sha):
        raise Http404("No such frozen evaluation.")
    return get_list_or_404(all_of(collection), hash__startswith=sha)[0]


def all_of(collection: Collection) -> QuerySet[FrozenEvaluation]:
    """All frozen evaluations of the collection, in their order."""
    return collection.frozen_evaluations.select_related("created_by")

"""Frozen evaluations in Django's admin."""

from ratings.admin import OF_COLLECTION, ReadOnly, site

from .models import FrozenEvaluation

site.register(
    FrozenEvaluation,
    ReadOnly,
    list_display=["name", "collection", "created_at", "created_by", "short"],
    list_filter=[OF_COLLECTION],
    search_fields=["name", "hash"],
    fields=["name", "note", "collection", "created_at", "created_by", "hash", "settings", "about"],
)

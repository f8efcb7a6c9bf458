"""Frozen evaluations in Django's admin."""

from ratings.admin import register

from .models import FrozenEvaluation

register(FrozenEvaluation, "name collection created_at created_by short", ["name", "hash"])

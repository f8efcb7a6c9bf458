"""Constraints that several tables have."""

from django.db import models
from django.db.models import Q


def known_value(field: str, values: list[str], name: str) -> models.CheckConstraint:
    """The constraint `name`: the field has one of these values, also where no form checked it."""
    return models.CheckConstraint(condition=Q((f"{field}__in", values)), name=name)

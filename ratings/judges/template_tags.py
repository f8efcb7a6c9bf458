"""The tag `probes_of`: how many probes of a judge got through."""

from collections.abc import Iterable

from django import template

from ..models import Collection, JudgeVersion, short_value
from . import probes

register = template.Library()


@register.inclusion_tag("ratings/_probes.html")
def probes_of(collection: Collection, versions: Iterable[JudgeVersion] | JudgeVersion | None) -> dict:
    """A table for each of the versions of which a probe was answered; at most one database query."""
    every = [versions] if isinstance(versions, JudgeVersion) else versions
    found = probes.results_of(collection, every) if every else []
    return {"found": found, "least": short_value(collection.relevant_from)}

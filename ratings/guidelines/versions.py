"""Publish a version of the guidelines, and note which version a rater has read."""

from ..audit import Act, note
from ..database import versions
from ..database.versions import Outdated, Unchanged
from ..models import Collection, Guidelines, Rater

__all__ = ["Outdated", "Unchanged", "mark_read", "publish"]


def publish(collection: Collection, text: str, *, base: int) -> Guidelines:
    """The new version, based on version `base` (0: there was none). Raises Outdated and Unchanged."""

    def noted(made: Guidelines) -> None:
        note(Act.GUIDELINES, collection, about=f"version {made.version}")

    return versions.publish(collection.guidelines, {"text": text}, base=base, note=noted)


def mark_read(rater: Rater, version: int) -> None:
    """Note that the rater has read this version, if it exists and they have read no later one."""
    if Guidelines.objects.filter(collection=rater.collection_id, version=version).exists():
        Rater.objects.filter(pk=rater.pk, guidelines_read__lt=version).update(guidelines_read=version)

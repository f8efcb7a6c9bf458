"""Publish a version of the guidelines, and note which version a rater has read."""

from django.db import transaction

from ...database import versions
from ...database.versions import Outdated, Unchanged
from ...models import Collection, Guidelines, Rater
from ...people.audit import Act, note

__all__ = ["Outdated", "Unchanged", "mark_read", "publish"]


@transaction.atomic
def publish(collection: Collection, text: str, *, base: int) -> Guidelines:
    """Publish a version and return it. `base` is the version that was edited, 0 for none.

    Raises Outdated and Unchanged.
    """
    version = versions.publish(collection.guidelines, {"text": text}, base=base)
    note(Act.GUIDELINES, collection, about=str(version))
    return version


def mark_read(rater: Rater, version: int) -> None:
    """Note that the rater has read this version, if it exists and they have read no later one."""
    if Guidelines.objects.filter(collection=rater.collection_id, version=version).exists():
        Rater.objects.filter(pk=rater.pk, guidelines_read__lt=version).update(guidelines_read=version)

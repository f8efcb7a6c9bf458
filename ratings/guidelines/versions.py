"""Publish a version of the guidelines, and note which version a rater has read."""

from django.db import IntegrityError, transaction

from ..models import Collection, Guidelines, Rater


class Outdated(Exception):
    """Somebody saved another version since the text was opened. `current` is the latest."""

    def __init__(self, current: Guidelines) -> None:
        self.current = current
        super().__init__(f"Version {current.version} was saved meanwhile.")


class Unchanged(Exception):
    """The text is that of the latest version."""


def publish(collection: Collection, text: str, *, base: int) -> Guidelines:
    """The new version, based on version `base` (0: there was none). Raises Outdated and Unchanged."""
    latest = collection.latest_guidelines()
    if latest and latest.version != base:
        raise Outdated(latest)
    number = latest.version + 1 if latest else 1
    if latest and latest.text == text:
        raise Unchanged
    try:
        with transaction.atomic():
            return Guidelines.objects.create(collection=collection, version=number, text=text)
    except IntegrityError as error:  # a concurrent save made this version
        raise Outdated(collection.latest_guidelines()) from error


def mark_read(rater: Rater, version: int) -> None:
    """Note that the rater has read this version, if it exists and they have read no later one."""
    if Guidelines.objects.filter(collection=rater.collection_id, version=version).exists():
        Rater.objects.filter(pk=rater.pk, guidelines_read__lt=version).update(guidelines_read=version)

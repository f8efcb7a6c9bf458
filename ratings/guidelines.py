"""What raters are told: a new text is a new version, and who has read which. Old versions are never changed."""

from django.db import IntegrityError, transaction

from .models import Collection, Guidelines, Rater


class Outdated(Exception):
    """Somebody saved another version since the text was taken up. `current` is the latest."""

    def __init__(self, current: Guidelines) -> None:
        self.current = current
        super().__init__(f"Version {current.version} was saved meanwhile.")


class Unchanged(Exception):
    """The text is that of the latest version."""


def publish(collection: Collection, text: str, *, base: int) -> Guidelines:
    """A new version, written from version `base` (0: there was none). Raises Outdated and Unchanged."""
    latest = collection.latest_guidelines()
    if latest and latest.version != base:
        raise Outdated(latest)
    number = latest.version + 1 if latest else 1
    if latest and latest.text == text:
        raise Unchanged
    try:
        with transaction.atomic():
            return Guidelines.objects.create(collection=collection, version=number, text=text)
    except IntegrityError as error:  # two who save at the same moment: the number of a version is unique
        raise Outdated(collection.latest_guidelines()) from error


def mark_read(rater: Rater, version: int) -> None:
    """Remember that the rater has seen this version, unless they have seen a later one already."""
    written = Guidelines.objects.filter(collection=rater.collection_id, version=version)
    if written.exists():
        Rater.objects.filter(pk=rater.pk, guidelines_read__lt=version).update(guidelines_read=version)

"""Versioned rows, which are never changed: new content makes a new version."""

from django.db import IntegrityError, models, transaction


class Outdated(Exception):
    """Another version was saved after this one was read. `current` is the latest."""

    def __init__(self, current: models.Model) -> None:
        self.current = current
        super().__init__(f"Version {current.version} was saved meanwhile.")


class Unchanged(Exception):
    """The content is the same as that of the latest version."""


def publish(rows: models.Manager, content: dict, *, base: int) -> models.Model:
    """Publish a version with this content among the `rows` of a collection, and return it.

    `base` is the version that was edited, 0 for none. Raises Outdated and Unchanged.
    """
    latest = latest_of(rows)
    if latest and latest.version != base:
        raise Outdated(latest)
    if latest and all(getattr(latest, name) == value for name, value in content.items()):
        raise Unchanged
    try:
        with transaction.atomic():
            return rows.create(version=latest.version + 1 if latest else 1, **content)
    except IntegrityError as error:  # a concurrent save created this version
        raise Outdated(latest_of(rows)) from error


def latest_of(rows: models.Manager) -> models.Model | None:
    return rows.order_by("-version").first()

"""Publish a version of the presentation, and read versions."""

from django.db import transaction

from ..database import versions
from ..database.versions import Outdated, Unchanged
from ..models import Collection, Presentation
from ..people.audit import Act, note
from .blindness import refuse_revealing
from .parts import Presented
from .proposal import WEB_PAGE

__all__ = ["Outdated", "Unchanged", "publish", "presented_in"]


def presented_in(collection_id: int, version: int | None) -> Presented:
    """The presentation of a version; `WEB_PAGE` if there is none. One query, without a version none."""
    if not version:
        return WEB_PAGE
    row = Presentation.objects.filter(collection=collection_id, version=version).first()
    return Presented.read(row.content) if row else WEB_PAGE


def latest_presented(collection: Collection) -> Presented:
    """What the latest presentation shows; `WEB_PAGE` if there is none. One query."""
    latest = collection.latest_presentation()
    return Presented.read(latest.content) if latest else WEB_PAGE


@transaction.atomic
def publish(collection: Collection, presented: Presented, *, base: int) -> Presentation:
    """Publish a version and return it. `base` is the version that was edited, 0 for none.

    Raises Outdated and Unchanged, and ValueError for a part that reveals rank, score or system.
    """
    refuse_revealing(collection, presented)
    version = versions.publish(collection.presentations, {"content": presented.as_json()}, base=base)
    note(Act.PRESENTATION, collection, about=str(version))
    return version

"""Note an act."""

import logging
from functools import partial
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from ..models import Collection
from ..models.audit import AuditEvent
from . import who

log = logging.getLogger("idealist.audit")

LONGEST = AuditEvent._meta.get_field("about").max_length


def note(
    act: str,
    collection: Collection | None = None,
    *,
    about: object = "",
    by: AbstractBaseUser | None = None,
    **detail: Any,
) -> None:
    """Write the event of an act, in the transaction of the act; after its commit it goes to the log, too.

    `about` says what or whom it was done to, `detail` how; no text that people wrote. `by` is the account where
    the request has none yet.
    """
    doer = who.now()
    if by and not doer.account:
        doer = doer._replace(account=by.pk, name=by.get_username())
    event = AuditEvent(at=timezone.now(), act=act, **doer._asdict(), about=str(about)[:LONGEST], detail=detail)
    if collection:
        event.collection, event.slug = collection.pk, collection.slug or _slug_of(collection)
    event.save()
    transaction.on_commit(partial(log.info, str(event), extra={"event": as_row(event)}), robust=True)


def _slug_of(collection: Collection) -> str:
    """Of a collection that was read before it had one, or that is deleted."""
    slug = Collection.written.filter(pk=collection.pk).values_list("slug", flat=True).first()
    deletion = getattr(collection, "deletion", None)
    return slug or (deletion.slug if deletion else "")


def as_row(event: AuditEvent) -> dict:
    """The event as it stands in the log and in CSV."""
    names = ["pk", "act", "way", "account", "name", "token", "address", "collection", "slug", "about", "detail"]
    return {"at": event.at.isoformat()} | {name: getattr(event, name) for name in names}

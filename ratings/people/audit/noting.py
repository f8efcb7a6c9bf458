"""Write audit events."""

import logging
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from ...models import Collection
from ...models.audit import AuditEvent
from . import who

log = logging.getLogger("idealist.audit")

MAX_ABOUT = AuditEvent._meta.get_field("about").max_length


def note(
    act: str,
    collection: Collection | None = None,
    *,
    about: object = "",
    by: User | None = None,
    **detail: Any,
) -> None:
    """Write the audit event of an act, in the transaction of the act. The log gets the event after the commit.

    `about` is the object of the act and `detail` its circumstances; neither holds text that people wrote. The
    actor is the account of the present request, or `by` if the request has none yet, as at a sign-in.
    """
    actor = who.now()
    if by and not actor.account:
        actor = actor._replace(account=by.pk, name=by.get_username())
    event = AuditEvent(at=timezone.now(), act=act, **actor._asdict(), about=str(about)[:MAX_ABOUT], detail=detail)
    if collection:
        event.collection = collection.pk
        event.slug = collection.slug or _slug_of(collection)  # a deleted collection has none itself
    event.save()
    # Robust: a failure of the log stops nothing else that waits for the commit.
    transaction.on_commit(partial(log.info, str(event), extra={"event": as_row(event)}), robust=True)


def _slug_of(collection: Collection) -> str:
    """The slug of a collection that was read before it had one, or that is deleted."""
    slug = Collection.written.filter(pk=collection.pk).values_list("slug", flat=True).first()
    deletion = getattr(collection, "deletion", None)
    return slug or (deletion.slug if deletion else "")


def as_row(event: AuditEvent) -> dict:
    """The event as a row of the log and of the CSV."""
    names = ["pk", "act", "way", "account", "name", "token", "address", "collection", "slug", "about", "detail"]
    return {"at": event.at.isoformat()} | {name: getattr(event, name) for name in names}

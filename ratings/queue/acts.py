"""What every act of a rater begins and ends with: the lock on the rater's row, and the event that tells of it."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import ParamSpec, TypeVar
from uuid import UUID

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import F, OuterRef, QuerySet, Subquery

from ..models import Collection, Guidelines, Pair, Rater, Rating, RatingEvent
from ..prepared import Blank, Prepared, PreparedInsert, PreparedUpdate

AGAIN = 3

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Overtaken(Exception):
    """Another act of the same rater came between look and write."""


def transacted(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Run `work` in one transaction, and again from its start where it was overtaken.

    The statement that waits for the lock looks at the record as it was before the wait. What that look overlooks
    is found by a unique index or by the condition of an update, and the second look sees it.
    """

    @wraps(work)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        for _ in range(AGAIN):
            try:
                with transaction.atomic():
                    return work(*args, **kwargs)
            except (IntegrityError, Overtaken):
                continue
            except OperationalError as error:
                if not _deadlocked(error):
                    raise
        with transaction.atomic():
            return work(*args, **kwargs)

    return run


def _deadlocked(error: OperationalError) -> bool:
    """Whether PostgreSQL ended this act because it and another one waited for each other."""
    return getattr(error.__cause__, "sqlstate", None) == "40P01"


def lock(rater: Rater) -> Rater:
    """The rater as stored, with their collection; their other acts wait until this one ends. One query."""
    return _locked(rater=rater.pk)[0]


def locking(raters: QuerySet) -> QuerySet:
    """`raters` so that reading them locks them, with what `with_guidelines` adds."""
    return with_guidelines(raters).select_for_update(of=("self",), no_key=True)


def with_guidelines(raters: QuerySet) -> QuerySet:
    """`raters` with their collections and, as `guidelines_now`, the latest version of its guidelines."""
    guidelines = Guidelines.objects.filter(collection=OuterRef("collection")).order_by("-version")
    raters = raters.annotate(guidelines_now=Subquery(guidelines.values("version")[:1]))
    return raters.select_related("collection")


_locked = Prepared(lambda: locking(Rater.objects.filter(pk=Blank("rater", Rating, "rater"))))


def record(
    rater: Rater, pair: Pair, kind: str, now: datetime, guidelines: int | None = None, **facts
) -> RatingEvent:
    """Write the event of an act by a rater who came from `lock`, and had these `guidelines` before them."""
    latest = rater.guidelines_now or 0
    event = RatingEvent(
        rater=rater,
        pair=pair,
        kind=kind,
        actor_id=rater.user_id,
        scale_version=rater.collection.scale_version,
        guidelines_version=latest if guidelines is None else min(guidelines, latest),
        created_at=now,
        **facts,
    )
    store = _insert_judged if event.collection_id else _insert
    store(event)
    return event


def judged(rater: Rater) -> dict:
    """What the event of an act holds that changed the judgment of its pair. Locks the collection: call it last."""
    _advance(collection_id=rater.collection_id)
    return {"collection_id": rater.collection_id}


_collection = Blank("collection_id", Rater, "collection")
# As Collection.advance does it.
_advance = PreparedUpdate(lambda: Collection.objects.filter(pk=_collection), version=F("version") + 1)
_version = Subquery(Collection.objects.filter(pk=_collection).order_by().values("version"))
_insert, _insert_judged = PreparedInsert(RatingEvent), PreparedInsert(RatingEvent, version=_version)


def sent_before(rater: Rater, client_key: UUID | None) -> RatingEvent | None:
    """The act that came with this key already: a retry, or a page that the back button brought back."""
    return RatingEvent.objects.filter(rater=rater, client_key=client_key).first() if client_key else None

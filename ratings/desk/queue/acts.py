"""How every act of a rater begins, with a lock on the rater's row, and ends, with the event that records it."""

from collections.abc import Callable, Collection
from datetime import datetime
from functools import wraps
from typing import ParamSpec, TypeVar
from uuid import UUID

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import QuerySet

from ...database.prepared import Blank, Prepared, PreparedInsert
from ...models import Pair, Rater, Rating, RatingEvent
from ...web import limits

MOST_RETRIES = 3  # of a transaction, before its error is raised
MOST_ACTS_ON_PAIR = 100  # of one rater in a day

Params = ParamSpec("Params")
Result = TypeVar("Result")


class Overtaken(Exception):
    """Another transaction changed a row between this act's read and its write."""


class KeyUsed(Exception):
    """Another act of the rater has this client key, so this one cannot be told from a retry of that act."""

    def __init__(self) -> None:
        super().__init__("This was not saved: its key came with another act before. Send it again with a new key.")


def transacted(work: Callable[Params, Result]) -> Callable[Params, Result]:
    """A decorator: run `work` in one transaction, and retry it from its start where another one was faster.

    On PostgreSQL a statement that waited for a lock may have read other rows as they were before the wait. Then a
    unique index or the condition of an update fails, and the retry reads the present rows.
    """

    @wraps(work)
    def run(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        for _ in range(MOST_RETRIES):
            try:
                with transaction.atomic():
                    return work(*args, **kwargs)
            except (IntegrityError, Overtaken):
                continue
            except OperationalError as error:
                if not _deadlocked(error):  # after a deadlock, the loop goes on, too
                    raise
        # The last attempt, whose errors are raised.
        with transaction.atomic():
            return work(*args, **kwargs)

    return run


def _deadlocked(error: OperationalError) -> bool:
    """Whether PostgreSQL aborted this transaction to end a deadlock."""
    return getattr(error.__cause__, "sqlstate", None) == "40P01"


def lock(rater: Rater) -> Rater:
    """The rater as stored, with their collection, locked until the transaction ends. One query."""
    return _locked(rater=rater.pk)[0]


def locking(raters: QuerySet) -> QuerySet:
    """`raters`, annotated as by `with_versions`. Each row is locked when it is read."""
    return raters.with_versions().select_for_update(of=("self",), no_key=True)


def lock_all(raters: QuerySet) -> None:
    """Lock the raters in the order of their ids, which is that of all locks of several raters."""
    list(raters.order_by("pk").select_for_update(no_key=True).values_list("pk"))


_locked = Prepared(lambda: locking(Rater.objects.filter(pk=Blank("rater", Rating, "rater"))))


def record(
    rater: Rater,
    pair: Pair,
    kind: str,
    now: datetime,
    *,
    scale: int | None = None,
    guidelines: int | None = None,
    presentation: int | None = None,
    **fields,
) -> RatingEvent:
    """Write the event of an act by a rater who came from `lock`.

    `kind`: of RatingEvent.Kind. `scale`, `guidelines` and `presentation` are the versions that the rater saw;
    None: the latest. `fields`: other fields of the event, such as `value`. Because of the lock, the ids of a
    rater's events ascend as their commits do. So the id of each rater's last act tells whether an evaluation that
    was computed before is out of date.
    """
    event = RatingEvent(
        rater=rater,
        pair=pair,
        kind=kind,
        actor_id=rater.user_id,
        scale_version=_version_seen(scale, rater.collection.scale_version),
        guidelines_version=_version_seen(guidelines, rater.guidelines_now),
        presentation_version=_version_seen(presentation, rater.presentation_now),
        created_at=now,
        **fields,
    )
    _insert(event)
    return event


def refuse_many_acts(me: Rater, pair: Pair) -> None:
    """Raise limits.Reached for more acts of the rater on this pair than anybody needs: each is kept for ever."""
    limits.refuse_above(MOST_ACTS_ON_PAIR, "acts on one document", RatingEvent.objects.filter(pair=pair, rater=me))


def _version_seen(version: int | None, latest: int | None) -> int:
    return (latest or 0) if version is None else min(version, latest or 0)


_insert = PreparedInsert(RatingEvent)


def event_of_key(rater: Rater, client_key: UUID | None) -> RatingEvent | None:
    """The rater's event with this client key, or None. With an event, the request is a retry, or a page that was
    sent again from the browser's history, or, by `is_other`, another act that must be refused.
    """
    return _event_of_key.first(rater=rater.pk, client_key=client_key) if client_key else None


def is_other(event: RatingEvent, pair: Pair, kinds: Collection[str]) -> bool:
    """Whether the event cannot be that of an act on the pair which makes events of these kinds."""
    return event.pair_id != pair.pk or event.kind not in kinds


_event_of_key = Prepared(
    lambda: RatingEvent.objects.filter(
        rater=Blank("rater", Rating, "rater"), client_key=Blank("client_key", RatingEvent, "client_key")
    )
)

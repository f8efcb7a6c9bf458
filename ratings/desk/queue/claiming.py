"""Claim: lease to a rater the pairs that they should rate next."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache

from django.db.models import Case, Exists, F, Q, When
from django.utils import timezone

from ...database.prepared import Blank, Prepared, PreparedUpdate
from ...models import Assignment, Rater, Rating
from ..happenings import happened
from .acts import lock, locking, transacted
from .choosing import (
    Candidate,
    ExtraGold,
    Holding,
    Item,
    RepeatPair,
    choose,
    claimants,
    numbered,
    padded,
)
from .leases import LEASE, NOW, RATER, State, free, record_lost, release_all
from .mixing import hold_extras, mixed, put_before, to_warm_up, warm_up
from .tasks import REPEAT, Task, held, held_assignments, in_turn, open_checks

MOST_HELD = 20


@transacted
def claim(rater: Rater, count: int = 1, *, now: datetime | None = None) -> list[Task]:
    """All tasks that `rater` now holds, in order. New ones are leased until there are `count`.

    Each claim renews the leases. A task stays held until the rater rates it, puts it off or stops, or until its
    lease expires and another rater takes the pair. Four queries, where the current query has enough candidates and
    neither gold nor repeats are mixed in.
    """
    now, count = now or timezone.now(), min(count, MOST_HELD)
    me = _look(rater=rater.pk)[0]
    happened("claim")
    if not me.is_able or me.collection.put_away_at:
        release_all(me)
        return []
    if me.to_warm_up and to_warm_up(me).exists():
        warm_up(me, count, now)
        return held(me)
    taken: set[int] = set()
    rows: list[Assignment] = []
    while True:
        choice = choose(me, count, now, taken)
        items = mixed(me, choice, now)
        if not choice.holding.tasks and not items:
            return []
        turns = {item: choice.holding.last_turn + place for place, item in enumerate(items, 1)}
        candidates = [item for item in items if isinstance(item, Candidate)]
        # After an earlier pass locked rows, this one must not wait for others: two raters could deadlock.
        rows = _hold(me, choice.holding, turns, candidates, now, wait=not (taken and rows))
        got = {row.pk for row in rows}
        record_lost((candidate.rater, candidate.pair) for candidate in candidates if candidate.pk in got)
        failed = {candidate.pk for candidate in candidates} - got
        if failed and not Rater.objects.able().filter(pk=me.pk).exists():
            release_all(me)
            return []
        if not failed:
            has_checks = choice.holding.checks or any(isinstance(item, RepeatPair) for item in items)
            return in_turn(rows, open_checks(me) if has_checks else ())
        taken |= failed


_look = Prepared(lambda: locking(claimants().filter(pk=Blank("rater", Rating, "rater"))))


@transacted
def stop(rater: Rater) -> int:
    """How many leases changed when all that `rater` holds was given back. What they still send is kept."""
    return release_all(lock(rater))


def _hold(
    me: Rater,
    holding: Holding,
    turns: dict[Item, int],
    candidates: Sequence[Candidate],
    now: datetime,
    *,
    wait: bool,
) -> list[Assignment]:
    """The assignments that `me` holds after the items were leased to them at these turns.

    Two queries, where all items are candidates.
    """
    _lease(me, holding.leases, {candidate.pk: turns[candidate] for candidate in candidates}, now, wait=wait)
    if len(candidates) < len(turns):
        hold_extras(me, {item: turn for item, turn in turns.items() if isinstance(item, ExtraGold)}, now)
        repeats = {item: turn for item, turn in turns.items() if isinstance(item, RepeatPair)}
        by_pair = {item.pair: turn for item, turn in repeats.items()}
        put_before(me, REPEAT, by_pair, now, {item.pair: item.place for item in repeats})
    return held_assignments(me)


def _lease(me: Rater, leases: Sequence[int], turns: dict[int, int], now: datetime, *, wait: bool) -> None:
    """Lease to `me` those of the assignments (id → turn) that are still free, and renew the leases of those that
    they held. One query. Nothing changes if somebody took the role of `me` while the look waited for its lock:
    on PostgreSQL the look reads the role as it was before.

    A slower rater waits for the row lock and then finds that the row is not free. Rows are locked in the order of
    their ids, so two raters never wait for each other.
    """
    if not leases and not turns:
        return
    leases = padded(leases)
    values = (
        numbered("lease", leases) | numbered("assignment", list(turns)) | numbered("turn", list(turns.values()))
    )
    _leasing(len(leases), len(turns), wait)(rater=me.pk, now=now, until=now + LEASE, **values)


@cache
def _leasing(leases: int, count: int, wait: bool) -> PreparedUpdate:
    renewed = [Blank(f"lease{place}", Assignment, "id") for place in range(leases)]
    ids = [Blank(f"assignment{place}", Assignment, "id") for place in range(count)]
    turns = [Blank(f"turn{place}", Assignment, "turn") for place in range(count)]
    chosen = Q(rater=RATER, state=State.LEASED)
    if ids:
        chosen |= Q(free(NOW), pk__in=ids)
    # By ids: a database that has counted the rows takes those of a rater for many, and reads the whole table.
    chosen &= Q(pk__in=[*renewed, *ids]) & Q(Exists(Rater.objects.able().filter(pk=RATER)))
    locked = Assignment.objects.filter(chosen).order_by("pk").select_for_update(no_key=True, skip_locked=not wait)
    cases = (When(pk=pk, then=turn) for pk, turn in zip(ids, turns, strict=True))
    return PreparedUpdate(
        lambda: Assignment.objects.filter(pk__in=locked.values("pk")),
        rater=RATER,
        state=State.LEASED,
        leased_until=Blank("until", Assignment, "leased_until"),
        turn=Case(*cases, default=F("turn")),
    )

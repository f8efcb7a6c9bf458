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
from .choosing import Candidate, ExtraGold, Holding, Item, RepeatPair, choose, claimants, numbered, padded
from .leases import LEASE, NOW, RATER, State, free, record_lost, release_all
from .mixing import hold_checks, hold_extras, mixed, to_warm_up, warm_up
from .tasks import REPEAT, Task, held, held_assignments, in_turn, open_checks

MOST_HELD = 20


@transacted
def claim(rater: Rater, count: int = 1, *, now: datetime | None = None) -> list[Task]:
    """All tasks that `rater` now holds, in order. New ones are leased until there are `count`.

    Each claim renews the leases. A task stays held until the rater rates it, puts it off or stops, or until its
    lease expires and another rater takes the pair. Four queries, where the current query has enough candidates and
    neither gold nor repeats are mixed in.
    """
    now = now or timezone.now()
    count = min(count, MOST_HELD)
    me = _look(rater=rater.pk)[0]
    happened("claim")
    if not me.is_able or me.collection.put_away_at:
        release_all(me)
        return []
    if me.to_warm_up and to_warm_up(me).exists():
        warm_up(me, count, now)
        return held(me)
    taken: set[int] = set()  # ids of assignments for which other raters were faster
    held_rows: list[Assignment] = []  # what the rater holds after the last pass of the loop
    while True:
        choice = choose(me, count, now, taken)
        items = mixed(me, choice, now)
        if not choice.holding.tasks and not items:
            return []
        turns = {item: choice.holding.last_turn + place for place, item in enumerate(items, 1)}
        candidates = [item for item in items if isinstance(item, Candidate)]
        # After an earlier pass locked rows, this one must not wait for others: two raters could deadlock.
        held_rows = _hold(me, choice.holding, turns, candidates, now, wait=not (taken and held_rows))
        held_ids = {row.pk for row in held_rows}
        # Whose expired leases these were have lost them.
        record_lost((candidate.rater, candidate.pair) for candidate in candidates if candidate.pk in held_ids)
        newly_taken = {candidate.pk for candidate in candidates} - held_ids  # other raters were faster
        if not newly_taken:
            has_checks = choice.holding.checks or any(isinstance(item, RepeatPair) for item in items)
            return in_turn(held_rows, open_checks(rater=me.pk) if has_checks else ())
        # Or none was leased, because somebody took the role of the rater meanwhile: see `_lease`.
        if not Rater.objects.able().filter(pk=me.pk).exists():
            release_all(me)
            return []
        taken |= newly_taken


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
        repeats = [item for item in turns if isinstance(item, RepeatPair)]
        hold_checks(me, REPEAT, {repeat.pair: (turns[repeat], repeat.place) for repeat in repeats}, now)
    return held_assignments(rater=me.pk)


def _lease(me: Rater, leases: Sequence[int], turns: dict[int, int], now: datetime, *, wait: bool) -> None:
    """Lease to `me` those of the assignments that are still free, and renew the leases that they have. One query.

    `leases`: ids of assignments. `turns`: id of an assignment to be leased → its turn. `wait`: see `_leasing`.
    Nothing changes if somebody took the role of `me` while `_look` waited for its lock: on PostgreSQL it reads the
    role as it was before.

    A slower rater waits for the row lock and then finds that the row is not free. Rows are locked in the order of
    their ids, so two raters never wait for each other.
    """
    if not leases and not turns:
        return
    leases = padded(leases)
    _leasing(len(leases), len(turns), wait)(
        rater=me.pk,
        now=now,
        until=now + LEASE,
        **numbered("lease", leases),
        **numbered("assignment", list(turns)),
        **numbered("turn", list(turns.values())),
    )


@cache
def _leasing(n_renewed: int, n_new: int, wait: bool) -> PreparedUpdate:
    """The statement that renews so many leases of a rater and leases so many new assignments to them.

    wait: whether it waits for rows that others have locked, or else passes them over.
    """
    renewed = [Blank(f"lease{place}", Assignment, "id") for place in range(n_renewed)]
    ids = [Blank(f"assignment{place}", Assignment, "id") for place in range(n_new)]
    turns = [Blank(f"turn{place}", Assignment, "turn") for place in range(n_new)]
    chosen = Q(rater=RATER, state=State.LEASED)
    if ids:
        chosen |= Q(free(NOW), pk__in=ids)
    # The ids of the renewed ones, too, though `rater` and `state` would find them: by its statistics the database
    # may expect that a rater has many rows, and would then read the whole table.
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

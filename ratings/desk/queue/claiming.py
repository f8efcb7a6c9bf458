"""Claim: lease to a rater the pairs that they should rate next.

A rater gets items: candidates (free assignments), gold pairs, whose grade is known, and repeats, which they grade
again. An item that they hold is a task, and its turn is its position among their tasks. Repeats, and the warm-ups
before the first pair, are checks. `me` is the rater as the lock read them.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache

from django.db.models import Case, Exists, F, Q, When
from django.utils import timezone

from ...database.prepared import Blank, Prepared, PreparedUpdate
from ...models import Assignment, Rater, Rating
from ..happenings import notify_listeners
from .acts import lock, locking, transacted
from .choosing import Candidate, ExtraGold, Holding, Item, RepeatPair, choose, claimants, numbered, padded
from .leases import LEASE, NOW, RATER, State, free, record_lost, release_all
from .mixing import hold_checks, hold_extras, hold_warm_ups, mix_in, to_warm_up
from .tasks import REPEAT, Task, held, held_assignments, in_turn, open_checks

MOST_HELD = 20  # tasks that a rater can hold at once


@transacted
def claim(rater: Rater, count: int = 1, *, now: datetime | None = None) -> list[Task]:
    """Lease new tasks to `rater` until they hold `count`, renew their leases, and return all tasks that they hold.

    The tasks are sorted by turn. A task stays held until the rater rates it, puts it off or stops, or until its
    lease expires and another rater takes the pair. Four queries, where the current query has enough candidates and
    neither gold nor repeats are mixed in.
    """
    now = now or timezone.now()
    count = min(count, MOST_HELD)
    me = _lock_claimant(rater=rater.pk)[0]
    notify_listeners("claim")  # for the metrics: each claim counts, also one that leases nothing
    if not me.is_able or me.collection.put_away_at:
        release_all(me)
        return []
    # `me.to_warm_up` may be outdated (see `claimants`), so `to_warm_up(me)` asks anew. Most raters are spared it.
    if me.to_warm_up and to_warm_up(me).exists():
        hold_warm_ups(me, count, now)
        return held(me)
    return _lease_up_to(me, count, now)


def _lease_up_to(me: Rater, count: int, now: datetime) -> list[Task]:
    """Lease new tasks to `me` until they hold `count`, and return all tasks that they hold, sorted by turn.

    Each pass of the loop chooses assignments and tries to lease them. Where other raters were faster with some of
    them, the next pass chooses again, without these.
    """
    taken_ids: set[int] = set()  # of the assignments with which other raters were faster, in any pass
    held_rows: list[Assignment] = []  # what the rater holds after the last pass
    while True:
        choice = choose(me, count, now, taken_ids)
        items = mix_in(me, choice, now)  # candidates, extra gold and repeats, in order
        if not choice.holding.tasks and not items:
            return []  # nothing to renew and nothing to lease
        turns = {item: turn for turn, item in enumerate(items, choice.holding.last_turn + 1)}
        # Others can be faster with these alone: extra gold and repeats are made for this rater.
        candidates = [item for item in items if isinstance(item, Candidate)]
        # In the first pass `held_rows` is empty. Later it has the rows that an earlier pass leased, which are
        # still locked. With them, this pass must not wait for rows that others have locked: two raters could
        # wait for each other.
        held_rows = _hold(me, choice.holding, turns, now, wait=not held_rows)
        held_ids = {row.pk for row in held_rows}
        # `candidate.rater` had an expired lease on the assignment, which now belongs to `me`. It is None for an
        # assignment that was open, and `record_lost` ignores that.
        record_lost((candidate.rater, candidate.pair) for candidate in candidates if candidate.pk in held_ids)
        missed_ids = {candidate.pk for candidate in candidates} - held_ids
        if not missed_ids:
            # A query for checks is made only if there are any.
            has_checks = choice.holding.checks or any(isinstance(item, RepeatPair) for item in items)
            return in_turn(held_rows, open_checks(rater=me.pk) if has_checks else ())
        # Either other raters were faster, or nothing was leased because `me` may no longer rate.
        if not Rater.objects.able().filter(pk=me.pk).exists():
            release_all(me)
            return []
        taken_ids |= missed_ids


_lock_claimant = Prepared(lambda: locking(claimants().filter(pk=Blank("rater", Rating, "rater"))))


@transacted
def stop(rater: Rater) -> int:
    """Give back all that `rater` holds. What they still send is kept. Returns how many leases changed."""
    return release_all(lock(rater))


def _hold(me: Rater, holding: Holding, turns: dict[Item, int], now: datetime, *, wait: bool) -> list[Assignment]:
    """Make `me` hold the items, and return all assignments that they hold then.

    Items are candidates (free assignments), extra gold (a pair with a known grade and without a free assignment)
    and repeats (a pair that they grade again). `holding`: what they held before; its leases are renewed.
    `turns`: item → its turn, the position among their tasks. Candidates may be missing in the result, because
    others were faster. `wait`: whether to wait for rows that others have locked, or to pass over them. Two
    queries, where all items are candidates.
    """
    new_leases = {item.pk: turn for item, turn in turns.items() if isinstance(item, Candidate)}
    _lease(me, holding.leases, new_leases, now, wait=wait)
    hold_extras(me, {item: turn for item, turn in turns.items() if isinstance(item, ExtraGold)}, now)
    # The place of a repeat: before which of the rater's wanted pairs it comes.
    repeats = {item.pair: (turn, item.place) for item, turn in turns.items() if isinstance(item, RepeatPair)}
    hold_checks(me, REPEAT, repeats, now)
    return held_assignments(rater=me.pk)


def _lease(me: Rater, leases: Sequence[int], turns: dict[int, int], now: datetime, *, wait: bool) -> None:
    """Lease to `me` those of the assignments that are still free, and renew the leases that they have. One query.

    `leases`: ids of the assignments that `me` holds already. `turns`: id of an assignment to be leased → its
    turn, the position among the tasks of `me`. `wait`: whether to wait for rows that others have locked, or to
    pass over them.

    Nothing changes if `me` lost the role of a rater while `_lock_claimant` waited for its lock. On PostgreSQL,
    `_lock_claimant` reads the role before that wait, so the update checks it again.

    A slower rater waits for the row lock and then finds that the row is not free. Rows are locked in the order of
    their ids, so two raters never wait for each other.
    """
    if not leases and not turns:
        return
    # There is one statement for each combination of both lengths. With zeros up to a multiple of IDS_AT_ONCE,
    # the leases have only a few lengths.
    leases = padded(leases)
    _lease_statement(len(leases), len(turns), wait)(
        rater=me.pk,
        now=now,
        until=now + LEASE,
        **numbered("lease", leases),
        **numbered("assignment", list(turns)),
        **numbered("turn", list(turns.values())),
    )


@cache
def _lease_statement(n_renewed: int, n_new: int, wait: bool) -> PreparedUpdate:
    """The statement that renews `n_renewed` leases of a rater and leases `n_new` other assignments to them.

    RATER, NOW and each `Blank` are placeholders, to which `_lease` gives values, with numbered ids and turns.
    `wait`: whether the statement waits for rows that others have locked; False: it passes over them.
    """
    renewed_ids = [Blank(f"lease{place}", Assignment, "id") for place in range(n_renewed)]
    new_ids = [Blank(f"assignment{place}", Assignment, "id") for place in range(n_new)]
    turns = [Blank(f"turn{place}", Assignment, "turn") for place in range(n_new)]
    chosen = Q(rater=RATER, state=State.LEASED)
    if new_ids:
        chosen |= Q(free(NOW), pk__in=new_ids)
    # The renewed leases are named by their ids, too, though `rater` and `state` would find them: by its statistics
    # the database may expect that a rater has many rows, and would then read the whole table.
    chosen &= Q(pk__in=[*renewed_ids, *new_ids]) & Q(Exists(Rater.objects.able().filter(pk=RATER)))
    locked = Assignment.objects.filter(chosen).order_by("pk").select_for_update(no_key=True, skip_locked=not wait)
    turn_cases = (When(pk=pk, then=turn) for pk, turn in zip(new_ids, turns, strict=True))
    return PreparedUpdate(
        lambda: Assignment.objects.filter(pk__in=locked.values("pk")),
        rater=RATER,
        state=State.LEASED,
        leased_until=Blank("until", Assignment, "leased_until"),
        turn=Case(*turn_cases, default=F("turn")),  # a renewed lease keeps its turn
    )

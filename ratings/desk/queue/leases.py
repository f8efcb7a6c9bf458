"""Assignments and their leases: which are free, and how they are taken, renewed and given back.

An assignment is one wanted rating of a pair: open, leased to a rater, or done, that is, filled by the grade of a
rater. An extra one is beyond the number wanted, for one rater. A surplus grade is one that fills no assignment. A
turn is the position of a task among those that its rater holds.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from ...database.prepared import Blank, Prepared
from ...models import Assignment, LostLease, Rater, Rating
from ..happenings import notify_listeners

LEASE = timedelta(minutes=30)  # each claim of the rater renews it

State = Assignment.State

# Blanks of prepared statements.
RATER, COLLECTION = Blank("rater", Assignment, "rater"), Blank("collection", Assignment, "collection")
NOW = Blank("now", Assignment, "leased_until")

# Whether the rater has an assignment, or a rating, of the `pair` of the row.
HAS_ASSIGNMENT = Exists(Assignment.objects.filter(pair=OuterRef("pair"), rater=RATER))
IS_RATED = Exists(Rating.objects.filter(pair=OuterRef("pair"), rater=RATER))


def free(now: datetime | Blank) -> Q:
    """The condition for assignments that any rater may take: open, or with an expired lease.

    An extra assignment belongs to its rater alone.
    """
    return Q(state=State.OPEN) | Q(state=State.LEASED, leased_until__lt=now, extra=False)


def takable(now: datetime | Blank) -> Q:
    """`free`, without expired leases of pairs that have a surplus grade: that grade will fill the assignment."""
    return free(now) & (Q(leased_until__isnull=True) | ~Exists(surplus_grades().filter(pair=OuterRef("pair"))))


def assignment_of(pair, rater) -> QuerySet:
    """The rater's assignment of the pair: one or none."""
    return Assignment.objects.filter(pair=pair, rater=rater)


def surplus_grades() -> QuerySet:
    """Grades that count and fill no assignment: imported ones, and ones sent after their lease was lost."""
    no_assignment = ~Exists(assignment_of(OuterRef("pair"), OuterRef("rater")))
    # Not by `counted`: with its join SQLite no longer reads the assignments of a claim in the order of an index.
    left_out = Rater.objects.filter(left_out_at__isnull=False)
    graded = Rating.objects.filter(no_assignment, grade__isnull=False, set_aside_at=None)
    return graded.exclude(rater__in=left_out)


def take(rater: Rater, pair_id: int, state: str, now: datetime) -> bool:
    """Give a free assignment of the pair to this rater, who has none of it. False: none was free.

    `state`: LEASED, or DONE for an assignment that a grade fills.
    """
    if state == State.LEASED:
        lease_fields = {"leased_until": now + LEASE, "turn": turn_before_all(rater)}
    else:
        lease_fields = {"leased_until": None}
    rows = Assignment.objects.filter(free(now), pair=pair_id, pair__retired_at__isnull=True)
    for pk, holder in rows.order_by("pk").values_list("pk", "rater"):
        # The update checks the condition again: of two raters, one gets the row.
        if Assignment.objects.filter(free(now), pk=pk).update(rater=rater, state=state, **lease_fields):
            record_lost([(holder, pair_id)])  # whose lease had expired; ignored if None: the assignment was open
            return True
    return False


def turn_before_all(rater: Rater) -> int:
    """A turn before the turns of all tasks that the rater holds."""
    leased = Assignment.objects.filter(rater=rater, state=State.LEASED).order_by("turn")
    checks = rater.checks.filter(turn__isnull=False).order_by("turn")
    turns = [*leased.values_list("turn", flat=True)[:1], *checks.values_list("turn", flat=True)[:1]]
    return min(turns, default=0) - 1


def record_lost(holders: Iterable[tuple[int | None, int]]) -> None:
    """Write a LostLease for each (rater id, pair id); those without a rater are ignored."""
    held = [(rater_id, pair_id) for rater_id, pair_id in holders if rater_id]
    if held:
        transaction.on_commit(partial(notify_listeners, "lost", len(held)))
        rows = (LostLease(rater_id=rater, pair_id=pair) for rater, pair in held)
        LostLease.objects.bulk_create(rows, ignore_conflicts=True, batch_size=5_000)


def to_give_back(rows: QuerySet) -> QuerySet:
    """`rows` with the facts that decide their next state: when the pair was `retired`, and `has_surplus`, whether
    another rater's surplus grade is to fill them.
    """
    surplus = surplus_grades().filter(pair=OuterRef("pair")).exclude(rater=OuterRef("rater"))
    return rows.annotate(retired=F("pair__retired_at"), has_surplus=Exists(surplus)).order_by("pk")


def give_back(rows: QuerySet) -> int:
    """End the leases on these assignments. Returns how many rows changed.

    A surplus grade of another rater fills an assignment. An extra assignment, or one of a retired pair, is
    deleted. All others become open, with one query for those of the same rater and lease.
    """
    return _give_back(to_give_back(rows))


def _give_back(rows: Iterable[Assignment]) -> int:
    """As `give_back`, of rows that `to_give_back` annotated."""
    changed, opened_together = 0, {}  # rows with one `_state_of` are opened by one query
    for row in rows:
        if row.extra or row.retired or row.has_surplus:
            changed += _delete_or_fill(row)
        else:
            opened_together.setdefault((row.rater_id, row.state, row.leased_until), []).append(row)
    return changed + sum(_open(rows_of_rater) for rows_of_rater in opened_together.values())


def _state_of(row: Assignment) -> dict:
    """A filter by which an update finds the row only as it was read."""
    return {"rater": row.rater_id, "state": row.state, "leased_until": row.leased_until}


def _open(rows: list[Assignment]) -> int:
    """How many of these rows, which all have one `_state_of`, were opened. Rows taken meanwhile are not."""
    unchanged = Assignment.objects.filter(pk__in=[row.pk for row in rows], **_state_of(rows[0])).order_by("pk")
    locked = unchanged.select_for_update(no_key=True).values("pk")
    opened = Assignment.objects.filter(pk__in=locked).update(rater=None, state=State.OPEN, leased_until=None)
    if opened and rows[0].state == State.LEASED:
        # Those that were taken since are lost too, so all of them are recorded.
        record_lost((row.rater_id, row.pair_id) for row in rows)
    return opened


def _delete_or_fill(row: Assignment) -> int:
    """Delete an extra assignment or one of a retired pair. Fill any other with a surplus grade of another rater.

    Returns 1, or 0 if the row was taken since it was read, so that nothing was done.
    """
    unchanged = Assignment.objects.filter(pk=row.pk, **_state_of(row))
    surplus = surplus_grades().filter(pair=row.pair_id).exclude(rater=row.rater_id).order_by("pk")
    if row.extra or row.retired:
        changed = unchanged.delete()[0]
    elif surplus_grade := surplus.first():
        changed = unchanged.update(rater=surplus_grade.rater_id, state=State.DONE, leased_until=None)
    else:  # the surplus grade that `to_give_back` saw is gone
        changed = unchanged.update(rater=None, state=State.OPEN, leased_until=None)
    if changed and row.state == State.LEASED:
        record_lost([(row.rater_id, row.pair_id)])
    return changed


def _expired_with_surplus() -> QuerySet:
    expired = Assignment.objects.filter(
        collection=COLLECTION, leased_until__isnull=False, leased_until__lt=NOW, extra=False
    )
    return to_give_back(expired.filter(Exists(surplus_grades().filter(pair=OuterRef("pair")))))


_expired = Prepared(_expired_with_surplus)


def fill_expired(collection_id: int, now: datetime) -> int:
    """Fill expired leases with surplus grades of their pairs. Returns how many.

    A grade that came while others held the pair waits until one of their leases expires.
    """
    return _give_back(_expired(collection=collection_id, now=now))


def release_all(rater: Rater) -> int:
    """Give back all leases of a locked rater. Returns how many. Their unanswered checks lose their turns."""
    rater.checks.filter(event__isnull=True, turn__isnull=False).update(turn=None)
    return give_back(Assignment.objects.filter(rater=rater, state=State.LEASED))

"""Which assignments are free; take them, lease them again, give them back."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from ..models import Assignment, Check, LostLease, Rater, Rating
from ..prepared import Blank, Prepared, PreparedUpdate
from .acts import Overtaken, lock, transacted

LEASE = timedelta(minutes=30)

State = Assignment.State

# Blanks of prepared statements: who asks, of which collection, and when.
RATER, COLLECTION = Blank("rater", Assignment, "rater"), Blank("collection", Assignment, "collection")
NOW = Blank("now", Assignment, "leased_until")


def free(now: datetime | Blank) -> Q:
    """An assignment that anybody may take. An extra one is its rater's alone."""
    return Q(state=State.OPEN) | Q(state=State.LEASED, leased_until__lt=now, extra=False)


def takable(now: datetime | Blank) -> Q:
    """A free assignment that no grade is about to fill which came late."""
    return free(now) & (Q(leased_until__isnull=True) | ~Exists(uncounted().filter(pair=OuterRef("pair"))))


def row_of(pair, rater) -> QuerySet:
    return Assignment.objects.filter(pair=pair, rater=rater)


def uncounted() -> QuerySet:
    """Grades that fill no assignment: imported, or later than their lease."""
    return Rating.objects.filter(grade__isnull=False).filter(~Exists(row_of(OuterRef("pair"), OuterRef("rater"))))


def take(rater: Rater, pair_id: int, state: str, now: datetime) -> bool:
    """Give one free assignment of the pair to a rater who has none of it, if there still is one."""
    lease = (
        {"leased_until": now + LEASE, "turn": before_all(rater)}
        if state == State.LEASED
        else {"leased_until": None}
    )
    rows = Assignment.objects.filter(free(now), pair=pair_id, pair__retired_at__isnull=True)
    for pk, holder in rows.order_by("pk").values_list("pk", "rater"):
        # The condition is checked again by the update itself: of two raters, one gets the row.
        if Assignment.objects.filter(free(now), pk=pk).update(rater=rater, state=state, **lease):
            lost([(holder, pair_id)])
            return True
    return False


def hand_over(row: Assignment, rater: Rater, now: datetime) -> None:
    """Lease to `rater` what somebody else holds. Raises Overtaken where they hold it no more."""
    lease = {"leased_until": now + LEASE, "turn": before_all(rater)}
    if not Assignment.objects.filter(pk=row.pk, **_as_seen(row)).update(rater=rater, **lease):
        raise Overtaken
    lost([(row.rater_id, row.pair_id)])


def before_all(rater: Rater) -> int:
    """The turn that comes before everything that the rater holds."""
    turns = (
        Assignment.objects.filter(rater=rater, state=State.LEASED).order_by("turn").values_list("turn", flat=True)
    )
    checks = rater.checks.filter(turn__isnull=False).order_by("turn").values_list("turn", flat=True)
    return min([*turns[:1], *checks[:1]], default=0) - 1


def lost(holders: Iterable[tuple[int | None, int]]) -> None:
    """Remember who held which pair: (rater id or None, pair id)."""
    rows = [LostLease(rater_id=rater_id, pair_id=pair_id) for rater_id, pair_id in holders if rater_id]
    if rows:
        LostLease.objects.bulk_create(rows, ignore_conflicts=True, batch_size=5_000)


def give_back(rows: QuerySet) -> int:
    """Free assignments, or let each count a grade that came when all of its pair were taken. How many were freed.

    What was extra, or of a retired pair, is wanted of nobody else: it goes. Otherwise, and where no late grade
    waits, all that was leased alike is freed by one query.
    """
    return _give_back(looked_at(rows))


def looked_at(rows: QuerySet) -> QuerySet:
    """`rows` with what decides how they are given back."""
    late = uncounted().filter(pair=OuterRef("pair")).exclude(rater=OuterRef("rater"))
    return rows.annotate(retired=F("pair__retired_at"), late=Exists(late)).order_by("pk")


def _give_back(rows: Iterable[Assignment]) -> int:
    freed, alike = 0, {}
    for row in rows:
        if row.extra or row.retired or row.late:
            freed += _settle(row)
        else:
            alike.setdefault((row.rater_id, row.state, row.leased_until), []).append(row)
    return freed + sum(_free(rows) for rows in alike.values())


def _as_seen(row: Assignment) -> dict:
    return {"rater": row.rater_id, "state": row.state, "leased_until": row.leased_until}


def _free(rows: list[Assignment]) -> int:
    """Free rows that look alike, but for those that somebody else has taken since they were looked at."""
    still = Assignment.objects.filter(pk__in=[row.pk for row in rows], **_as_seen(rows[0])).order_by("pk")
    locked = still.select_for_update(no_key=True).values("pk")
    freed = Assignment.objects.filter(pk__in=locked).update(rater=None, state=State.OPEN, leased_until=None)
    if freed and rows[0].state == State.LEASED:
        # Among them those that went to somebody else: they were lost as well.
        lost((row.rater_id, row.pair_id) for row in rows)
    return freed


def _settle(row: Assignment) -> int:
    """Give back a row of which something else must become than an open one."""
    still = Assignment.objects.filter(pk=row.pk, **_as_seen(row))
    if row.extra or row.retired:
        freed = still.delete()[0]
    else:
        late = uncounted().filter(pair=row.pair_id).exclude(rater=row.rater_id).order_by("pk").first()
        filled = {"rater": late.rater_id, "state": State.DONE} if late else {"rater": None, "state": State.OPEN}
        freed = still.update(**filled, leased_until=None)
    if freed and row.state == State.LEASED:
        lost([(row.rater_id, row.pair_id)])
    return freed


def _late() -> QuerySet:
    expired = Assignment.objects.filter(
        collection=COLLECTION, leased_until__isnull=False, leased_until__lt=NOW, extra=False
    )
    return looked_at(expired.filter(Exists(uncounted().filter(pair=OuterRef("pair")))))


_of_rater = Prepared(lambda: looked_at(Assignment.objects.filter(rater=RATER, state=State.LEASED)))
_ran_out_late = Prepared(_late)


def count_late(collection_id: int, now: datetime) -> int:
    """Let grades that came while others held their pair fill it, where those leases have run out since."""
    return _give_back(_ran_out_late(collection=collection_id, now=now))


def release_all(rater: Rater) -> int:
    """Give back whatever is leased to a rater who is locked, and lay their checks aside."""
    _lay_aside(rater=rater.pk)
    return _give_back(_of_rater(rater=rater.pk))


_lay_aside = PreparedUpdate(
    lambda: Check.objects.filter(rater=RATER, event__isnull=True, turn__isnull=False), turn=None
)


@transacted
def release(leases: Rater | Iterable[int]) -> int:
    """Give back the leases of a rater, or those assignments of these ids that are leased; says how many.

    Nothing is lost by it: what their raters still send is kept.
    """
    if isinstance(leases, Rater):
        return release_all(lock(leases))
    leased = Assignment.objects.filter(pk__in=list(leases), state=State.LEASED)
    # Raters first, as in their own acts, and one after the other in one order: else two could wait for each other.
    holders = Rater.objects.filter(pk__in=leased.values("rater")).order_by("pk")
    list(holders.select_for_update(no_key=True).values_list("pk"))
    return give_back(leased)

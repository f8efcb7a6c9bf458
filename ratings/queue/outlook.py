"""The progress of a rater: what they have done and what is left. It reveals nothing of what others did."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from ..models import HAS_ROUND, Anchor, Assignment, Rater, Rating
from .choosing import answered_repeats, any_put_off, grades_of, is_restricted, queries_of, row_count
from .leases import State, assignment_of, free, surplus_grades
from .mixing import to_warm_up
from .order import comes_by_query
from .tasks import held_checks

COUNTED = 500  # beyond this a page says "more than": to count a million pairs takes a second
FINE, COARSE, SMALL = 10, 50, 200  # `left` is rounded to tens, from SMALL on to fifties


@dataclass(frozen=True)
class Outlook:
    """A rater's progress."""

    done: int  # their answers, those to repeats included
    left: int  # about how many tasks they will still get, at most COUNTED; 0 only if there are none
    more: bool  # whether there are more than that
    held_by_others: int  # if nothing is left: the number of pairs that others hold
    next_return: datetime | None  # when the first of these leases expires
    why: str = ""  # why they get no pairs: "put_away", "not_active", "limit", "warm_up" (until done)

    @property
    def few(self) -> bool:
        return 0 < self.left < FINE

    @property
    def about(self) -> int:
        """`left`, rounded up before a rater sees it. Warm-ups are not rounded."""
        if self.why == "warm_up" or not self.left:
            return self.left
        step = FINE if self.left < SMALL else COARSE
        return -(-self.left // step) * step


class RaterCounts(NamedTuple):
    """A rater with counts of what they did and hold."""

    rater: Rater
    restricted: bool  # whether they rate only some queries
    graded: int  # their grades that count towards their limit
    ratings: int
    cannot: int
    repeats: int
    assignments: int  # their assignments, leased or done, without extra ones
    finished: int
    leased: int


def outlook(rater: Rater, *, now: datetime | None = None) -> Outlook:
    now = now or timezone.now()
    counts = _counts(rater.pk)
    me, done = counts.rater, counts.ratings + counts.repeats
    if me.collection.put_away_at:
        return Outlook(done, 0, False, 0, None, "put_away")
    if not me.is_able:
        return Outlook(done, 0, False, 0, None, "not_active")
    warm_ups = None if me.warmed_up_at else to_warm_up(me).count()
    if warm_ups:
        return Outlook(done, warm_ups, False, 0, None, "warm_up")
    room = None if me.limit is None else me.limit - counts.graded
    if room is not None and room <= 0:
        return Outlook(done, 0, False, 0, None, "limit")
    if not _any_left(counts, now):
        returns = list(_held_by_others(counts, now).order_by("leased_until").values_list("pair", "leased_until"))
        return Outlook(done, 0, False, len({pair for pair, _ in returns}), returns[0][1] if returns else None)
    left = _expected(counts, now)
    if room is not None:
        left = min(left, room)
    return Outlook(done, min(left, COUNTED), left > COUNTED, 0, None)


def _counts(rater: int) -> RaterCounts:
    me = OuterRef("pk")
    ratings, assignments = Rating.objects.filter(rater=me), Assignment.objects.filter(rater=me)
    rows = {
        "ratings": ratings,
        "cannot": ratings.filter(grade__isnull=True),
        "repeats": answered_repeats(me),
        "assignments": assignments.filter(extra=False),
        "finished": assignments.filter(state=State.DONE),
        "leased": assignments.filter(state=State.LEASED),
    }
    counts = {f"n_{name}": row_count(each, "rater") for name, each in rows.items()}
    raters = Rater.objects.with_able().select_related("collection")
    row = raters.annotate(restricted=is_restricted(), n_graded=grades_of(me), **counts).get(pk=rater)
    names = RaterCounts._fields[2:]
    return RaterCounts(row, row.restricted, *(getattr(row, f"n_{name}") for name in names))


def _expected(counts: RaterCounts, now: datetime) -> int:
    """About how many tasks they will still get, at most one more than COUNTED.

    The number is: their own pairs, answered or not, plus the pairs that they could get, plus what is on average
    mixed in with so many pairs, minus all that they answered. No act of the rater changes the first three, and
    each answer takes one away, whatever it was. So the sum of done and left does not tell what was mixed in. For
    the same reason held repeats and extra assignments are not counted.
    """
    answered = counts.finished + counts.cannot + counts.repeats
    most = max(0, COUNTED + answered - counts.assignments + 1)
    pairs = counts.assignments + _free_pairs(counts, now)[:most].count()
    return max(1, min(COUNTED + 1, pairs + _mixed_in(counts.rater, pairs) - answered))


def _mixed_in(me: Rater, pairs: int) -> int:
    """About how many gold pairs and repeats come with so many wanted pairs. 0 in the orders that go by query."""
    if comes_by_query(me.collection):
        return 0
    gold, repeat = me.collection.gold_share, me.collection.repeat_share
    wanted = max(1 - gold - repeat, Decimal("0.1"))
    golds = Anchor.objects.of(me.collection_id).filter(use=Anchor.Use.GOLD).count() if gold else 0
    return int(min(golds, pairs * gold / wanted) + pairs * repeat / wanted)


def _any_left(counts: RaterCounts, now: datetime) -> bool:
    me = counts.rater
    if counts.leased or held_checks(me).exists() or _unrated_by(me, _free_pairs(counts, now)).exists():
        return True
    return any_put_off(me, counts.restricted, now)


def _unrated_by(me: Rater, rows: QuerySet) -> QuerySet:
    """The assignments whose pairs the rater has not rated.

    This is a subquery because PostgreSQL would turn NOT EXISTS into a join. With old statistics it would then read
    all ratings of the rater for each row.
    """
    rated = Rating.objects.filter(rater=me, pair=OuterRef("pair")).values("pk")[:1]
    return rows.annotate(rated=Subquery(rated)).filter(rated=None)


def _in_reach(counts: RaterCounts) -> QuerySet:
    """The waiting assignments of pairs that may be given to the rater."""
    me = counts.rater
    rows = Assignment.objects.waiting().filter(collection=me.collection_id, pair__retired_at__isnull=True)
    return rows.filter(query__in=queries_of(me)) if counts.restricted else rows


def _free_pairs(counts: RaterCounts, now: datetime) -> QuerySet:
    """One free assignment of each pair that the rater does not hold."""
    of_pair = Assignment.objects.filter(free(now), pair=OuterRef("pair"))
    surplus = surplus_grades().filter(pair=OuterRef("pair"))
    # Each surplus grade will fill one expired lease.
    enough = Q(leased_until__isnull=True) | Q(n_free__gt=F("n_surplus"))
    rows = _in_reach(counts).annotate(
        n_free=row_count(of_pair, "pair"),
        n_surplus=row_count(surplus, "pair"),
        own=Subquery(assignment_of(OuterRef("pair"), counts.rater).values("pk")[:1]),
        older=Subquery(of_pair.filter(pk__lt=OuterRef("pk")).values("pk")[:1]),
    )
    # With DISTINCT or without an order, PostgreSQL would read far more rows than the caller's slice counts.
    return rows.filter(free(now) & enough & HAS_ROUND, own=None, older=None).order_by("round", "lot")


def _held_by_others(counts: RaterCounts, now: datetime) -> QuerySet:
    held = _in_reach(counts).filter(leased_until__isnull=False, leased_until__gte=now, extra=False)
    return _unrated_by(counts.rater, held).exclude(rater=counts.rater)

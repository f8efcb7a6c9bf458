"""The progress of a rater: what they have done and what is left. It reveals nothing of what others did.

Raters also get gold, which are pairs whose grade is known, and repeats, which they grade again. Both are mixed in
unseen. Warm-ups come before the first pair. Warm-ups and repeats are checks.
"""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from ...models import HAS_ROUND, Assignment, Rater, Rating
from .choosing import (
    MOST_COUNTED_PAIRS,
    answered_repeats,
    grades_of,
    is_restricted,
    put_off_gold_and_repeats,
    queries_of,
    row_count,
    skips,
)
from .leases import State, assignment_of, free, surplus_grades
from .mixing import mix_of, to_warm_up
from .order import comes_by_query
from .tasks import held_checks


@dataclass(frozen=True)
class Outlook:
    """A rater's progress."""

    done: int  # their answers, those to repeats included
    # The tasks that they hold and can get, with the gold and repeats mixed in: at most MOST_COUNTED_PAIRS.
    left: int = 0
    more: bool = False  # whether there are more than that
    held_by_others: int = 0  # if nothing is left: the number of pairs that others hold
    next_return: datetime | None = None  # when the first of these leases expires
    why: str = ""  # why they get no pairs: "put_away", "not_active", "limit", "warm_up" (until done)
    # `done` and `left` of each query that was asked for, if pairs come; None where the order does not go by query.
    queries: dict[int, tuple[int, int]] | None = None


def outlook(rater: Rater, queries: Set[int] = frozenset(), *, now: datetime | None = None) -> Outlook:
    """What the rater has done and what is left, also in each of these queries; if nothing is left, why."""
    now = now or timezone.now()
    me = _with_counts(rater)
    overall = _overall(me, now)
    if not queries or not comes_by_query(me.collection):
        return overall
    return replace(overall, queries={} if overall.why else _in_queries(me, queries, overall.left, now))


def _overall(me: Rater, now: datetime) -> Outlook:
    """The outlook on all queries together, without its member `queries`. `me` comes from `_with_counts`."""
    done = me.n_ratings + me.n_repeats
    if me.collection.put_away_at:
        return Outlook(done, why="put_away")
    if not me.is_able:
        return Outlook(done, why="not_active")
    warm_ups = None if me.warmed_up_at else to_warm_up(me).count()
    if warm_ups:
        return Outlook(done, left=warm_ups, why="warm_up")
    grades_left = None if me.limit is None else me.limit - me.n_graded  # by the rater's limit; None: no limit
    if grades_left is not None and grades_left <= 0:
        return Outlook(done, why="limit")
    left = _tasks_left(me, now)
    if not left:
        leases = list(_held_by_others(me, now).values_list("pair", "leased_until"))
        next_return = min((leased_until for _, leased_until in leases), default=None)
        return Outlook(done, held_by_others=len({pair for pair, _ in leases}), next_return=next_return)
    if grades_left is not None:
        left = min(left, grades_left)
    return Outlook(done, left=min(left, MOST_COUNTED_PAIRS), more=left > MOST_COUNTED_PAIRS)


def _with_counts(rater: Rater) -> Rater:
    """The rater with counts of what they did and hold, and two facts about what they get.

    `with_able` adds `is_able`, whether they may rate now. `restricted`: whether they rate only some queries.
    `n_graded` are the grades that their limit counts.
    """
    outer = OuterRef("pk")
    raters = Rater.objects.with_able().select_related("collection")
    return raters.annotate(
        restricted=is_restricted(),
        n_graded=grades_of(outer),
        n_ratings=row_count(Rating.objects.filter(rater=outer), "rater"),
        n_repeats=row_count(answered_repeats().filter(rater=outer), "rater"),
        n_leased=row_count(Assignment.objects.filter(rater=outer, state=State.LEASED), "rater"),
    ).get(pk=rater.pk)


def _tasks_left(me: Rater, now: datetime) -> int:
    """How many tasks the rater holds and will get if nobody else takes a pair.

    Of gold and repeats, the gold that they hold is among the leased pairs, and the repeats that they hold are
    among the checks. Those that are still to be mixed in count too, so that each answer lowers the number by
    one, also an answer to these, and a claim does not change it. Above MOST_COUNTED_PAIRS the number is not
    exact.
    """
    free_pairs = list(_free_pairs(me, now)[: MOST_COUNTED_PAIRS + 1])
    left = me.n_leased + held_checks(me).count() + len(free_pairs)
    left += len(put_off_gold_and_repeats(me, now))  # `free_pairs` has what else they put off
    if left > MOST_COUNTED_PAIRS or not (me.collection.gold_share or me.collection.repeat_share):
        return left
    # Gold and repeats are mixed in before new pairs alone, not before what the rater put off.
    new_by_query = Counter(query for query, skip_id in free_pairs if skip_id is None)
    mix = mix_of(me, new_by_query, now)
    return left + mix.to_come()  # to come: neither held nor put off yet


def _in_queries(me: Rater, queries: Set[int], most: int, now: datetime) -> dict[int, tuple[int, int]]:
    """Query id → (how many tasks the rater has done in the query, how many are left there, at most `most`).

    `most`: how many are left in all queries together, which a limit of the rater may lower. Each answer moves
    one from what is left to what is done, be it to a repeat, to gold or to another pair. Each task that is left
    counts once: leased, a held check, a free pair, gold or a repeat that was put off, or one still to be mixed
    in. Six database queries; ten where gold and repeats are mixed in.
    """
    of_pair = {"pair__query__in": queries}
    done = Counter(Rating.objects.filter(rater=me, **of_pair).values_list("pair__query", flat=True))
    done.update(answered_repeats().filter(rater=me, **of_pair).values_list("pair__query", flat=True))
    leased = Assignment.objects.filter(rater=me, state=State.LEASED, query__in=queries)
    left = Counter(leased.values_list("query", flat=True))
    left.update(held_checks(me).filter(**of_pair).values_list("pair__query", flat=True))
    # (query, id of the event by which the rater put the pair off; None for a new pair)
    free_pairs = list(_free_pairs(me, now).filter(query__in=queries))
    left.update(query for query, _ in free_pairs)
    left.update(query for query in put_off_gold_and_repeats(me, now) if query in queries)
    if me.collection.gold_share or me.collection.repeat_share:
        # Gold and repeats that the rater neither holds nor put off so far. Only before new pairs are they mixed
        # in.
        new_by_query = Counter(query for query, skip_id in free_pairs if skip_id is None)
        mix = mix_of(me, {query: new_by_query[query] for query in queries}, now)
        left.update({query: mix.to_come_of(query) for query in queries})
    return {query: (done[query], min(left[query], most)) for query in queries}


def _unrated_by(me: Rater, rows: QuerySet) -> QuerySet:
    """The assignments whose pairs the rater has not rated.

    This is a subquery because PostgreSQL would turn NOT EXISTS into a join. With old statistics it would then read
    all ratings of the rater for each row.
    """
    rated = Rating.objects.filter(rater=me, pair=OuterRef("pair")).values("pk")[:1]
    return rows.annotate(rated=Subquery(rated)).filter(rated=None)


def _in_reach(me: Rater) -> QuerySet:
    """The waiting assignments of pairs that may be given to the rater."""
    rows = Assignment.objects.waiting().filter(collection=me.collection_id, pair__retired_at__isnull=True)
    return rows.filter(query__in=queries_of(me)) if me.restricted else rows


def _free_pairs(me: Rater, now: datetime) -> QuerySet:
    """(query, id of the event by which the rater put it off, or None) of each pair that the rater can get.

    These are free pairs, open or with an expired lease, that the rater neither holds nor has rated. Of the rows of
    a pair only the oldest free assignment is kept, the one that has no `older` one.
    """
    of_pair = Assignment.objects.filter(free(now), pair=OuterRef("pair"))
    surplus = surplus_grades().filter(pair=OuterRef("pair"))
    put_off = skips(me).filter(pair=OuterRef("pair"))
    # A surplus grade fills no assignment yet: it was imported, or its lease was lost before. It will fill an
    # expired lease of its pair. So a pair that has only expired leases is free if it has more of them than surplus
    # grades. A pair with an open assignment has no surplus grade, and is free.
    stays_free = Q(leased_until__isnull=True) | Q(n_free__gt=F("n_surplus"))
    rows = _in_reach(me).annotate(
        n_free=row_count(of_pair, "pair"),
        n_surplus=row_count(surplus, "pair"),
        own_assignment=Subquery(assignment_of(OuterRef("pair"), me).values("pk")[:1]),
        older=Subquery(of_pair.filter(pk__lt=OuterRef("pk")).values("pk")[:1]),
        put_off=Subquery(put_off.values("pk")[:1]),
    )
    # HAS_ROUND is always true: with this condition SQLite uses the index.
    rows = _unrated_by(me, rows.filter(free(now) & stays_free & HAS_ROUND, own_assignment=None, older=None))
    # With DISTINCT or without an order, PostgreSQL would read far more rows than the caller's slice counts.
    return rows.order_by("round", "lot").values_list("query", "put_off")


def _held_by_others(me: Rater, now: datetime) -> QuerySet:
    held = _in_reach(me).filter(leased_until__isnull=False, leased_until__gte=now, extra=False)
    return _unrated_by(me, held).exclude(rater=me)

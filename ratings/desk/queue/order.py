"""The orders in which raters get pairs: one function for each `Collection.Order`.

An order takes all free assignments and returns a group of them: the one to be rated first. A caller that needs
more pairs asks for the next group. Within a group the order is random but fixed: every assignment has a `lot`, a
random number drawn when it was made. A rater goes through the lots upwards from a start point, and from 0 again
after the largest. The start point is a hash of the rater and of the last pair that they hold or, if they hold
none, of the pair of their last act. Thus raters begin at different places, and a reload or a restart of the server
gives the same pairs. An index on the lot finds the next assignment.

Ids, groups and start point can be blanks of a prepared statement.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Coalesce

from ...models import HAS_ROUND, LOTS, Assignment, Collection

IntOrBlank = Any  # an id or a lot, or the placeholder for it in a prepared statement


def by_query(free: QuerySet, current: IntOrBlank, earlier: Sequence[IntOrBlank], start: IntOrBlank) -> QuerySet:
    """Of the `free` assignments, those of one query, which are one group: the `current` query, or the next one.

    Queries are kept together because a rater spends most time on a new one. `earlier`: ids of the queries that
    were read before, the current one first; empty: the group of the current query is asked for. The next query
    is that of an assignment in the oldest round (the pairs of a round were drawn together): the one with the
    first lot, its random number, from `start` on or, if there is none, from 0 on.
    """
    if not earlier:
        return free.filter(query=current)
    rest = free
    for query in earlier:
        rest = rest.exclude(query=query)
    # Up to one row of each part: within one round, the index on the lot ends the search at the first row.
    from_start_lot, below_start_lot = from_start(_oldest_round(rest), start, 1, "query")
    return free.filter(query=Coalesce(Subquery(from_start_lot), Subquery(below_start_lot)))


def by_depth(free: QuerySet, current: IntOrBlank, earlier: Sequence[IntOrBlank], start: IntOrBlank) -> QuerySet:
    """The assignments of the smallest depth, over all queries; then those of the next depth."""
    rest = free
    if earlier:
        rest = free.filter(depth__gt=Subquery(Assignment.objects.filter(pk=earlier[-1]).values("depth")))
    return free.filter(depth=Subquery(rest.order_by("depth").values("depth")[:1]))


def by_round(free: QuerySet, current: IntOrBlank, earlier: Sequence[IntOrBlank], start: IntOrBlank) -> QuerySet:
    """Of the `free` assignments, those of one query in the oldest round: of `current`, or of the next query by id.

    After all rounds come pairs that were not drawn, so that raters have work while the next round is being
    drawn: their round is the number UNDRAWN. A group is one query in one round. `earlier`: the id of one
    assignment of each group that was read before this one; of these groups no assignment is returned. `start` is
    not used.
    """
    rest = free
    for assignment_id in earlier:
        of_group = Assignment.objects.filter(pk=assignment_id)
        rest = rest.exclude(round=Subquery(of_group.values("round")), query=Subquery(of_group.values("query")))
    oldest = _oldest_round(rest)
    queries = oldest.order_by("query").values("query")
    current_or_next = Subquery(queries.filter(query__gte=current)[:1])
    first = Subquery(queries[:1])  # if all queries have smaller ids than the current one
    return oldest.filter(query=Coalesce(current_or_next, first))


def at_random(free: QuerySet, current: IntOrBlank, earlier: Sequence[IntOrBlank], start: IntOrBlank) -> QuerySet:
    """The assignments of the oldest round; then those of the next one, and after all rounds what is in none."""
    rest = free
    if earlier:
        rest = rest.filter(round__gt=Subquery(Assignment.objects.filter(pk=earlier[-1]).values("round")))
    return _oldest_round(rest)


def _oldest_round(free: QuerySet) -> QuerySet:
    """The assignments of the oldest round that has any; those in no round come after all rounds."""
    free = free.filter(HAS_ROUND)  # the same condition as that of the index
    return free.filter(round=Subquery(free.order_by("round").values("round")[:1]))


class Order(NamedTuple):
    group: Callable[[QuerySet, IntOrBlank, Sequence[IntOrBlank], IntOrBlank], QuerySet]
    group_field: str  # the field of a Candidate that stands for its group in `earlier`
    # Whether raters get several pairs of a query after each other: what is mixed in must not stand out.
    by_query: bool = False


ORDERS = {
    Collection.Order.QUERY: Order(by_query, "query", by_query=True),
    Collection.Order.DEPTH: Order(by_depth, "pk"),
    Collection.Order.RANDOM: Order(at_random, "pk"),
    Collection.Order.DECISIVE: Order(by_round, "pk", by_query=True),
}


def comes_by_query(collection: Collection) -> bool:
    """Whether raters get several pairs of a query after each other, and gold with those of its query."""
    return ORDERS[collection.order].by_query


def from_start(group: QuerySet, start: IntOrBlank, count: int, *columns: str) -> list[QuerySet]:
    """Up to `count` rows with a lot from `start` on, and up to `count` below it, which come afterwards."""
    rows = group.order_by("lot").values_list(*columns)
    return [rows.filter(lot__gte=start)[:count], rows.filter(lot__lt=start)[:count]]


def start_point(rater_id: int, pair_id: int | None) -> int:
    """The lot, 0…LOTS−1, from which the rater continues after the pair."""
    return int.from_bytes(blake2b(f"{rater_id}/{pair_id}".encode(), digest_size=8).digest()) % LOTS

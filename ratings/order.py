"""In which order a rater gets the pairs that are free for them: one function an order.

An order is given the free assignments and the query that the rater was at. It yields groups of assignments, the
most wanted first; the next pair comes from the first group that is not empty. Within a group chance decides, by an
index: each assignment has drawn a lot, and after each act a rater takes the next lot from a point of their own on.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b

from django.db.models import QuerySet

from .models import LOTS, Collection

Groups = Iterator[QuerySet]


def by_query(free: QuerySet, query_id: int | None) -> Groups:
    """The query at hand until it has nothing left, because a new query costs the reader most; then any query."""
    if query_id is not None:
        yield free.filter(query=query_id)
    yield free


def by_depth(free: QuerySet, query_id: int | None) -> Groups:
    """What some system ranks first, then second, and so on, over all queries."""
    least = free.order_by("depth").values_list("depth", flat=True).first()
    if least is not None:
        yield free.filter(depth=least)


def at_random(free: QuerySet, query_id: int | None) -> Groups:
    """Any pair of any query."""
    yield free


ORDERS: dict[str, Callable[[QuerySet, int | None], Groups]] = {
    Collection.Order.QUERY: by_query,
    Collection.Order.DEPTH: by_depth,
    Collection.Order.RANDOM: at_random,
}


def next_pair(order: str, free: QuerySet, *, rater_id: int, at: tuple[int, int] | None) -> int | None:
    """Id of the pair that comes next. `at` are the ids of the pair and query of the rater's last act, if any.

    The same arguments and the same free assignments give the same pair: to look again, or a new start of the
    server, changes nothing.
    """
    pair_id, query_id = at or (None, None)
    point = own_point(rater_id, pair_id)
    for group in ORDERS[order](free, query_id):
        line = group.order_by("lot").values_list("pair", flat=True)
        found = line.filter(lot__gte=point).first() or line.filter(lot__lt=point).first()
        if found:
            return found
    return None


def own_point(rater_id: int, pair_id: int | None) -> int:
    """Where a rater looks for the next lot, in 0…LOTS−1: another place for each rater and after each pair."""
    return int.from_bytes(blake2b(f"{rater_id}/{pair_id}".encode(), digest_size=8).digest()) % LOTS

"""In which order a rater gets the pairs that are free for them: one function an order.

An order is given the free assignments, the query that the rater was at, what marked the groups before, and a point
among the lots. It gives the group of assignments that is the most wanted now; who needs more than it has asks for
the next. Within a group chance decides, by an index: each assignment has drawn a lot, and after each act a rater
takes the next lots from a point of their own on. Query, marks and point can be blanks of a prepared statement.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS
from django.db.models import QuerySet, Subquery
from django.db.models.functions import Coalesce

from .models import LOTS, Assignment, Collection
from .prepared import Statement, once

Given = Any  # an id or a number, or a blank for it


def by_query(free: QuerySet, at: Given, seen: Sequence[Given], point: Given) -> QuerySet:
    """The query at hand until it has nothing left, because a new query costs the reader most; then another."""
    if not seen:
        return free.filter(query=at)
    for query in seen:
        free = free.exclude(query=query)
    above, below = (Subquery(part) for part in lines(free, point, 1, "query"))
    return free.filter(query=Coalesce(above, below))


def by_depth(free: QuerySet, at: Given, seen: Sequence[Given], point: Given) -> QuerySet:
    """What some system ranks first, then second, and so on, over all queries."""
    rest = free
    if seen:
        rest = free.filter(depth__gt=Subquery(Assignment.objects.filter(pk=seen[-1]).values("depth")))
    return free.filter(depth=Subquery(rest.order_by("depth").values("depth")[:1]))


def at_random(free: QuerySet, at: Given, seen: Sequence[Given], point: Given) -> QuerySet:
    """Any pair of any query."""
    return free


class Order(NamedTuple):
    group: Callable[[QuerySet, Given, Sequence[Given], Given], QuerySet]
    mark: str | None = None  # the column of an assignment that tells its group; None: there is but one group


ORDERS = {
    Collection.Order.QUERY: Order(by_query, "query"),
    Collection.Order.DEPTH: Order(by_depth, "pk"),
    Collection.Order.RANDOM: Order(at_random),
}


def lines(group: QuerySet, point: Given, count: int, *columns: str) -> list[QuerySet]:
    """The next `count` of a group: those from `point` on, and those to go on with where its lots end before.

    The same arguments and the same free assignments give the same: to look again, or a new start of the server,
    changes nothing.
    """
    line = group.order_by("lot").values_list(*columns)
    return [line.filter(lot__gte=point)[:count], line.filter(lot__lt=point)[:count]]


class Together:
    """The rows of several querysets of as many columns, each in its order, by one database query.

    Django's own union cannot keep a limit for each part on SQLite. Prepared: `make` makes the querysets once, and
    they may have blanks.
    """

    def __init__(self, make: Callable[[], Sequence[QuerySet]]) -> None:
        self._make = make

    def __call__(self, **given: Any) -> list[list[tuple]]:
        found = [[] for _ in self._parts]
        with self._statement.run(given) as cursor:
            for number, *row in cursor.fetchall():
                found[number].append(tuple(row))
        return found

    @once
    def _parts(self) -> list[QuerySet]:
        return list(self._make())

    @once
    def _statement(self) -> Statement:
        parts, params = [], []
        for number, part in enumerate(self._parts):
            sql, own = part.query.sql_with_params()
            parts.append(f"SELECT {number}, part{number}.* FROM ({sql}) AS part{number}")
            params += own
        return Statement(" UNION ALL ".join(parts), params, DEFAULT_DB_ALIAS)


def own_point(rater_id: int, pair_id: int | None) -> int:
    """Where a rater looks for the next lot, in 0…LOTS−1: another place for each rater and after each pair."""
    return int.from_bytes(blake2b(f"{rater_id}/{pair_id}".encode(), digest_size=8).digest()) % LOTS

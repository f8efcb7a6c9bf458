"""Which assignments are in line for a rater: what is free and theirs to rate, in the collection's order."""

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from itertools import chain, islice
from typing import Any, NamedTuple

from django.db.models import Case, Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from .. import order
from ..models import Anchor, Assignment, Check, Query, Rater, Rating, RatingEvent
from ..prepared import Blank, Prepared
from .leases import COLLECTION, NOW, RATER, State, count_late, free, row_of, takable
from .tasks import held_checks, held_pairs

PLENTY = 200  # open ratings; where there are fewer, raters share what is left
AT_A_TIME = (
    20  # what others took first is told to the statement in so many at a time, so that few are to be written
)

Kind = RatingEvent.Kind


class Line(NamedTuple):
    """An assignment in line for a rater."""

    pk: int
    pair: int
    query: int
    rater: int | None  # whose lease on it ran out


class Own(NamedTuple):
    """What a rater holds already: leases and checks."""

    leases: int
    checks: int
    turn: int  # of the last of them

    @property
    def tasks(self) -> int:
        return self.leases + self.checks


class Shape(NamedTuple):
    """What decides how the statement reads that looks for lines. All else are blanks of it."""

    order: str
    narrowed: bool
    count: int
    seen: int = 0  # groups that have no more
    missed: int = 0  # blanks for assignments that others took first


POINT, AT = Blank("point", Assignment, "lot"), Blank("at", Assignment, "query")


def looking() -> QuerySet:
    """Raters with what a claim wants to know beforehand.

    Nothing of it may decide about the rights of others or a limit: it can be as old as the wait for the lock.
    """
    leased = Assignment.objects.filter(rater=OuterRef("pk"), state=State.LEASED).order_by("-turn")
    checks = Check.objects.filter(rater=OuterRef("pk"), turn__isnull=False).order_by("-turn")
    acts = RatingEvent.objects.filter(rater=OuterRef("pk")).order_by("-pk")
    warm_ups = Anchor.objects.of(OuterRef("collection")).filter(use=Anchor.Use.WARM_UP)
    still_open = Assignment.objects.waiting().filter(collection=OuterRef("collection"), rater__isnull=True)
    raters = Rater.objects.annotate(
        last_lease=Subquery(leased.values("turn")[:1]), last_check=Subquery(checks.values("turn")[:1])
    )
    after_check = Q(last_check__isnull=False) & (Q(last_lease__isnull=True) | Q(last_check__gt=F("last_lease")))
    mixes = Q(collection__gold_share__gt=0) | Q(collection__repeat_share__gt=0)
    return raters.annotate(
        # Go on where the line of tasks ends, not at what is on the screen.
        at_pair=Coalesce(Subquery(leased.values("pair")[:1]), Subquery(acts.values("pair")[:1])),
        at_query=Case(
            When(after_check, then=Subquery(checks.values("pair__query")[:1])),
            default=Coalesce(Subquery(leased.values("query")[:1]), Subquery(acts.values("pair__query")[:1])),
        ),
        acts=Case(When(mixes, then=number(acts, "rater")), default=0),
        narrowed=narrowed(),
        to_warm_up=Case(When(warmed_up_at__isnull=True, then=Exists(warm_ups)), default=False),
        plenty=Subquery(still_open.order_by("lot").values("pk")[PLENTY - 1 : PLENTY]),
    )


def number(rows: QuerySet, by: str) -> Coalesce:
    """How many rows a subquery has, all of which have the same `by`."""
    return Coalesce(Subquery(rows.order_by().values(by).annotate(n=Count("pk")).values("n")), 0)


def choose(me: Rater, count: int, now: datetime, missed: set[int]) -> tuple[Own, list[Line]]:
    """What `me` holds, and what to lease to them so that it becomes `count`."""
    point = order.own_point(me.pk, me.at_pair)
    # 0 is no query's id: then there is none at hand.
    given = {**asked(me, now, missed), "point": point, "at": me.at_query or 0}
    shape = Shape(me.collection.order, bool(me.narrowed), count, missed=blanks_for(missed))
    if me.narrowed and not _can_have(shape)(**given):
        shape = shape._replace(count=0)
    leases, checks, *found = _look(shape)(**given)
    own = Own(len(leases), len(checks), max((row[-1] for row in (*leases, *checks)), default=0))
    room = room_for(me, own, count)
    if room <= 0:
        return own, []
    first = [Line(*row) for row in chain(*found)]
    chosen = list(islice(chain(first, others(shape, first, given)), room))
    if len(chosen) < room:
        if count_late(me.collection_id, now):
            return choose(me, count, now, missed)
        chosen += again(shape, given, room - len(chosen))
    return own, chosen


def asked(me: Rater, now: datetime, missed: set[int] = frozenset()) -> dict[str, Any]:
    """What goes into the blanks of `free_for`. No assignment has the id 0."""
    padded = [*sorted(missed), *[0] * (blanks_for(missed) - len(missed))]
    numbered = {f"missed{place}": pk for place, pk in enumerate(padded)}
    return {"rater": me.pk, "collection": me.collection_id, "now": now, **numbered}


def blanks_for(missed: set[int]) -> int:
    return -(-len(missed) // AT_A_TIME) * AT_A_TIME


def free_for(shape: Shape) -> QuerySet:
    """One free assignment of each pair that a rater may get, whether or not they put it off before."""
    missed = [Blank(f"missed{place}", Assignment, "id") for place in range(shape.missed)]
    earlier = Assignment.objects.filter(free(NOW), pair=OuterRef("pair"), pk__lt=OuterRef("pk"))
    found = Assignment.objects.waiting().filter(takable(NOW), collection=COLLECTION)
    found = found.filter(
        ~Exists(Rating.objects.filter(rater=RATER, pair=OuterRef("pair"))),
        ~Exists(row_of(OuterRef("pair"), RATER)),
        ~Exists(earlier.exclude(pk__in=missed) if missed else earlier),
        pair__retired_at__isnull=True,
    )
    if missed:
        found = found.exclude(pk__in=missed)
    return found.filter(query__in=set_of(RATER)) if shape.narrowed else found


def fresh_for(shape: Shape) -> QuerySet:
    """Of these, what they did not put off."""
    return free_for(shape).filter(~Exists(put_off().filter(pair=OuterRef("pair"))))


def narrowed() -> Exists:
    return Exists(Rater.queries.through.objects.filter(rater=OuterRef("pk")))


def set_of(rater: Rater | Blank) -> QuerySet:
    """Ids of the queries that a rater is to rate, where they are not to rate all."""
    return Rater.queries.through.objects.filter(rater=rater).values("query")


def put_off() -> QuerySet:
    return RatingEvent.objects.filter(rater=RATER, kind=Kind.SKIP, undone_by__isnull=True)


@cache
def _look(shape: Shape) -> order.Together:
    """What the rater holds, and the lines of the first group; or, where groups were seen, those of the next."""

    def parts() -> list[QuerySet]:
        own = [
            held_pairs(RATER).values_list("pk", "pair", "query", "turn"),
            held_checks(RATER).values_list("pk", "pair", "pair__query", "turn"),
        ]
        if not shape.count:
            return own
        seen = [Blank(f"seen{place}", Assignment, "id") for place in range(shape.seen)]
        group = order.ORDERS[shape.order].group(fresh_for(shape), AT, seen, POINT)
        found = order.lines(group, POINT, shape.count, *Line._fields)
        return found if shape.seen else own + found

    return order.Together(parts)


@cache
def _can_have(shape: Shape) -> Prepared:
    """Finds nothing where queries of their own are done: to see that by lots would be to read the whole pool."""
    own = Exists(fresh_for(shape).filter(query=OuterRef("pk")))
    return Prepared(lambda: Query.objects.filter(own, pk__in=set_of(RATER)).only("pk")[:1])


def others(shape: Shape, first: list[Line], given: dict[str, Any]) -> Iterator[Line]:
    """What comes after the first group."""
    mark, found = order.ORDERS[shape.order].mark, first
    # A query at hand that has nothing left is followed by others; no other group is without lines but the last.
    seen = [getattr(found[-1], mark)] if found and mark else [given["at"]] if mark == "query" else []
    while seen and shape.count:
        marks = {f"seen{place}": pk for place, pk in enumerate(seen)}
        found = [Line(*row) for row in chain(*_look(shape._replace(seen=len(seen)))(**given, **marks))]
        if not found:
            return
        yield from found
        seen.append(getattr(found[-1], mark))


def again(shape: Shape, given: dict[str, Any], count: int) -> list[Line]:
    """What the rater put off and can still have, the longest put off first."""
    skipped, lines = _put_off(shape._replace(order="", count=0))
    (pairs,) = skipped(**given)
    pairs = [pair for pair, _ in pairs][:count]
    if not pairs:
        return []
    padded = [*pairs, *[0] * (AT_A_TIME - len(pairs))]
    (found,) = lines(**given, **{f"pair{place}": pair for place, pair in enumerate(padded)})
    found = {line.pair: line for line in map(Line._make, found)}
    return [found[pair] for pair in pairs if pair in found]


@cache
def _put_off(shape: Shape) -> tuple[order.Together, order.Together]:
    """Pairs that were put off and can be had, and the lines of pairs."""

    def pairs() -> list[QuerySet]:
        skipped = put_off().filter(Exists(free_for(shape).filter(pair=OuterRef("pair"))))
        return [
            skipped.values("pair")
            .annotate(last=Max("pk"))
            .order_by("last")
            .values_list("pair", "last")[:AT_A_TIME]
        ]

    def lines() -> list[QuerySet]:
        wanted = Q()
        for place in range(AT_A_TIME):
            wanted |= Q(pair=Blank(f"pair{place}", Assignment, "pair"))
        return [free_for(shape).filter(wanted).values_list(*Line._fields)]

    return order.Together(pairs), order.Together(lines)


def room_for(me: Rater, own: Own, count: int) -> int:
    """How many tasks more `me` may get, of the `count` that were asked for."""
    room = count - own.tasks
    if room > 0 and me.limit is not None:
        room = min(room, me.limit - graded(me) - own.leases)
    if room > 0 and not me.plenty:
        room = min(room, max(fair_share(me), 1) - own.tasks)
    return room


def graded(me: Rater) -> int:
    """How many pairs the rater has graded: what a limit counts."""
    return Rating.objects.filter(rater=me, grade__isnull=False).count()


def fair_share(me: Rater) -> int:
    """Near the end: what is open, by the people who could rate it, so that nobody's stock leaves others idle."""
    people = Rater.objects.filter(collection=me.collection_id, active=True, kind=Rater.Kind.PERSON).count()
    waiting = Assignment.objects.waiting().filter(collection=me.collection_id).count()
    return waiting // max(people, 1)

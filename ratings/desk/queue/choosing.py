"""Choose the assignments that a rater can get next. The statements are prepared, and none of them writes.

These are steps 3 and 4 of a claim, as the docstring of the package counts them. A candidate is an assignment that
is free (open, or its lease expired) and belongs to a pair that the rater has neither rated, nor holds, nor put
off. Of several free assignments of a pair the oldest one stands for it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache, reduce
from itertools import chain, islice
from operator import or_
from typing import Any, NamedTuple

from django.db.models import Case, Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce

from ...database.prepared import Blank, Prepared, PreparedUnion
from ...models import HAS_ROUND, Anchor, Assignment, Check, Query, Rater, Rating, RatingEvent
from . import order
from .leases import COLLECTION, NOW, RATER, State, assignment_of, fill_expired, free, takable
from .tasks import held_checks, leased_to

PLENTY = 200  # open assignments; if there are fewer, each rater gets a fair share of them
BATCH = 20  # lists of ids are padded to multiples of this, so that few different statements are prepared

Kind = RatingEvent.Kind


class Candidate(NamedTuple):
    """A free assignment that the rater can get."""

    pk: int
    pair: int
    query: int
    rater: int | None  # whose lease on it expired


class ExtraGold(NamedTuple):
    """A gold pair that needs no more grades. The rater gets it by an extra assignment."""

    pair: int
    query: int
    place: int = 0  # before which of the rater's wanted pairs it comes; 0: anywhere


class RepeatPair(NamedTuple):
    """A pair that the rater graded and is to grade again."""

    pair: int
    query: int
    place: int = 0


Item = Candidate | ExtraGold | RepeatPair


class Holding(NamedTuple):
    """What a rater holds already."""

    leases: tuple[int, ...]  # ids of assignments
    checks: int
    last_turn: int

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self.leases) + self.checks


class Quota(NamedTuple):
    """How much more a rater may get."""

    tasks: int
    candidates: int  # how many of these may be candidates: near the end, the rater's fair share


class Choice(NamedTuple):
    """What the rater holds, and what they can get, in order."""

    holding: Holding
    quota: Quota
    new: list[Candidate]
    put_off: list[Item]


class StatementKey(NamedTuple):
    """All that changes the text of a statement for candidates; other values are its parameters."""

    order: str
    restricted: bool
    count: int
    seen: int = 0  # how many groups come before
    taken: int = 0  # how many blanks there are for assignments that others took first


START = Blank("start", Assignment, "lot")
CURRENT_QUERY = Blank("current_query", Assignment, "query")


def claimants() -> QuerySet:
    """Raters with what the choice depends on, read by the statement that locks the row.

    `last_pair` and `last_query` are at the end of their tasks, or of their last act; `acts`: the number of their
    acts, 0 where neither gold nor repeats are mixed in; `restricted`: whether they rate only some queries;
    `plenty`: set if at least PLENTY assignments are open.

    PostgreSQL reads these facts before it waits for the lock, so they may be outdated. They must not decide about
    a limit or about what another rater holds.
    """
    leased = Assignment.objects.filter(rater=OuterRef("pk"), state=State.LEASED).order_by("-turn")
    checks = Check.objects.filter(rater=OuterRef("pk"), turn__isnull=False).order_by("-turn")
    acts = RatingEvent.objects.filter(rater=OuterRef("pk")).order_by("-pk")
    warm_ups = Anchor.objects.of(OuterRef("collection")).filter(use=Anchor.Use.WARM_UP)
    still_open = Assignment.objects.waiting().filter(collection=OuterRef("collection"), rater__isnull=True)
    raters = Rater.objects.with_able().annotate(
        last_lease=Subquery(leased.values("turn")[:1]), last_check=Subquery(checks.values("turn")[:1])
    )
    check_is_last = Q(last_check__isnull=False) & (Q(last_lease__isnull=True) | Q(last_check__gt=F("last_lease")))
    mixes = Q(collection__gold_share__gt=0) | Q(collection__repeat_share__gt=0)
    return raters.annotate(
        last_pair=Coalesce(Subquery(leased.values("pair")[:1]), Subquery(acts.values("pair")[:1])),
        last_query=Case(
            When(check_is_last, then=Subquery(checks.values("pair__query")[:1])),
            default=Coalesce(Subquery(leased.values("query")[:1]), Subquery(acts.values("pair__query")[:1])),
        ),
        acts=Case(When(mixes, then=row_count(acts, "rater")), default=0),
        restricted=is_restricted(),
        to_warm_up=Case(When(warmed_up_at__isnull=True, then=Exists(warm_ups)), default=False),
        plenty=Subquery(still_open.filter(HAS_ROUND).order_by("round", "lot").values("pk")[PLENTY - 1 : PLENTY]),
    )


def row_count(rows: QuerySet, by: str) -> Coalesce:
    """The number of rows of a subquery, all of which have the same `by`."""
    return Coalesce(Subquery(rows.order_by().values(by).annotate(n=Count("pk")).values("n")), 0)


def choose(me: Rater, count: int, now: datetime, taken: set[int]) -> Choice:
    """What `me` holds, and which new items they can get until they hold `count` tasks.

    `taken`: ids of assignments that other raters took since they were chosen.
    """
    start = order.start_point(me.pk, me.last_pair)
    # There is no query with the id 0: it stands for no current query.
    values = {**parameters(me, now, taken), "current_query": me.last_query or 0}
    values["start"] = start
    key = StatementKey(me.collection.order, me.restricted, count, taken=len(padded(taken)))
    if me.restricted and not _has_candidates(key)(**values):
        key = key._replace(count=0)
    leases, checks, *rows = _candidates(key)(**values)
    last_turn = max((turn for *_, turn in (*leases, *checks)), default=0)
    holding = Holding(tuple(pk for pk, *_ in leases), len(checks), last_turn)
    quota = quota_for(me, holding, count)
    if min(quota) <= 0:
        return Choice(holding, quota, [], [])
    first_group = [Candidate(*row) for row in chain(*rows)]
    new = list(islice(chain(first_group, next_groups(key, first_group, values)), quota.candidates))
    if len(new) == quota.candidates:
        return Choice(holding, quota, new, [])
    if fill_expired(me.collection_id, now):
        return choose(me, count, now, taken)
    rest = Quota(quota.tasks - len(new), quota.candidates - len(new))
    return Choice(holding, quota, new, put_off_items(me, key, values, rest))


def parameters(me: Rater, now: datetime, taken: set[int] = frozenset()) -> dict[str, Any]:
    """The values of the blanks of `free_assignments`. Unused blanks are 0, which no assignment has as its id."""
    return {"rater": me.pk, "collection": me.collection_id, "now": now} | numbered("taken", padded(sorted(taken)))


def padded(ids: Sequence[int]) -> list[int]:
    """The ids and zeros, as many as the next multiple of BATCH."""
    return [*ids, *[0] * (-len(ids) % BATCH)]


def numbered(name: str, values: list[int]) -> dict[str, int]:
    return {f"{name}{place}": value for place, value in enumerate(values)}


def free_assignments(key: StatementKey) -> QuerySet:
    """One free assignment of each pair that the rater has not rated and does not hold."""
    taken = [Blank(f"taken{place}", Assignment, "id") for place in range(key.taken)]
    older = Assignment.objects.filter(free(NOW), pair=OuterRef("pair"), pk__lt=OuterRef("pk"))
    rows = Assignment.objects.waiting().filter(takable(NOW), collection=COLLECTION)
    rows = rows.filter(
        ~Exists(Rating.objects.filter(rater=RATER, pair=OuterRef("pair"))),
        ~Exists(assignment_of(OuterRef("pair"), RATER)),
        ~Exists(older.exclude(pk__in=taken) if taken else older),
        pair__retired_at__isnull=True,
    )
    if taken:
        rows = rows.exclude(pk__in=taken)
    return rows.filter(query__in=queries_of(RATER)) if key.restricted else rows


def candidates(key: StatementKey) -> QuerySet:
    """The free assignments whose pair the rater did not put off."""
    return free_assignments(key).filter(~Exists(skips().filter(pair=OuterRef("pair"))))


COUNTED = 500  # so many free pairs are counted: to count a million takes a second


def free_by_query(me: Rater, now: datetime, queries: set[int] | None) -> Counter[int]:
    """How many candidates a claim could find of each query: of these queries, or the first COUNTED of any."""
    blanks = len(padded(list(queries or ())))
    values = numbered("query", padded(list(queries or ())))
    (rows,) = _free_queries(me.restricted, blanks)(**parameters(me, now), **values)
    return Counter(query for (query,) in rows)


@cache
def _free_queries(restricted: bool, queries: int) -> PreparedUnion:
    rows = candidates(StatementKey("", restricted, 0)).filter(HAS_ROUND).order_by("round", "lot")
    if queries:
        rows = rows.filter(reduce(or_, (Q(query=Blank(f"query{i}", Assignment, "query")) for i in range(queries))))
    return PreparedUnion(lambda: [rows.values_list("query")[: COUNTED + 1]])


def is_restricted() -> Exists:
    return Exists(Rater.queries.through.objects.filter(rater=OuterRef("pk")))


def queries_of(rater: Rater | Blank) -> QuerySet:
    """Ids of the queries to which a rater is restricted."""
    return Rater.queries.through.objects.filter(rater=rater).values("query")


def skips(rater: Rater | Blank = RATER) -> QuerySet:
    """The events by which the rater put pairs off."""
    return RatingEvent.objects.standing().filter(rater=rater, kind=Kind.SKIP)


@cache
def _candidates(key: StatementKey) -> PreparedUnion:
    """A statement for the candidates of the group after the `seen` ones. The first also reads what the rater
    holds.
    """

    def parts() -> list[QuerySet]:
        holding = [
            leased_to(RATER).values_list("pk", "pair", "query", "turn"),
            held_checks(RATER).values_list("pk", "pair", "pair__query", "turn"),
        ]
        if not key.count:
            return holding
        seen = [Blank(f"seen{place}", Assignment, "id") for place in range(key.seen)]
        group = order.ORDERS[key.order].group(candidates(key), CURRENT_QUERY, seen, START)
        rows = order.from_start(group, START, key.count, *Candidate._fields)
        return rows if key.seen else holding + rows

    return PreparedUnion(parts)


@cache
def _has_candidates(key: StatementKey) -> Prepared:
    """A statement that finds out whether a restricted rater has candidates.

    The statement that uses lots would read the whole pool to find that there are none.
    """
    of_query = Exists(candidates(key).filter(query=OuterRef("pk")))
    return Prepared(lambda: Query.objects.filter(of_query, pk__in=queries_of(RATER)).only("pk")[:1])


def next_groups(key: StatementKey, first_group: list[Candidate], values: dict[str, Any]) -> Iterator[Candidate]:
    """The candidates of the groups after the first one."""
    field, seen = order.ORDERS[key.order].group_field, []
    if field and first_group:
        seen = [getattr(first_group[-1], field)]
    elif field == "query":  # the current query has no candidates left, but others may have
        seen = [values["current_query"]]
    while seen and key.count:
        rows = _candidates(key._replace(seen=len(seen)))(**values, **numbered("seen", seen))
        group = [Candidate(*row) for row in chain(*rows)]
        if not group:
            return
        yield from group
        seen.append(getattr(group[-1], field))


def put_off_items(me: Rater, key: StatementKey, values: dict[str, Any], quota: Quota) -> list[Item]:
    """What the rater put off and can still get, the earliest first: pairs, extra gold and repeats alike."""
    skipped_pairs, assignments = _put_off(key._replace(order="", count=0), me.collection.gold_share > 0)
    (rows,) = skipped_pairs(**values)
    if not rows:
        return []
    pairs = [pair for pair, *_ in rows] + [0] * (BATCH - len(rows))
    (free_rows,) = assignments(**values, **numbered("pair", pairs))
    by_pair = {candidate.pair: candidate for candidate in map(Candidate._make, free_rows)}
    items: list[Item] = []
    for pair, query, is_repeat, _ in rows[: quota.tasks]:
        item = RepeatPair(pair, query) if is_repeat else by_pair.get(pair, ExtraGold(pair, query))
        used = sum(isinstance(earlier, Candidate) for earlier in items)
        if isinstance(item, Candidate) and used == quota.candidates:
            break
        items.append(item)
    return items


def put_off_beside(me: Rater, restricted: bool, now: datetime) -> int:
    """How many repeats and extra gold pairs `me` put off and can still get."""
    skipped_pairs, _ = _put_off(StatementKey("", restricted, 0), me.collection.gold_share > 0, beside=True)
    return len(skipped_pairs(**parameters(me, now))[0])


@cache
def _put_off(key: StatementKey, gold: bool, *, beside: bool = False) -> tuple[PreparedUnion, PreparedUnion]:
    """Two statements: for BATCH put-off pairs that the rater can get, and for free assignments of BATCH pairs.

    `beside`: all repeats and extra gold, and nothing else.
    """

    def skipped_pairs() -> list[QuerySet]:
        repeat = Check.objects.filter(
            rater=RATER,
            pair=OuterRef("pair"),
            kind=Check.Kind.REPEAT,
            event__isnull=True,
            turn__isnull=True,
            created_at__lte=OuterRef("created_at"),
            pair__retired_at__isnull=True,
        )
        extra = extra_golds(key.restricted).filter(pair=OuterRef("pair"))
        has_free = Exists(free_assignments(key).filter(pair=OuterRef("pair")))
        skipped = skips().annotate(repeat=Case(When(Exists(repeat), then=1), default=0))
        is_extra = Q(Exists(extra)) if gold else Q(pk__in=[])
        can_get = (is_extra & ~has_free) if beside else (is_extra | has_free)
        skipped = skipped.filter(can_get | Q(repeat=1))
        rows = skipped.values("pair", "pair__query", "repeat").annotate(last=Max("pk")).order_by("last")
        rows = rows.values_list("pair", "pair__query", "repeat", "last")
        return [rows if beside else rows[:BATCH]]

    def assignments() -> list[QuerySet]:
        of_pairs = Q()
        for place in range(BATCH):
            of_pairs |= Q(pair=Blank(f"pair{place}", Assignment, "pair"))
        return [free_assignments(key).filter(of_pairs).values_list(*Candidate._fields)]

    return PreparedUnion(skipped_pairs), PreparedUnion(assignments)


def extra_golds(restricted: bool) -> QuerySet:
    """The gold anchors that a rater can still get as extra assignments, including those that they put off."""
    golds = Anchor.objects.of(COLLECTION).filter(
        ~Exists(Rating.objects.filter(rater=RATER, pair=OuterRef("pair"))),
        ~Exists(assignment_of(OuterRef("pair"), RATER)),
        use=Anchor.Use.GOLD,
        pair__retired_at__isnull=True,
    )
    return golds.filter(pair__query__in=queries_of(RATER)) if restricted else golds


def quota_for(me: Rater, holding: Holding, count: int) -> Quota:
    """How many more tasks `me` may get to hold `count`, within their limit and, near the end, their share.

    If gold or repeats are mixed in and the share is less than `count`, the rater gets new candidates only after
    they have done all that they hold. Otherwise a new pair would come after each wanted pair and none after gold
    or a repeat, and the rater could tell them apart.
    """
    tasks = count - holding.tasks
    if tasks > 0 and me.limit is not None:
        tasks = min(tasks, me.limit - graded(me) - holding.tasks)
    if tasks <= 0 or me.plenty:
        return Quota(tasks, tasks)
    share = max(fair_share(me), 1)
    if holding.tasks + tasks <= share:
        return Quota(tasks, tasks)
    mixes = me.collection.gold_share or me.collection.repeat_share
    of_share = 0 if mixes and holding.tasks else share - holding.tasks
    return Quota(tasks if mixes else of_share, of_share)


def graded(me: Rater) -> int:
    """The number of the rater's grades that their limit counts. One query."""
    return Rater.objects.filter(pk=me.pk).values_list(grades_of(OuterRef("pk")), flat=True).get()


def grades_of(rater: OuterRef) -> CombinedExpression:
    """The number of a rater's grades, including repeats. If a limit did not count them, it would give them
    away.
    """
    ratings = Rating.objects.filter(rater=rater, grade__isnull=False)
    return row_count(ratings, "rater") + row_count(
        answered_repeats(rater).filter(event__value__isnull=False), "rater"
    )


def answered_repeats(rater: OuterRef) -> QuerySet:
    return Check.objects.filter(rater=rater, kind=Check.Kind.REPEAT, event__isnull=False)


def fair_share(me: Rater) -> int:
    """The waiting assignments for each rater who can rate now. With more than this, one rater would leave others
    without work.
    """
    people = Rater.objects.able().filter(collection=me.collection_id).count()
    waiting = Assignment.objects.waiting().filter(collection=me.collection_id, extra=False).count()
    return waiting // max(people, 1)

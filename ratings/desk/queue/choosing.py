"""Choose the assignments that a rater can get next.

The statements are prepared, with a blank in the place of each value, and none of them writes.

These are steps 3 and 4 of a claim, as the docstring of the package counts them. A candidate is an assignment that
is free (open, or its lease expired) and belongs to a pair that the rater has neither rated, nor holds, nor put
off. Of several free assignments of a pair the oldest one stands for it.

The order of the collection splits the candidates into groups, such as those of one query. Within a group they are
sorted by their lots: each assignment has a lot, a random number. A rater starts at a lot of their own.

A turn is the position of a task among those that a rater holds. Gold is a pair whose grade is known, and a repeat
one that the rater grades again: both are mixed in unseen. Warm-ups come before the first pair. Warm-ups and
repeats are checks. An extra assignment is beyond the number wanted, for one rater. A surplus grade is one that
fills no assignment.
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
from .leases import COLLECTION, HAS_ASSIGNMENT, IS_RATED, NOW, RATER, State, fill_expired, free, takable
from .tasks import held_checks, leased_to

PLENTY_OPEN = 200  # open assignments; if there are fewer, each rater gets a fair share of them
IDS_AT_ONCE = 20  # lists of ids are padded to multiples of this, so that few different statements are prepared

Kind = RatingEvent.Kind


class Candidate(NamedTuple):
    """A free assignment that the rater can get."""

    pk: int
    pair: int
    query: int
    rater: int | None  # whose lease on it expired


class ExtraGold(NamedTuple):
    """A gold pair without a free assignment. The rater gets it by an extra one."""

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
    checks: int  # how many warm-ups and repeats they hold
    last_turn: int  # the turn of the last task that they hold; 0: they hold none

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self.leases) + self.checks


class Quota(NamedTuple):
    """How much more a rater may get."""

    tasks: int  # of any kind
    candidates: int  # how many of these may be candidates: near the end, the rater's fair share


class Choice(NamedTuple):
    """What the rater holds, and what they can get, in order."""

    holding: Holding
    quota: Quota
    new: list[Candidate]  # of pairs that the rater did not put off
    put_off: list[Item]


class StatementKey(NamedTuple):
    """All that changes the text of a statement for candidates; other values are its parameters."""

    order: str  # of `Collection.Order`; "": the statement has no groups
    restricted: bool  # whether the rater rates only some queries
    most_candidates: int  # of each list that is read; 0: only what the rater holds is read
    n_earlier_groups: int = 0  # how many groups were read before this one: it has a blank for each
    n_taken: int = 0  # how many blanks there are for ids of assignments that others took first


# The lot, a random number of an assignment, at which the rater starts within a group.
START_LOT = Blank("start_lot", Assignment, "lot")
CURRENT_QUERY = Blank("current_query", Assignment, "query")


def claimants() -> QuerySet:
    """Raters with the facts by which `choose` chooses for them. The statement that locks a rater reads them.

    - `last_query`: the id of the query of the last task that they hold, the lease or check with the highest turn;
      if they hold none, of their last act
    - `last_pair`: the id of the pair of the lease with the highest turn; if they hold none, of their last act.
      It only decides where their random order starts, so checks need not count
    - `is_able`: whether they may rate now
    - `acts`: the number of their acts; 0 where neither gold nor repeats are mixed in, which saves the count
    - `restricted`: whether they rate only some queries
    - `to_warm_up`: whether the collection has warm-ups and they have not done all
    - `plenty`: None if fewer than PLENTY_OPEN assignments are open; if not, the id of one of them

    PostgreSQL reads these facts before it waits for the lock, so they may be outdated. They must not decide about
    a limit or about what another rater holds.
    """
    leased = Assignment.objects.filter(rater=OuterRef("pk"), state=State.LEASED).order_by("-turn")
    checks = Check.objects.filter(rater=OuterRef("pk"), turn__isnull=False).order_by("-turn")
    acts = RatingEvent.objects.filter(rater=OuterRef("pk")).order_by("-pk")
    warm_ups = Anchor.objects.of(OuterRef("collection")).filter(use=Anchor.Use.WARM_UP)
    still_open = Assignment.objects.waiting().filter(collection=OuterRef("collection"), rater__isnull=True)
    # HAS_ROUND is always true: with this condition SQLite uses the index.
    open_in_order = still_open.filter(HAS_ROUND).order_by("round", "lot").values("pk")
    # The last task that they hold is the lease or the check with the higher turn.
    raters = Rater.objects.with_able().annotate(
        lease_turn=Subquery(leased.values("turn")[:1]), check_turn=Subquery(checks.values("turn")[:1])
    )
    check_is_last = Q(check_turn__isnull=False) & (Q(lease_turn__isnull=True) | Q(check_turn__gt=F("lease_turn")))
    last_query = Case(
        When(check_is_last, then=Subquery(checks.values("pair__query")[:1])),
        default=Coalesce(Subquery(leased.values("query")[:1]), Subquery(acts.values("pair__query")[:1])),
    )
    mixes_in = Q(collection__gold_share__gt=0) | Q(collection__repeat_share__gt=0)
    return raters.annotate(
        last_pair=Coalesce(Subquery(leased.values("pair")[:1]), Subquery(acts.values("pair")[:1])),
        last_query=last_query,
        acts=Case(When(mixes_in, then=row_count(acts, "rater")), default=0),
        restricted=is_restricted(),
        to_warm_up=Case(When(warmed_up_at__isnull=True, then=Exists(warm_ups)), default=False),
        plenty=Subquery(open_in_order[PLENTY_OPEN - 1 : PLENTY_OPEN]),
    )


def row_count(rows: QuerySet, by: str) -> Coalesce:
    """The number of rows of a subquery, all of which have the same `by`."""
    return Coalesce(Subquery(rows.order_by().values(by).annotate(n=Count("pk")).values("n")), 0)


def choose(me: Rater, count: int, now: datetime, taken_ids: set[int]) -> Choice:
    """What a rater of `claimants` holds, and which new items they can get until they hold `count` tasks.

    New candidates (free assignments) come first. Only if these run out, items follow that the rater put off.
    `taken_ids`: of assignments that other raters took since they were chosen.
    """
    values = {  # of the blanks of the statements
        **parameters(me, now, taken_ids),
        "current_query": me.last_query or 0,  # no query has the id 0: it stands for no current query
        "start_lot": order.start_point(me.pk, me.last_pair),  # the random number at which this rater starts
    }
    key = StatementKey(me.collection.order, me.restricted, count, n_taken=len(padded(taken_ids)))
    # For a rater who rates only some queries and has no candidates, the other statement would read the whole pool.
    if me.restricted and not _any_candidate_statement(key)(**values):
        key = key._replace(most_candidates=0)  # only what the rater holds is read
    # Leases and checks are rows of (id, pair, query, turn: the position among the tasks of the rater). The
    # candidates come in two lists, to be read one after the other, or in none if they are not read.
    leases, checks, *candidate_lists = _candidates_statement(key)(**values)
    turns = [turn for _, _, _, turn in leases + checks]
    holding = Holding(tuple(pk for pk, *_ in leases), checks=len(checks), last_turn=max(turns, default=0))
    quota = quota_for(me, holding, count)
    # Not above 0: the rater already holds as much as `count`, their limit or their share allows.
    if quota.tasks <= 0 or quota.candidates <= 0:
        return Choice(holding, quota, new=[], put_off=[])
    first_group = [Candidate(*row) for row in chain(*candidate_lists)]
    # A generator: a further group is read only if those before it have fewer candidates than the quota.
    further_groups = next_groups(key, first_group, values)
    new = list(islice(chain(first_group, further_groups), quota.candidates))
    if len(new) == quota.candidates:
        return Choice(holding, quota, new, put_off=[])
    # A surplus grade (one that fills no assignment yet) keeps all expired leases of its pair from being taken.
    # Once it fills one of them here, the others may be candidates: choose anew, until there is nothing to fill.
    if fill_expired(me.collection_id, now):
        return choose(me, count, now, taken_ids)
    quota_left = Quota(quota.tasks - len(new), quota.candidates - len(new))
    return Choice(holding, quota, new, put_off_items(me, key, values, quota_left))


def parameters(me: Rater, now: datetime, taken_ids: set[int] = frozenset()) -> dict[str, Any]:
    """The values of the blanks of `free_assignments`. Unused blanks are 0, which no assignment has as its id."""
    taken = numbered("taken", padded(sorted(taken_ids)))
    return {"rater": me.pk, "collection": me.collection_id, "now": now} | taken


def padded(ids: Sequence[int]) -> list[int]:
    """The ids and zeros, as many as the next multiple of IDS_AT_ONCE."""
    return [*ids, *[0] * (-len(ids) % IDS_AT_ONCE)]


def numbered(name: str, values: list[int]) -> dict[str, int]:
    return {f"{name}{place}": value for place, value in enumerate(values)}


def free_assignments(key: StatementKey) -> QuerySet:
    """One free assignment, the oldest, of each pair that the rater has neither rated nor holds.

    If a pair has a surplus grade (one that fills no assignment yet), `takable` leaves out its expired leases:
    the grade will fill one of them. The rater, the collection, the time and the `taken_ids` of `choose` are
    blanks of a prepared statement; `parameters` has their values.
    """
    # The simpler `free` in place of `takable`: they differ only for pairs with a surplus grade. These have no open
    # assignment, so none of their rows is takable, whatever `older` is.
    older = Assignment.objects.filter(free(NOW), pair=OuterRef("pair"), pk__lt=OuterRef("pk"))
    # `waiting` leaves out nothing that is takable: it is the condition of the partial indexes.
    rows = Assignment.objects.waiting().filter(takable(NOW), collection=COLLECTION)
    if key.n_taken:
        # Left out of both: where the oldest assignment of a pair is taken, the next one stands for the pair.
        taken_ids = [Blank(f"taken{place}", Assignment, "id") for place in range(key.n_taken)]
        older, rows = older.exclude(pk__in=taken_ids), rows.exclude(pk__in=taken_ids)
    rows = rows.filter(~IS_RATED, ~HAS_ASSIGNMENT, ~Exists(older), pair__retired_at__isnull=True)
    return rows.filter(query__in=queries_of(RATER)) if key.restricted else rows


def candidates(key: StatementKey) -> QuerySet:
    """The free assignments whose pair the rater did not put off."""
    return free_assignments(key).filter(~Exists(skips().filter(pair=OuterRef("pair"))))


MOST_COUNTED_PAIRS = 500  # free pairs: to count a million takes a second


def free_by_query(me: Rater, now: datetime, queries: set[int] | None) -> Counter[int]:
    """Query id → how many candidates a claim could find: of these `queries`; None: of any.

    At most MOST_COUNTED_PAIRS + 1 candidates are counted in all.
    """
    ids = padded(list(queries or ()))
    (rows,) = _free_queries_statement(me.restricted, len(ids))(**parameters(me, now), **numbered("query", ids))
    return Counter(query for (query,) in rows)


@cache
def _free_queries_statement(restricted: bool, queries: int) -> PreparedUnion:
    """A statement for the query of each candidate: of any query for `queries` = 0, else of so many given ones."""
    rows = candidates(StatementKey("", restricted, most_candidates=0)).filter(HAS_ROUND).order_by("round", "lot")
    if queries:
        rows = rows.filter(reduce(or_, (Q(query=Blank(f"query{i}", Assignment, "query")) for i in range(queries))))
    return PreparedUnion(lambda: [rows.values_list("query")[: MOST_COUNTED_PAIRS + 1]])


def is_restricted() -> Exists:
    return Exists(Rater.queries.through.objects.filter(rater=OuterRef("pk")))


def queries_of(rater: Rater | Blank) -> QuerySet:
    """Ids of the queries to which a rater is restricted."""
    return Rater.queries.through.objects.filter(rater=rater).values("query")


def skips(rater: Rater | Blank = RATER) -> QuerySet:
    """The events by which the rater put pairs off."""
    return RatingEvent.objects.standing().filter(rater=rater, kind=Kind.SKIP)


@cache
def _candidates_statement(key: StatementKey) -> PreparedUnion:
    """A statement for the candidates of one group, such as those of one query, in the order of their lots.

    A lot is the random number of an assignment. The candidates come in two lists: with lots from START_LOT on, and
    then with lower lots. Before the first group come two lists of what the rater holds, leases and checks, as rows
    of (id, pair, query, turn: the position among these). If `key.most_candidates` is 0, there are only these two.
    RATER, CURRENT_QUERY, START_LOT and each `Blank` are placeholders, whose values come with each call.
    """

    def querysets() -> list[QuerySet]:
        """The lists of the statement. What the rater holds is read once, with the first group."""
        held = [
            leased_to(RATER).values_list("pk", "pair", "query", "turn"),
            held_checks(RATER).values_list("pk", "pair", "pair__query", "turn"),
        ]
        if not key.most_candidates:
            return held
        # The value of a blank names a group that was read before: by the id of its query or of one of its
        # assignments, as the order has it. Both ids are of the type that the blank has from `Assignment.id`.
        earlier_groups = [Blank(f"earlier_group{i}", Assignment, "id") for i in range(key.n_earlier_groups)]
        group = order.ORDERS[key.order].group(candidates(key), CURRENT_QUERY, earlier_groups, START_LOT)
        in_lot_order = order.from_start(group, START_LOT, key.most_candidates, *Candidate._fields)
        return in_lot_order if earlier_groups else held + in_lot_order

    return PreparedUnion(querysets)


@cache
def _any_candidate_statement(key: StatementKey) -> Prepared:
    """A statement that finds out whether a restricted rater has candidates.

    The statement that uses lots would read the whole pool to find that there are none.
    """
    of_query = Exists(candidates(key).filter(query=OuterRef("pk")))
    return Prepared(lambda: Query.objects.filter(of_query, pk__in=queries_of(RATER)).only("pk")[:1])


def next_groups(key: StatementKey, first_group: list[Candidate], values: dict[str, Any]) -> Iterator[Candidate]:
    """The candidates of the groups after the first one. Each group is read when the one before it is used up.

    A lot is the random number of an assignment. Within a group the candidates are sorted by their lots, from the
    rater's start lot to the largest and then from 0 on: a statement has a list for each of these two parts.
    `first_group`: the candidates of the first group. `values`: of the blanks of the statement, by their names.
    """
    if key.most_candidates == 0:  # `choose` found that there are no candidates at all
        return
    group_field = order.ORDERS[key.order].group_field
    if first_group:
        earlier_groups = [getattr(first_group[-1], group_field)]  # any candidate of a group can stand for it
    elif group_field == "query":  # the current query has no candidates left, but others may have
        earlier_groups = [values["current_query"]]
    else:  # in the other orders the first group is empty only if there are no candidates
        return
    while True:
        statement = _candidates_statement(key._replace(n_earlier_groups=len(earlier_groups)))
        from_start_lot, below_start_lot = statement(**values, **numbered("earlier_group", earlier_groups))
        group = [Candidate(*row) for row in from_start_lot + below_start_lot]
        if not group:
            return
        yield from group
        earlier_groups.append(getattr(group[-1], group_field))


def put_off_items(me: Rater, key: StatementKey, values: dict[str, Any], quota: Quota) -> list[Item]:
    """What the rater put off and can still get, the earliest first: pairs, extra gold and repeats alike.

    `key` and `values`: as `choose` had them for its statements. `quota`: what the new candidates left of it.
    """
    # These statements depend neither on the order nor on a count. Without both in their key, which caches them,
    # the claims in all orders share them.
    key = key._replace(order="", most_candidates=0)
    statement = _put_off_statement(key, me.collection.gold_share > 0)
    (put_off_rows,) = statement(**values)  # a list of rows for each queryset of the statement: here one
    if not put_off_rows:
        return []
    # The statement has IDS_AT_ONCE blanks for pairs, at least as many as there are rows: zeros fill the others.
    pair_ids = padded([pair for pair, *_ in put_off_rows])
    (free_rows,) = _free_of_pairs_statement(key)(**values, **numbered("pair", pair_ids))
    candidate_by_pair = {candidate.pair: candidate for candidate in map(Candidate._make, free_rows)}
    items: list[Item] = []
    candidates_left = quota.candidates
    for pair, query, is_repeat, _ in put_off_rows[: quota.tasks]:
        candidate = candidate_by_pair.get(pair)
        if is_repeat:
            items.append(RepeatPair(pair, query))
        elif candidate is None:
            # The statement finds a pair without a free assignment only if it is gold.
            items.append(ExtraGold(pair, query))
        elif candidates_left:
            items.append(candidate)
            candidates_left -= 1
        else:
            break  # the quota of candidates is used up, and nothing that was put off later may overtake this pair
    return items


def put_off_gold_and_repeats(me: Rater, now: datetime) -> list[int]:
    """The query of each repeat and each extra gold pair that `me` put off and can still get."""
    key = StatementKey(order="", restricted=me.restricted, most_candidates=0)
    statement = _put_off_statement(key, me.collection.gold_share > 0, only_gold_and_repeats=True)
    (rows,) = statement(**parameters(me, now))
    return [query for _, query, *_ in rows]


@cache
def _put_off_statement(
    key: StatementKey, with_gold: bool, *, only_gold_and_repeats: bool = False
) -> PreparedUnion:
    """A statement for what the rater put off and can still get, the earliest first.

    The columns: pair, query, 1 for a repeat or else 0, and the event by which the rater put it off last. There are
    IDS_AT_ONCE rows at most or, with `only_gold_and_repeats`, all repeats and all extra gold, and no other pair.
    Extra gold: pairs with a known grade that have no free assignment. `with_gold`: whether it is among the rows.
    """
    # A repeat that was made before the skip, so that the skip put it off.
    repeat_put_off = Check.objects.filter(
        rater=RATER,
        pair=OuterRef("pair"),
        kind=Check.Kind.REPEAT,
        event__isnull=True,  # not answered
        turn__isnull=True,  # not held: a task has a turn as long as the rater holds it
        created_at__lte=OuterRef("created_at"),
        pair__retired_at__isnull=True,
    )
    skipped = skips().annotate(repeat=Case(When(Exists(repeat_put_off), then=1), default=0))
    never = Q(pk__in=[])
    is_gold = Q(Exists(extra_golds(key.restricted).filter(pair=OuterRef("pair")))) if with_gold else never
    has_free = Exists(free_assignments(key).filter(pair=OuterRef("pair")))
    # Besides repeats: either only extra gold, or all gold and every other pair that has a free assignment.
    can_get = is_gold & ~has_free if only_gold_and_repeats else is_gold | has_free
    rows = skipped.filter(can_get | Q(repeat=1)).values("pair", "pair__query", "repeat").annotate(last=Max("pk"))
    rows = rows.order_by("last").values_list("pair", "pair__query", "repeat", "last")
    # Only one queryset, but a PreparedUnion returns its rows as tuples, and a `Prepared` returns model instances.
    return PreparedUnion(lambda: [rows if only_gold_and_repeats else rows[:IDS_AT_ONCE]])


@cache
def _free_of_pairs_statement(key: StatementKey) -> PreparedUnion:
    """A statement for the free assignments of IDS_AT_ONCE pairs."""
    of_pairs = reduce(or_, (Q(pair=Blank(f"pair{place}", Assignment, "pair")) for place in range(IDS_AT_ONCE)))
    return PreparedUnion(lambda: [free_assignments(key).filter(of_pairs).values_list(*Candidate._fields)])


def extra_golds(restricted: bool) -> QuerySet:
    """The gold anchors that a rater can still get as extra assignments, including those that they put off."""
    golds = Anchor.objects.of(COLLECTION).filter(
        ~IS_RATED, ~HAS_ASSIGNMENT, use=Anchor.Use.GOLD, pair__retired_at__isnull=True
    )
    return golds.filter(pair__query__in=queries_of(RATER)) if restricted else golds


def quota_for(me: Rater, holding: Holding, count: int) -> Quota:
    """How many more tasks `me` may get to hold `count`, within their limit and, near the end, their share.

    The limit is the number of grades that an admin allows. The share counts only where fewer than PLENTY_OPEN
    assignments are open. If then gold or repeats are mixed in and the share is less than `count`, the rater gets
    new candidates only after they have done all that they hold. If they got them earlier, each answer to a wanted
    pair would bring a new pair and each answer to gold or a repeat none, and the rater could tell them apart.
    """
    tasks = count - holding.tasks
    if tasks > 0 and me.limit is not None:
        tasks = min(tasks, me.limit - graded(me) - holding.tasks)
    if tasks <= 0 or me.plenty:
        return Quota(tasks, candidates=tasks)
    share = max(fair_share(me), 1)  # fair_share is 0 where fewer assignments wait than there are raters
    if holding.tasks + tasks <= share:
        return Quota(tasks, candidates=tasks)
    # From here on, holding.tasks + tasks > share: near the end, the rater wants to hold more than their share.
    if me.collection.gold_share or me.collection.repeat_share:
        # `tasks` may exceed the share: extra gold and repeats use up no assignment that others could get. A
        # rater who holds nothing has `share` < `tasks`.
        return Quota(tasks, candidates=0 if holding.tasks else share)
    # 0 or less for a rater who holds their share already: `choose` then gives nothing.
    return Quota(share - holding.tasks, candidates=share - holding.tasks)


def graded(me: Rater) -> int:
    """The number of the rater's grades that their limit counts. One query."""
    return Rater.objects.filter(pk=me.pk).values_list(grades_of(OuterRef("pk")), flat=True).get()


def grades_of(rater: OuterRef) -> CombinedExpression:
    """The number of a rater's grades, with those of repeats: a limit that left them out would give them away."""
    ratings = Rating.objects.filter(rater=rater, grade__isnull=False)
    repeats = answered_repeats().filter(rater=rater, event__value__isnull=False)
    return row_count(ratings, "rater") + row_count(repeats, "rater")


def answered_repeats() -> QuerySet[Check]:
    return Check.objects.filter(kind=Check.Kind.REPEAT, event__isnull=False)


def fair_share(me: Rater) -> int:
    """The waiting assignments for each rater who can rate now: with more, one would leave others without work."""
    people = Rater.objects.able().filter(collection=me.collection_id).count()
    waiting = Assignment.objects.waiting().filter(collection=me.collection_id, extra=False).count()
    return waiting // max(people, 1)

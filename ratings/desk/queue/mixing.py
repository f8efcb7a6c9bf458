"""What a rater gets besides candidates: warm-ups before the first pair, and gold pairs and repeats among the
others.

The grades of warm-ups and of gold are known (both are anchors); a repeat is a pair that the rater grades again.
Warm-ups and repeats are checks, whose answers are no ratings. A candidate is a free assignment that the rater can
get, and a turn the position of a task among those that they hold.

Gold and repeats have the same fields, labels, addresses, places and counts as other tasks. Marks decide where they
come, so that the number that is still to come is known from the start (`Mix.to_come`). A mark is drawn for a place
among the wanted pairs of a rater: gold or a repeat comes before the pair at this place.

Wanted gold is a gold pair with a free assignment, so that raters get it at its own turn, too. Extra gold has none:
a rater gets it by an extra assignment.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from itertools import chain

from django.conf import settings
from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Subquery, When

from ...database.prepared import Blank, Prepared, PreparedInsert, PreparedUnion
from ...models import Anchor, Assignment, Check, LostLease, Rater, Rating, RatingEvent
from .choosing import COLLECTION, Candidate, Choice, ExtraGold, Item, RepeatPair, extra_golds, free_by_query, skips
from .leases import (
    HAS_ASSIGNMENT,
    IS_RATED,
    LEASE,
    NOW,
    RATER,
    State,
    assignment_of,
    free,
    takable,
    turn_before_all,
)
from .order import comes_by_query
from .tasks import REPEAT, WARM_UP

Kind = RatingEvent.Kind

ACTS_BEFORE_REPEAT = 20  # at least so many lie between a grade and its repeat, so that the grade may be forgotten
PAIRS_BEFORE_REPEATS = ACTS_BEFORE_REPEAT + 10  # ten may be held when a claim looks for the first repeat
MOST_GIVEN_BACK = 100  # repeats that a rater gave back unanswered: so many of them are read at most
# The first turns of warm-ups, which come before all other tasks, and of warm-ups that were put off.
FIRST_TURN, LATER_TURN = -2_000_000, -1_000_000


def to_warm_up(me: Rater) -> QuerySet:
    """The warm-up anchors that the rater has not answered."""
    answered = Check.objects.filter(rater=me, pair=OuterRef("pair"), kind=WARM_UP, event__isnull=False)
    return Anchor.objects.of(me.collection_id).filter(~Exists(answered), use=Anchor.Use.WARM_UP)


def hold_warm_ups(me: Rater, count: int, now: datetime) -> None:
    """Make `me` hold `count` warm-ups: those that they put off come last, after at least one other if any is left.

    Otherwise a warm-up that they just put off would come back at once. The others come in rounds, each with one
    pair of every grade, in random order. Raters should see every grade early: those who first see only irrelevant
    documents grade higher afterwards.
    """
    shuffled = sorted(to_warm_up(me).values_list("grade", "pair"), key=lambda row: keyed_random(me.pk, *row))
    pairs_of_grade: Counter[int] = Counter()
    round_of_pair = {}  # the first pair of each grade is in round 1, the second of each in round 2
    for grade, pair in shuffled:
        pairs_of_grade[grade] += 1
        round_of_pair[pair] = pairs_of_grade[grade]
    by_round = sorted(round_of_pair, key=lambda pair: round_of_pair[pair])  # stable: within a round as shuffled
    put_off_checks = me.checks.filter(kind=WARM_UP, event__isnull=True, turn__gte=LATER_TURN)
    put_off = set(put_off_checks.values_list("pair", flat=True))
    # Those put off are held already, at later turns than all others.
    new_count = max(count - len(put_off), 1)
    new_pairs = [pair for pair in by_round if pair not in put_off][:new_count]
    no_place = 0  # only repeats have a place among the wanted pairs
    hold_checks(me, WARM_UP, {pair: (turn, no_place) for turn, pair in enumerate(new_pairs, FIRST_TURN)}, now)


def hold_checks(me: Rater, kind: str, positions: dict[int, tuple[int, int]], now: datetime) -> None:
    """Make the rater hold checks of this kind. `positions`: pair id → (turn, place).

    The turn is the position among the tasks that the rater holds. The place of a repeat says before which of the
    rater's wanted pairs it comes; that of a warm-up is 0. A pair has one check of a kind: if the rater holds it at
    another turn, or gave it back unanswered, it gets the new turn.
    """
    if not positions:
        return
    unanswered_pairs = {check.pair_id for check in _unanswered(rater=me.pk) if check.kind == kind}
    for pair, (turn, place) in positions.items():
        if pair in unanswered_pairs:
            me.checks.filter(kind=kind, event__isnull=True, pair=pair).update(turn=turn, place=place)
        else:
            _insert_check(Check(rater=me, pair_id=pair, kind=kind, created_at=now, turn=turn, place=place))


# Prepared, because a claim may need several of them.
_unanswered = Prepared(lambda: Check.objects.filter(rater=RATER, event__isnull=True))
_insert_check, _insert_extra = PreparedInsert(Check), PreparedInsert(Assignment)


ALL_QUERIES = 0  # stands for all queries, in the orders that do not go by query; no query has this id


def mix_in(me: Rater, choice: Choice, now: datetime) -> list[Item]:
    """What `me` gets, in order: new candidates with gold pairs and repeats before some, then what they put off.

    At most `choice.quota.tasks` items. Gold and repeats come only before a new candidate, never after the last
    one: such a place would give them away. A candidate that no longer fits in after its gold is left to a later
    claim.
    """
    collection, most = me.collection, choice.quota.tasks
    mixes_in = collection.gold_share or collection.repeat_share
    if not mixes_in or not choice.new:
        return (choice.new + choice.put_off)[:most]
    # In the orders that go by query, gold and repeats are placed in each query apart: only these queries matter.
    queries = {candidate.query for candidate in choice.new} if comes_by_query(collection) else None  # None: all
    free_pairs = free_by_query(me, now, queries)  # query → how many pairs the rater can still get
    mix = mix_of(me, free_pairs, now, acts=me.acts)
    repeats = _repeats_for(me, most) if collection.repeat_share else []
    chosen_pairs = {candidate.pair for candidate in choice.new}
    items: list[Item] = []
    for candidate in choice.new:
        if len(items) >= most:
            break
        mixed_in = mix.take_gold_before(candidate, chosen_pairs) or mix.take_repeat_before(candidate, repeats)
        if mixed_in:
            items.append(mixed_in)
        items.append(candidate)
        mix.count(candidate)  # so that the next candidate has the next place
    return (items + choice.put_off)[:most]


def marks_up_to(share: float, last: int, *key: object) -> int:
    """How many of the places 1 to `last` are marked: one in each stretch of 1 / `share`, drawn by the key.

    `share`: 0 to 1. The draw is a keyed hash, so that a reload gives the same places, and nobody can compute them
    from the code.
    """
    if share <= 0 or last <= 0:
        return 0
    stretch = int(last * share)  # the one in which the last place lies
    begin, end = int(stretch / share), int((stretch + 1) / share)
    return stretch + (begin + int(keyed_random("mark", *key, stretch) * (end - begin)) < last)


@dataclass
class Group:
    """The wanted pairs of a rater among which the same gold is mixed in: those of a query, or all."""

    pairs_had: int = 0  # how many wanted pairs they have had, hold or put off
    free_pairs: int = 0  # how many wanted pairs they can still get, without those that they put off
    gold_had: int = 0  # how many gold pairs they have had, hold or put off
    wanted_gold: dict[int, Candidate] = field(default_factory=dict)  # by pair: the gold among the free pairs
    extra_gold: list[ExtraGold] = field(default_factory=list)  # gold that they can get besides the free pairs
    # The places before which extra gold came: 1 is that of the first wanted pair of the group.
    extra_gold_places: list[int] = field(default_factory=list)

    @property
    def all_pairs(self) -> int:
        return self.pairs_had + self.free_pairs

    def take_extra_gold(self, place: int) -> ExtraGold:
        """Take the first extra gold, and count it at the place before which it comes."""
        self.gold_had += 1
        self.extra_gold_places.append(place)
        return self.extra_gold.pop(0)._replace(place=place)


@dataclass
class Mix:
    """The gold and the repeats among the wanted pairs of a rater.

    Gold comes before marked pairs, as long as the rater has had less gold than marks, since wanted gold also comes
    at its own turn. It is extra gold while some is to come, and then wanted gold ahead of its turn. In the orders
    that go by query, each query has its own marks and gold: the place of another query's pair would tell.

    A repeat comes before marked pairs after the first PAIRS_BEFORE_REPEATS. In the orders that go by query, it
    comes only before the first pair of a query, or after so many pairs of its own query. Where no grade is old
    enough, none comes.
    """

    rater: Rater
    gold_per_pair: float  # the share of wanted pairs that are marked for gold
    repeats_per_pair: float  # the share of wanted pairs that are marked for repeats
    by_query: bool
    repeats_at: Counter[int]  # place among all wanted pairs → how many repeats the rater has had before it
    groups: dict[int, Group]  # by query, or ALL_QUERIES

    def to_come(self) -> int:
        """How many gold pairs and repeats are still mixed in, if the rater gets all pairs that are free."""
        return sum(self._extra_gold_to_come(key) for key in self.groups) + self._repeats_to_come()

    def to_come_of(self, query: int) -> int:
        """How many of these are of the query, in the orders that go by query.

        The repeat before the first pair of a query does not count: it is of another query.
        """
        group = self.groups[query]
        marks_had = self._repeat_marks_up_to(query, max(group.pairs_had, 1))
        later = self._repeat_marks_up_to(query, group.all_pairs) - marks_had
        # Held before a pair that is not: in the query that the rater is in.
        early = sum(n for place, n in self.repeats_at.items() if group.pairs_had and place > self._pairs_had)
        return self._extra_gold_to_come(query) + max(0, later - early)

    def take_gold_before(self, candidate: Candidate, chosen_pairs: set[int]) -> ExtraGold | Candidate | None:
        """The gold that comes before the candidate; None where none comes.

        Gold comes only before a candidate whose place has a mark: some places are marked at random. It is extra
        gold or, if none is to come, another candidate that is gold. `take_extra_gold` and `count` take it out of
        the gold of the group and add it to the gold that the rater had. `chosen_pairs`: the pairs of the same
        claim, which keep their own turns.
        """
        key = self._key(candidate)
        group = self.groups[key]
        place = group.pairs_had + 1  # of the candidate, among the wanted pairs of its group
        marks_so_far = self._gold_marks_up_to(key, place)  # if this place has a mark, also the number of the mark
        if marks_so_far == self._gold_marks_up_to(key, place - 1):
            return None  # this place has no mark
        if group.gold_had >= marks_so_far:
            return None  # the rater has had as much gold as there are marks up to here
        if place in group.extra_gold_places:
            return None  # extra gold was placed here already
        if extra_to_come := self._extra_gold_to_come(key):
            # A query with less gold than marks has it at some of its marks, not all at the first ones.
            if self._stays_empty(key, marks_so_far, extra_to_come):
                return None
            return group.take_extra_gold(place)
        # No extra gold is to come, so wanted gold comes ahead of its turn.
        for pair, gold in group.wanted_gold.items():
            if pair not in chosen_pairs:
                self.count(gold)
                return gold
        return None

    def _stays_empty(self, key: int, mark: int, to_come: int) -> bool:
        """Whether no gold comes at this mark, because the gold to come is spread over all marks that are left.

        `mark`: its number among the marks of the group. A query can have more marks than gold. If its first marks
        got it, their places would tell. So each mark is filled with the chance to_come / marks left. In the orders
        that do not go by query, each mark is filled.
        """
        group = self.groups[key]
        marks_left = self._gold_marks_up_to(key, group.all_pairs) - mark + 1 if self.by_query else to_come
        return keyed_random("filled", self.rater.pk, key, mark) * marks_left >= to_come

    def take_repeat_before(self, candidate: Candidate, repeats: list[RepeatPair]) -> RepeatPair | None:
        """The repeat that comes before the candidate, taken from the list and counted; None where none comes.

        A repeat comes only before a candidate whose place in its group has a mark: some places are marked at
        random. In the orders that go by query a group is the wanted pairs of one query, otherwise of all.
        `repeats`: those that the rater can get, in the order of `_repeats_for`.
        """
        place = self._pairs_had + 1  # of the candidate, among all wanted pairs of the rater
        if place <= PAIRS_BEFORE_REPEATS or self.repeats_at[place]:
            return None  # too early, or one came before this pair already
        key = self._key(candidate)
        place_in_group = self.groups[key].pairs_had + 1
        if self._repeat_marks_up_to(key, place_in_group) == self._repeat_marks_up_to(key, place_in_group - 1):
            return None  # this place has no mark
        # In the orders that go by query, a repeat of another query stands out among the pairs of one query, but
        # not before the first of them, where the query changes anyway.
        may_be_of_any_query = not self.by_query or place_in_group == 1
        for repeat in repeats:
            if may_be_of_any_query or repeat.query == candidate.query:
                repeats.remove(repeat)
                self.repeats_at[place] += 1
                return repeat._replace(place=place)
        return None

    def count(self, candidate: Candidate) -> None:
        """Count a candidate as a wanted pair that the rater has had."""
        group = self.groups[self._key(candidate)]
        group.pairs_had += 1
        group.free_pairs -= 1
        group.gold_had += group.wanted_gold.pop(candidate.pair, None) is not None

    def _key(self, candidate: Candidate) -> int:
        return candidate.query if self.by_query else ALL_QUERIES

    def _gold_marks_up_to(self, key: int, last: int) -> int:
        """How many of the places 1 to `last` of the group have a mark for gold."""
        return marks_up_to(self.gold_per_pair, last, "gold", self.rater.pk, key)

    def _repeat_marks_up_to(self, key: int, last: int) -> int:
        """How many of the places 1 to `last` of the group have a mark for a repeat."""
        later = marks_up_to(self.repeats_per_pair, last - PAIRS_BEFORE_REPEATS, "repeat", self.rater.pk, key)
        if not self.by_query or not last:
            return later
        # One mark at the start of a query stands for its first pairs.
        pairs = min(self.groups[key].all_pairs, PAIRS_BEFORE_REPEATS)
        return later + (keyed_random("first", self.rater.pk, key) < self.repeats_per_pair * pairs)

    def _extra_gold_to_come(self, key: int) -> int:
        """How much extra gold of a group: it comes at the marks that wanted gold does not fill."""
        group = self.groups[key]
        early = sum(place > group.pairs_had for place in group.extra_gold_places)
        filled = max(self._gold_marks_up_to(key, group.pairs_had) + early, group.gold_had + len(group.wanted_gold))
        unfilled = self._gold_marks_up_to(key, group.all_pairs) - filled
        return max(0, min(len(group.extra_gold), group.free_pairs - early, unfilled))  # one before each place

    def _repeats_to_come(self) -> int:
        if sum(group.all_pairs for group in self.groups.values()) <= PAIRS_BEFORE_REPEATS:
            return 0
        marked = sum(
            self._repeat_marks_up_to(key, group.all_pairs) - self._repeat_marks_up_to(key, group.pairs_had)
            for key, group in self.groups.items()
        )
        return max(0, marked - sum(n for place, n in self.repeats_at.items() if place > self._pairs_had))

    @property
    def _pairs_had(self) -> int:
        return sum(group.pairs_had for group in self.groups.values())


def mix_of(rater: Rater, free_pairs: Mapping[int, int], now: datetime, acts: int = 0) -> Mix:
    """The gold and repeats to mix into the work of a rater, with what they have had of both.

    A group is a query, in the orders that go by query, or else all queries together. Gold is kept by group.
    Repeats have a place among the wanted pairs of all groups: a repeat at place 40 came before the 40th of
    these. `free_pairs`: query id → how many wanted pairs they can still get, without those that they put off.
    `acts`: the number of their acts, by which the order of gold is drawn. For counts alone it may be 0.
    """
    collection, by_query = rater.collection, comes_by_query(rater.collection)
    groups: dict[int, Group] = {} if by_query else {ALL_QUERIES: Group()}

    def group_of(query: int) -> Group:
        """The group of the query, which is made when it is first asked for."""
        return groups.setdefault(query if by_query else ALL_QUERIES, Group())

    for query, number in free_pairs.items():
        group_of(query).free_pairs += number
    # Three lists of (query, number), for pairs that they graded or hold, cannot judge, or put off.
    for query, number in chain(*_pairs_had_by_query(rater=rater.pk, now=now)):
        group_of(query).pairs_had += number
    if collection.gold_share:
        _add_gold(group_of, rater, now, acts)
    repeat_places = had_repeats(rater).values_list("place", flat=True) if collection.repeat_share else ()
    # The shares of a collection are of a rater's whole work; those of a mix are for each wanted pair. These pairs
    # count as a tenth of the work at least, so that nothing is divided by 0.
    wanted_share = max(1 - collection.gold_share - collection.repeat_share, Decimal("0.1"))
    return Mix(
        rater,
        gold_per_pair=float(collection.gold_share / wanted_share),
        repeats_per_pair=float(collection.repeat_share / wanted_share),
        by_query=by_query,
        repeats_at=Counter(repeat_places),
        groups=groups,
    )


def _add_gold(group_of: Callable[[int], Group], rater: Rater, now: datetime, acts: int) -> None:
    """Add to the groups the gold that the rater has had, and the gold that they can get, in random order.

    `group_of`: gives the group of a query. `acts`: the number of the rater's acts, from which the order is drawn.
    """
    can_get, had = _golds_statement(rater.restricted)(rater=rater.pk, collection=rater.collection_id, now=now)
    for query, *_ in had:
        group_of(query).gold_had += 1

    def position(row: tuple) -> tuple:
        """What the rater gave back comes last, so that it does not come more often than other pairs."""
        _, pair, _, _, given_back = row
        return given_back, keyed_random(rater.pk, acts, pair), pair

    for query, pair, free_id, holder, _ in sorted(can_get, key=position):
        if free_id is None:  # no assignment is free, so the pair needs an extra one
            group_of(query).extra_gold.append(ExtraGold(pair, query))
        else:  # `holder`: whose lease on the free assignment expired, or None
            group_of(query).wanted_gold[pair] = Candidate(free_id, pair, query, holder)
    extras = Assignment.objects.filter(rater=rater, extra=True)
    # The `round` of an extra assignment of gold, as `hold_extras` wrote it, is the place before which it came
    # among the wanted pairs of its group. They count from 1, so 0 is before none: it was not mixed in.
    for query, place in extras.values_list("query", "round"):
        group_of(query).extra_gold_places.append(place)


def hold_extras(me: Rater, turns: dict[ExtraGold, int], now: datetime) -> None:
    """Make extra assignments of these gold pairs (gold → turn), leased to `me`."""
    lease = {"rater": me, "state": State.LEASED, "leased_until": now + LEASE}
    for gold, turn in turns.items():
        of_pair = {"pair_id": gold.pair, "query_id": gold.query, "collection_id": me.collection_id}
        _insert_extra(Assignment(**of_pair, **lease, extra=True, turn=turn, round=gold.place))


def take_gold(me: Rater, pair_id: int, state: str, now: datetime) -> bool:
    """Give the rater an extra assignment of the pair if it is gold. Returns whether they got one.

    Called where `take` found no free assignment, so that gold behaves as any other pair would. `state`: LEASED
    where an undo shall give the pair to the rater again, DONE where a grade of the rater needs an assignment to
    fill, for example because they gave the pair back before. They get none if they have an assignment of the
    pair, or if the collection mixes in no gold.
    """
    anchors = Anchor.objects.filter(pair=pair_id, use=Anchor.Use.GOLD, pair__retired_at__isnull=True)
    query_id = anchors.values_list("pair__query", flat=True).first()
    if query_id is None or not me.collection.gold_share or assignment_of(pair_id, me).exists():
        return False
    if state == State.LEASED:
        hold_extras(me, {ExtraGold(pair_id, query_id): turn_before_all(me)}, now)
    else:
        ids = {"pair_id": pair_id, "query_id": query_id, "collection_id": me.collection_id}
        Assignment.objects.create(**ids, rater=me, state=state, extra=True, round=0)  # it was not mixed in
    return True


def keyed_random(*parts: object) -> float:
    """A pseudo-random number in [0, 1): a hash of the parts, keyed by the server's secret."""
    key = blake2b(settings.SECRET_KEY.encode()).digest()
    digest = blake2b("/".join(map(str, parts)).encode(), digest_size=8, key=key, person=b"mixing").digest()
    return int.from_bytes(digest) / 2**64


def _counts_of_pairs_had() -> list[QuerySet]:
    """Three querysets of (query id, number of pairs), which together count the wanted pairs that a rater has had.

    1. Pairs that they graded or hold.
    2. Pairs that they said they cannot judge, which leaves them no assignment. A gold pair counts only if some
       assignment of it is free (`has_free`): otherwise they had it as extra gold, which is no wanted pair.
    3. Pairs that they put off and can still get, as some assignment is free.

    RATER and NOW are blanks of the prepared statement.
    """
    has_free = Exists(Assignment.objects.filter(free(NOW), pair=OuterRef("pair")))
    is_gold = Exists(Anchor.objects.filter(pair=OuterRef("pair"), use=Anchor.Use.GOLD))
    rated_or_held = Assignment.objects.filter(rater=RATER, extra=False)
    cannot = Rating.objects.filter(~HAS_ASSIGNMENT, ~is_gold | has_free, rater=RATER, grade__isnull=True)
    put_off = skips(RATER).filter(has_free, ~HAS_ASSIGNMENT, ~IS_RATED)

    def by_query(rows: QuerySet, query: str) -> QuerySet:
        return rows.order_by().values(query).annotate(n=Count("pair", distinct=True)).values_list(query, "n")

    return [by_query(rated_or_held, "query"), by_query(cannot, "query"), by_query(put_off, "pair__query")]


_pairs_had_by_query = PreparedUnion(_counts_of_pairs_had)


@cache
def _golds_statement(restricted: bool) -> PreparedUnion:
    """A statement for two lists: the gold that a rater can get, and the gold that they have had, hold or put off.

    `restricted`: whether they rate only some queries. RATER, NOW and COLLECTION are blanks (placeholders of the
    statement); HAS_ASSIGNMENT and IS_RATED are about RATER. Columns besides query and pair:

    - `free_id`: the oldest free assignment of the pair; None: none is free, so the rater would get an extra one
    - `holder`: the rater whose lease on that assignment expired, or None
    - `given_back`: 1 if the rater held the pair and gave it back or lost it; both leave a LostLease. Otherwise 0

    In the second list only the query has a meaning: a union needs equally many columns.
    """
    put_off = Exists(skips().filter(pair=OuterRef("pair")))
    golds = extra_golds(restricted).filter(~put_off)
    takable_rows = Assignment.objects.filter(takable(NOW), pair=OuterRef("pair")).order_by("pk")
    has_lost_lease = Exists(LostLease.objects.filter(rater=RATER, pair=OuterRef("pair")))
    golds = golds.annotate(
        free_id=Subquery(takable_rows.values("pk")[:1]),
        holder=Subquery(takable_rows.values("rater")[:1]),
        given_back=Case(When(has_lost_lease, then=1), default=0),
    )
    had = Anchor.objects.of(COLLECTION).filter(HAS_ASSIGNMENT | IS_RATED | put_off, use=Anchor.Use.GOLD)
    return PreparedUnion(
        lambda: [
            golds.values_list("pair__query", "pair", "free_id", "holder", "given_back"),
            had.values_list("pair__query", "pair", "pk", "pk", "pk"),
        ]
    )


def had_repeats(rater: Rater) -> QuerySet:
    """The repeats that the rater has answered, holds or put off."""
    put_off = skips(rater).filter(pair=OuterRef("pair"), created_at__gte=OuterRef("created_at"))
    had = Q(event__isnull=False) | Q(turn__isnull=False) | Q(Exists(put_off))
    return Check.objects.filter(had, rater=rater, kind=REPEAT)


def _repeats_for(me: Rater, count: int) -> list[RepeatPair]:
    """Pairs that `me` graded at least ACTS_BEFORE_REPEAT acts ago and has not had as a repeat, best first.

    First come those that the rater gave back unanswered, then pairs of the current query, then pairs of any query.
    The latter two are sorted by when they were graded, but begin at a random point of the rater's history, and
    those graded before it come after the others. `count`: how many pairs are read at most for each part of this
    order but the first.
    """
    # Two lists, each with one row, the id of an event, or empty: for the act that ACTS_BEFORE_REPEAT - 1 others
    # follow, and for the first act.
    recent_rows, first_rows = _event_range_statement(ACTS_BEFORE_REPEAT)(rater=me.pk)
    if not recent_rows:
        return []  # the rater has fewer acts than that
    (recent_id,), (first_id,) = recent_rows[0], first_rows[0]
    # An id between these two, which need not be that of an event of the rater.
    start = first_id + int(keyed_random(me.pk, me.acts) * (recent_id - first_id))
    # Where the order does not go by query, two pairs of one query seldom follow each other, and a repeat of the
    # current query would stand out. There no query is current: none has the id 0.
    query = me.last_query if comes_by_query(me.collection) else 0
    lists = _repeats_statement(count)(rater=me.pk, before=recent_id, start=start, current_query=query)
    without_doubles = dict.fromkeys(chain.from_iterable(lists))  # a set would lose the order
    return [RepeatPair(*row) for row in without_doubles]


@cache
def _event_range_statement(acts: int) -> PreparedUnion:
    """A statement for two events of a rater: the one that `acts` - 1 others follow, and the first of all."""
    events = RatingEvent.objects.filter(rater=RATER).values_list("pk")
    return PreparedUnion(lambda: [events.order_by("-pk")[acts - 1 : acts], events.order_by("pk")[:1]])


@cache
def _repeats_statement(count: int) -> PreparedUnion:
    """A statement for five lists of (pair, query) that a rater can get as repeats.

    1. Repeats that were given back unanswered.
    2. Grades of the current query, from the event `start` on, 3. and those before `start`.
    4. Grades of any query, from `start` on, 5. and those before it.

    Pairs on which the rater acted since the event `before` are left out: otherwise a repeat that they put off
    would be back at once. `count`: the greatest length of lists 2 to 5.
    """
    before = Blank("before", RatingEvent, "id")
    start = Blank("start", RatingEvent, "id")
    # The grade must stand, and be the rater's last act on the pair.
    later_act = RatingEvent.objects.filter(rater=RATER, pair=OuterRef("pair"), pk__gt=OuterRef("pk"))
    graded = RatingEvent.objects.standing().filter(
        Exists(Rating.objects.filter(rater=RATER, pair=OuterRef("pair"), grade__isnull=False)),
        ~Exists(Check.objects.filter(rater=RATER, pair=OuterRef("pair"), kind=REPEAT)),
        ~Exists(later_act),
        rater=RATER,
        kind=Kind.GRADE,
        pair__retired_at__isnull=True,
        pk__lt=before,
    )
    # What the rater put off is not given back: `put_off_items` finds it.
    recent_act = RatingEvent.objects.filter(rater=RATER, pair=OuterRef("pair"), pk__gte=before)
    later_skip = skips().filter(pair=OuterRef("pair"), created_at__gte=OuterRef("created_at"))
    given_back = Check.objects.filter(
        ~Exists(recent_act),
        ~Exists(later_skip),
        rater=RATER,
        kind=REPEAT,
        event__isnull=True,
        turn__isnull=True,
        pair__retired_at__isnull=True,
    )
    graded_in_query = graded.filter(pair__query=Blank("current_query", Assignment, "query"))
    columns = ("pair", "pair__query")
    # More than `count` of those given back, because the first ones may not be of the current query.
    lists = [given_back.order_by("pk").values_list(*columns)[:MOST_GIVEN_BACK]]
    for rows in (graded_in_query, graded):
        in_order = rows.order_by("pk").values_list(*columns)
        lists += [in_order.filter(pk__gte=start)[:count], in_order.filter(pk__lt=start)[:count]]
    return PreparedUnion(lambda: lists)

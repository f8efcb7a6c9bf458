"""What a rater gets besides candidates: warm-ups before the first pair, and gold pairs and repeats among the
others.

Gold and repeats have the same fields, labels, addresses, places and counts as other tasks. Marks decide where they
come, so that the number that is still to come is known from the start (`Mix.to_come`).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from itertools import chain
from types import MappingProxyType

from django.conf import settings
from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Subquery, When

from ...database.prepared import Blank, Prepared, PreparedInsert, PreparedUnion
from ...models import Anchor, Assignment, Check, LostLease, Rater, Rating, RatingEvent
from .choosing import (
    COLLECTION,
    Candidate,
    Choice,
    ExtraGold,
    Item,
    RepeatPair,
    extra_golds,
    free_by_query,
    skips,
)
from .leases import LEASE, NOW, RATER, State, assignment_of, free, takable, turn_before_all
from .order import comes_by_query
from .tasks import REPEAT, WARM_UP

Kind = RatingEvent.Kind

REPEAT_AFTER = 20  # acts that lie at least between a grade and its repeat, so that the grade may be forgotten
FIRST_REPEAT = REPEAT_AFTER + 10  # pairs before the first repeat: ten may be held when a claim looks for it
GIVEN_BACK = 100  # the most repeats that are read of those that a rater gave back unanswered
# The first turns of warm-ups, which come before all other tasks, and of warm-ups that were put off.
FIRST_TURN, LATER_TURN = -2_000_000, -1_000_000


def to_warm_up(me: Rater) -> QuerySet:
    """The warm-up anchors that the rater has not answered."""
    answered = Check.objects.filter(rater=me, pair=OuterRef("pair"), kind=WARM_UP, event__isnull=False)
    return Anchor.objects.of(me.collection_id).filter(~Exists(answered), use=Anchor.Use.WARM_UP)


def warm_up(me: Rater, count: int, now: datetime) -> None:
    """Make `me` hold the next `count` warm-ups. They come in rounds of one pair of every grade, in random order.

    Raters should see every grade early: those who first see only irrelevant documents grade higher afterwards.
    """
    shuffled = sorted(to_warm_up(me).values_list("grade", "pair"), key=lambda row: keyed_random(me.pk, *row))
    of_grade: Counter[int] = Counter()
    round_of = {}
    for grade, pair in shuffled:
        of_grade[grade] += 1
        round_of[pair] = of_grade[grade]
    in_order = sorted(round_of, key=lambda pair: round_of[pair])  # within a round as shuffled
    put_off = set(
        me.checks.filter(kind=WARM_UP, event__isnull=True, turn__gte=LATER_TURN).values_list("pair", flat=True)
    )
    # What was put off takes places, too, but at least one new warm-up comes first.
    pairs = [pair for pair in in_order if pair not in put_off][: max(count - len(put_off), 1)]
    put_before(me, WARM_UP, {pair: FIRST_TURN + place for place, pair in enumerate(pairs)}, now)


def put_before(
    me: Rater, kind: str, turns: dict[int, int], now: datetime, places: Mapping[int, int] = MappingProxyType({})
) -> None:
    """Make the rater hold checks of these pairs (pair id → turn). `places`: of repeats, see `Mix`."""
    known = {check.pair_id for check in _unanswered(rater=me.pk) if check.kind == kind} if turns else ()
    for pair, turn in turns.items():
        facts = {"turn": turn, "place": places.get(pair, 0)}
        if pair in known:
            me.checks.filter(kind=kind, event__isnull=True, pair=pair).update(**facts)
        else:
            _insert_check(Check(rater=me, pair_id=pair, kind=kind, created_at=now, **facts))


# Prepared, because a claim may need several of them.
_unanswered = Prepared(lambda: Check.objects.filter(rater=RATER, event__isnull=True))
_insert_check, _insert_extra = PreparedInsert(Check), PreparedInsert(Assignment)


ANY = 0  # stands for all queries, in the orders that do not go by query; no query has this id


def mixed(me: Rater, choice: Choice, now: datetime) -> list[Item]:
    """What `me` gets, in order: new candidates with gold pairs and repeats before some, then what they put off.

    Nothing follows the last candidate, because its place would give it away. The result is cut to the quota.
    """
    collection, new, places = me.collection, choice.new, choice.quota.tasks
    if not (collection.gold_share or collection.repeat_share) or min(choice.quota) <= 0 or not new:
        return (new + choice.put_off)[:places]
    queries = {candidate.query for candidate in new} if comes_by_query(collection) else None
    mix = mix_of(me, me.restricted, free_by_query(me, now, queries), now, me.acts)
    repeats = _repeats_for(me, places) if collection.repeat_share else []
    chosen = {candidate.pair for candidate in new}
    items: list[Item] = []
    for candidate in new:
        if len(items) >= places:
            break
        extra = mix.take_gold_before(candidate, chosen) or mix.take_repeat_before(candidate, repeats)
        items += [extra, candidate] if extra else [candidate]
        mix.count(candidate)
    return (items + choice.put_off)[:places]


def marks(share: float, count: int, *key: object) -> int:
    """How many of the first `count` places are marked: one in each stretch of 1 / `share`, drawn by the key.

    `share`: 0 to 1. The draw is a keyed hash, so that a reload gives the same places, and nobody can compute them
    from the code.
    """
    if share <= 0 or count <= 0:
        return 0
    stretch = int(count * share)  # the one in which the last place lies
    begin, end = int(stretch / share), int((stretch + 1) / share)
    return stretch + (begin + int(keyed_random("mark", *key, stretch) * (end - begin)) < count)


@dataclass
class Group:
    """The wanted pairs of a rater among which the same gold is mixed in: those of a query, or all."""

    own: int = 0  # wanted pairs that they have had, hold or put off
    free: int = 0  # wanted pairs that they can still get, without those they put off
    had: int = 0  # gold that they have had, hold or put off
    wanted_gold: dict[int, Candidate] = field(default_factory=dict)  # by pair: some of the free pairs
    extra_gold: list[ExtraGold] = field(default_factory=list)  # that they can get beside those
    filled: list[int] = field(default_factory=list)  # the places before which extra gold came

    def take_extra_gold(self, place: int) -> ExtraGold:
        """Take the first extra gold, and count it at the place before which it comes."""
        self.had += 1
        self.filled.append(place)
        return self.extra_gold.pop(0)._replace(place=place)


@dataclass
class Mix:
    """The gold and the repeats among the wanted pairs of a rater.

    Gold comes before marked pairs, as long as the rater has had less gold than marks, since wanted gold also comes
    at its own turn. It is extra gold while some is to come, and then wanted gold ahead of its turn. In the orders
    that go by query, each query has its own marks and gold: the place of another query's pair would tell.

    A repeat comes before marked pairs after the first FIRST_REPEAT. In the orders that go by query, it comes only
    before the first pair of a query, or after so many pairs of its own query. Where no grade is old enough, none
    comes.
    """

    rater: Rater
    gold: float  # how many gold pairs come with each wanted pair
    repeat: float  # how many repeats
    by_query: bool
    repeated: Counter[int]  # how many repeats the rater has had, by their place among all wanted pairs
    groups: dict[int, Group]  # by query, or ANY

    def to_come(self) -> int:
        """How many gold pairs and repeats are still mixed in, if the rater gets all pairs that are free."""
        return sum(self._gold_to_come(key) for key in self.groups) + self._repeats_to_come()

    def take_gold_before(self, candidate: Candidate, chosen: set[int]) -> ExtraGold | Candidate | None:
        """Take the gold that comes before the candidate out of the mix, and count it; None where none comes.

        `chosen`: the pairs of the same claim, which keep their own turns.
        """
        key = self._key(candidate)
        group = self.groups[key]
        place = group.own + 1  # of the candidate, among the wanted pairs of its group
        mark = self._gold_marks(key, place)  # the number of the last mark down to this place
        is_marked = mark > self._gold_marks(key, group.own)
        if not is_marked or group.had >= mark or place in group.filled:
            return None
        to_come = self._gold_to_come(key)
        if to_come:
            return None if self._stays_empty(key, mark, to_come) else group.take_extra_gold(place)
        # No extra gold is to come, so wanted gold comes ahead of its turn.
        ahead = next((gold for pair, gold in group.wanted_gold.items() if pair not in chosen), None)
        if ahead:
            self.count(ahead)
        return ahead

    def _stays_empty(self, key: int, mark: int, to_come: int) -> bool:
        """Whether no gold comes at this mark, because the gold to come is spread over all marks that are left.

        A query can have more marks than gold. If its first marks got it, their places would tell. So each mark is
        filled with the chance to_come / marks left. In the orders that do not go by query, each mark is filled.
        """
        group = self.groups[key]
        marks_left = self._gold_marks(key, group.own + group.free) - mark + 1 if self.by_query else to_come
        return keyed_random("filled", self.rater.pk, key, mark) * marks_left >= to_come

    def take_repeat_before(self, candidate: Candidate, repeats: list[RepeatPair]) -> RepeatPair | None:
        """Take the repeat that comes before the candidate from the list, and count it; None where none comes."""
        key, place = self._key(candidate), self._own + 1
        before = self.groups[key].own
        is_marked = self._repeat_marks(key, before + 1) > self._repeat_marks(key, before)
        if not is_marked or self.repeated[place]:
            return None
        anywhere = not self.by_query or not before
        repeat = next((each for each in repeats if anywhere or each.query == candidate.query), None)
        if repeat is None:
            return None
        repeats.remove(repeat)
        self.repeated[place] += 1
        return repeat._replace(place=place)

    def count(self, candidate: Candidate) -> None:
        """Count a candidate as one of the rater's own pairs."""
        group = self.groups[self._key(candidate)]
        group.own += 1
        group.free -= 1
        group.had += group.wanted_gold.pop(candidate.pair, None) is not None

    def _key(self, candidate: Candidate) -> int:
        return candidate.query if self.by_query else ANY

    def _gold_marks(self, key: int, count: int) -> int:
        return marks(self.gold, count, "gold", self.rater.pk, key)

    def _repeat_marks(self, key: int, count: int) -> int:
        later = marks(self.repeat, count - FIRST_REPEAT, "repeat", self.rater.pk, key)
        if not self.by_query or not count:
            return later
        # One mark at the start of a query stands for its first pairs.
        pairs = min(self.groups[key].own + self.groups[key].free, FIRST_REPEAT)
        return later + (keyed_random("first", self.rater.pk, key) < self.repeat * pairs)

    def _gold_to_come(self, key: int) -> int:
        """How much extra gold of a group: it comes at the marks that wanted gold does not fill."""
        group = self.groups[key]
        early = sum(place > group.own for place in group.filled)
        filled = max(self._gold_marks(key, group.own) + early, group.had + len(group.wanted_gold))
        unfilled = self._gold_marks(key, group.own + group.free) - filled
        return max(0, min(len(group.extra_gold), group.free, unfilled))

    def _repeats_to_come(self) -> int:
        if self._own + sum(group.free for group in self.groups.values()) <= FIRST_REPEAT:
            return 0
        marked = sum(
            self._repeat_marks(key, group.own + group.free) - self._repeat_marks(key, group.own)
            for key, group in self.groups.items()
        )
        return max(0, marked - sum(n for place, n in self.repeated.items() if place > self._own))

    @property
    def _own(self) -> int:
        return sum(group.own for group in self.groups.values())


def mix_of(rater: Rater, restricted: bool, can_get: Mapping[int, int], now: datetime, acts: int = 0) -> Mix:
    """The mix of a rater who can still get so many pairs of each query. `acts`: by it gold is drawn."""
    collection, by_query = rater.collection, comes_by_query(rater.collection)
    wanted = max(1 - collection.gold_share - collection.repeat_share, Decimal("0.1"))
    repeat = float(collection.repeat_share / wanted)
    groups: dict[int, Group] = {} if by_query else {ANY: Group()}

    def group(query: int) -> Group:
        return groups.setdefault(query if by_query else ANY, Group())

    for query, count in can_get.items():
        group(query).free += count
    for query, count in chain(*_own_pairs()(rater=rater.pk, now=now)):
        group(query).own += count
    if collection.gold_share:
        rows, had = _golds(restricted)(rater=rater.pk, collection=rater.collection_id, now=now)
        for _, _, query, *_ in had:
            group(query).had += 1

        def turn(row: tuple) -> tuple:
            """What the rater gave back earlier comes last: it must not come more often than other pairs."""
            _, pair, _, _, given_back = row
            return given_back, keyed_random(rater.pk, acts, pair)

        for free_id, pair, query, holder, _ in sorted(rows, key=turn):
            if free_id is None:
                group(query).extra_gold.append(ExtraGold(pair, query))
            else:
                group(query).wanted_gold[pair] = Candidate(free_id, pair, query, holder)
        extras = Assignment.objects.filter(rater=rater, extra=True)
        for query, place in extras.values_list("query", "round"):
            group(query).filled.append(place)
    repeated = Counter(had_repeats(rater).values_list("place", flat=True) if repeat else ())
    return Mix(rater, float(collection.gold_share / wanted), repeat, by_query, repeated, groups)


def hold_extras(me: Rater, turns: dict[ExtraGold, int], now: datetime) -> None:
    """Lease extra assignments of these pairs to `me`."""
    lease = {"rater": me, "state": State.LEASED, "leased_until": now + LEASE}
    for extra, turn in turns.items():
        of = {"pair_id": extra.pair, "query_id": extra.query, "collection_id": me.collection_id}
        _insert_extra(Assignment(**of, **lease, extra=True, turn=turn, round=extra.place))


def take_gold(me: Rater, pair_id: int, state: str, now: datetime) -> bool:
    """Whether the rater got an extra assignment. They get none if the pair is not gold or no gold is mixed in.

    With it, gold that a rater undoes, or rates after they gave it back, behaves like any other pair.
    """
    anchors = Anchor.objects.filter(pair=pair_id, use=Anchor.Use.GOLD, pair__retired_at__isnull=True)
    query_id = anchors.values_list("pair__query", flat=True).first()
    if query_id is None or not me.collection.gold_share or assignment_of(pair_id, me).exists():
        return False
    if state == State.LEASED:
        hold_extras(me, {ExtraGold(pair_id, query_id): turn_before_all(me)}, now)
    else:
        facts = {"pair_id": pair_id, "query_id": query_id, "collection_id": me.collection_id}
        Assignment.objects.create(**facts, rater=me, state=state, extra=True)
    return True


def keyed_random(*parts: object) -> float:
    """A pseudo-random number in [0, 1): a hash of the parts, keyed by the server's secret."""
    key = blake2b(settings.SECRET_KEY.encode()).digest()
    digest = blake2b("/".join(map(str, parts)).encode(), digest_size=8, key=key, person=b"mixing").digest()
    return int.from_bytes(digest) / 2**64


@cache
def _own_pairs() -> PreparedUnion:
    """By query, how many wanted pairs a rater has rated or holds, said that they cannot judge, or put off."""
    pair = OuterRef("pair")
    has, rated = Exists(assignment_of(pair, RATER)), Exists(Rating.objects.filter(rater=RATER, pair=pair))
    wanted = Exists(Assignment.objects.filter(free(NOW), pair=pair))
    gold = Exists(Anchor.objects.filter(pair=pair, use=Anchor.Use.GOLD))
    held = Assignment.objects.filter(rater=RATER, extra=False)
    cannot = Rating.objects.filter(~has, ~gold | wanted, rater=RATER, grade__isnull=True)
    put_off = skips().filter(wanted, ~has, ~rated)
    by_query = [(held, "query"), (cannot, "query"), (put_off, "pair__query")]
    return PreparedUnion(
        lambda: [
            rows.order_by().values(query).annotate(n=Count("pair", distinct=True)).values_list(query, "n")
            for rows, query in by_query
        ]
    )


@cache
def _golds(restricted: bool) -> PreparedUnion:
    """The gold that a rater has not had, and the gold that they have had, hold or put off.

    Each with its free assignment: if there is none, it is extra gold. Last, whether they gave it back. Of the gold
    that they have had only the query is read; its other columns make the rows equally long.
    """
    put_off = Exists(skips().filter(pair=OuterRef("pair")))
    golds = extra_golds(restricted).filter(~put_off)
    open_ones = Assignment.objects.filter(takable(NOW), pair=OuterRef("pair")).order_by("pk")
    facts = {"free": "pk", "holder": "rater"}
    lost = Exists(LostLease.objects.filter(rater=RATER, pair=OuterRef("pair")))
    golds = golds.annotate(
        **{name: Subquery(open_ones.values(fact)[:1]) for name, fact in facts.items()},
        lost=Case(When(lost, then=1), default=0),
    )
    own = Exists(assignment_of(OuterRef("pair"), RATER))
    rated = Exists(Rating.objects.filter(rater=RATER, pair=OuterRef("pair")))
    had = Anchor.objects.of(COLLECTION).filter(own | rated | put_off, use=Anchor.Use.GOLD)
    return PreparedUnion(
        lambda: [
            golds.values_list("free", "pair", "pair__query", "holder", "lost"),
            had.values_list("pk", "pair", "pair__query", "pk", "pk"),
        ]
    )


def had_repeats(rater: Rater) -> QuerySet:
    """The repeats that the rater has answered, holds or put off."""
    put_off = skips(rater).filter(pair=OuterRef("pair"), created_at__gte=OuterRef("created_at"))
    had = Q(event__isnull=False) | Q(turn__isnull=False) | Q(Exists(put_off))
    return Check.objects.filter(had, rater=rater, kind=REPEAT)


def _repeats_for(me: Rater, count: int) -> list[RepeatPair]:
    """Pairs that `me` graded at least REPEAT_AFTER acts ago and has not had as a repeat, from a random act on."""
    if not count:
        return []
    some_acts_ago, first_act = _event_range(REPEAT_AFTER)(rater=me.pk)
    if not some_acts_ago:
        return []
    before, first = some_acts_ago[0][0], first_act[0][0]  # ids of events
    start = first + int(keyed_random(me.pk, me.acts) * (before - first))
    # In other orders two pairs of one query seldom follow each other: a repeat of the current query would stand
    # out.
    query = me.last_query if comes_by_query(me.collection) else 0
    parts = _grades_to_repeat(count)(rater=me.pk, before=before, start=start, current_query=query)
    rows = dict.fromkeys(chain.from_iterable(parts))
    return [RepeatPair(*row) for row in rows]


@cache
def _event_range(after: int) -> PreparedUnion:
    """The rater's event that is followed by `after` - 1 others, and their first event."""
    events = RatingEvent.objects.filter(rater=RATER).values_list("pk")
    return PreparedUnion(lambda: [events.order_by("-pk")[after - 1 : after], events.order_by("pk")[:1]])


@cache
def _grades_to_repeat(count: int) -> PreparedUnion:
    """Repeats that were given back unanswered; then grades that can be repeated, of the current query and of any.

    Pairs on which the rater acted lately are left out: otherwise a repeat that they put off would be back at once.
    """
    before, start = Blank("before", RatingEvent, "id"), Blank("start", RatingEvent, "id")
    since = RatingEvent.objects.filter(rater=RATER, pair=OuterRef("pair"), pk__gt=OuterRef("pk"))
    graded = RatingEvent.objects.standing().filter(
        Exists(Rating.objects.filter(rater=RATER, pair=OuterRef("pair"), grade__isnull=False)),
        ~Exists(Check.objects.filter(rater=RATER, pair=OuterRef("pair"), kind=REPEAT)),
        ~Exists(since),
        rater=RATER,
        kind=Kind.GRADE,
        pair__retired_at__isnull=True,
        pk__lt=before,
    )
    lately = RatingEvent.objects.filter(rater=RATER, pair=OuterRef("pair"), pk__gte=before)
    later = skips().filter(pair=OuterRef("pair"), created_at__gte=OuterRef("created_at"))
    given_back = Check.objects.filter(
        ~Exists(lately),
        ~Exists(later),
        rater=RATER,
        kind=REPEAT,
        event__isnull=True,
        turn__isnull=True,
        pair__retired_at__isnull=True,
    )
    of_query = graded.filter(pair__query=Blank("current_query", Assignment, "query"))
    grades = [rows.filter(side) for rows in (of_query, graded) for side in (Q(pk__gte=start), Q(pk__lt=start))]

    def parts() -> list[QuerySet]:
        # More than `count` of those given back, because the first ones may not be of the current query.
        first, *others = (rows.order_by("pk").values_list("pair", "pair__query") for rows in (given_back, *grades))
        return [first[:GIVEN_BACK], *(rows[:count] for rows in others)]

    return PreparedUnion(parts)

"""What a rater gets besides candidates: warm-ups before the first pair, and gold pairs and repeats among the
others.

A rater must not be able to tell gold and repeats from other pairs: not by their place, not by the time at which
they come back, and not by the duration of a request. Most of what looks unusual below is for this reason.
"""

from collections import Counter, deque
from collections.abc import Callable
from datetime import datetime
from functools import cache
from hashlib import blake2b
from itertools import chain, groupby, zip_longest
from math import sqrt
from typing import NamedTuple

from django.conf import settings
from django.db.models import Case, Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from ..database.prepared import Blank, Prepared, PreparedInsert, PreparedUnion
from ..models import LOTS, UNDRAWN, Anchor, Assignment, Check, LostLease, Pair, Rater, Rating, RatingEvent
from . import order
from .choosing import COLLECTION, Candidate, Choice, Claimant, ExtraGold, Item, RepeatPair, extra_golds, skips
from .leases import LEASE, NOW, RATER, State, assignment_of, takable, turn_before_all
from .order import comes_by_query
from .tasks import REPEAT, WARM_UP

Kind = RatingEvent.Kind

REPEAT_AFTER = 20  # acts that lie at least between a grade and its repeat, so that the grade may be forgotten
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
    anchors = sorted(
        to_warm_up(me).values_list("grade", "pair"), key=lambda row: (row[0], keyed_random(me.pk, *row))
    )
    by_grade = [list(rows) for _, rows in groupby(anchors, key=lambda row: row[0])]
    rounds = [filter(None, rows) for rows in zip_longest(*by_grade)]
    rows = chain.from_iterable(sorted(each, key=lambda row: keyed_random(me.pk, *row)) for each in rounds)
    later = set(
        me.checks.filter(kind=WARM_UP, event__isnull=True, turn__gte=LATER_TURN).values_list("pair", flat=True)
    )
    pairs = [pair for _, pair in rows if pair not in later][: max(count - len(later), 1)]
    put_before(me, WARM_UP, {pair: FIRST_TURN + place for place, pair in enumerate(pairs)}, now)


def put_before(me: Rater, kind: str, turns: dict[int, int], now: datetime) -> None:
    """Make the rater hold checks of these pairs (pair id → turn)."""
    if not turns:
        return
    known = {check.pair_id for check in _unanswered(rater=me.pk) if check.kind == kind} & turns.keys()
    if known:
        cases = (When(pair=pair, then=turns[pair]) for pair in known)
        own = me.checks.filter(kind=kind, event__isnull=True, pair__in=known)
        own.update(turn=Case(*cases, default=F("turn")))
    for pair, turn in turns.items():
        if pair not in known:
            _insert_check(Check(rater=me, pair_id=pair, kind=kind, turn=turn, created_at=now))


# Prepared, so that a claim with gold or a repeat takes no longer than one without.
_unanswered = Prepared(lambda: Check.objects.filter(rater=RATER, event__isnull=True))
_insert_check, _insert_extra = PreparedInsert(Check), PreparedInsert(Assignment)


def mixed(me: Claimant, choice: Choice, now: datetime) -> list[Item]:
    """What `me` gets, in order: new candidates with gold pairs and repeats among them, then what they put off.

    Before each candidate a random number decides, by the shares of the collection, whether a gold pair, a repeat
    or nothing is mixed in. Nothing follows the last candidate, because its place would give it away. The result is
    cut to the quota. The random numbers are a keyed hash of the rater and the number of their acts: a reload gives
    the same tasks, and nobody can compute them from the code.

    In the orders that do not go by query, wanted gold also comes at its own turn. It is taken ahead of its turn
    only while the rater has had less gold than the share lets expect by chance (`_most`). Otherwise gold would run
    out early, and a rater who had met all of it would know that none comes any more.

    In the orders that go by query, a repeat comes only between two queries or within its own. Extra gold has a lot
    of its own and is sorted by it among the candidates of its query (`_sorted_by_lot`). In the order by rounds
    this also holds for wanted gold that was not drawn, since its own turn would come after all rounds.
    """
    gold, repeat = float(me.rater.collection.gold_share), float(me.rater.collection.repeat_share)
    new, places = choice.new, choice.quota.tasks
    if not (gold or repeat) or min(choice.quota) <= 0:
        return (new + choice.put_off)[:places]
    by_query = comes_by_query(me.rater.collection)
    chances = [keyed_random(me.rater.pk, me.acts, choice.holding.tasks + place) for place in range(places)]
    found = _gold_for(me, new, now) if gold else NO_GOLD
    golds, had = found.left, found.had
    # Read even if no repeat will come: the duration must not give it away.
    repeats = _repeats_for(me, places) if repeat else []
    if by_query:
        new, golds = _sorted_by_lot(me, choice, golds, gold), []
    elif golds:
        new, golds = _with_lost_gold(me, choice, golds)
    items: list[Item] = []
    rest, previous_query = deque(new), me.last_query
    while rest and len(items) < places:
        chance, tasks = chances[len(items)], me.acts + choice.holding.tasks + len(items) + 1
        if chance < gold:
            extras = golds if had < _most(gold * tasks) else []
        else:
            extras = repeats if chance < gold + repeat else []
        query = rest[0].query
        any_query = not by_query or previous_query not in (None, query)
        extra = next((each for each in extras if any_query or each.query == query), None)
        if extra:
            extras.remove(extra)
        items.append(extra or rest.popleft())
        previous_query = items[-1].query
        had += items[-1].pair in found.pairs
    return (items + choice.put_off)[:places]


def _most(expected: float) -> float:
    """One standard deviation (Poisson) above the expected number."""
    return expected + sqrt(expected)


class Block(NamedTuple):
    """Pairs of a query that come after each other: all of them, or in the order by rounds those of one round."""

    query: int | None
    round: int  # 0: not by rounds


def _sorted_by_lot(me: Claimant, choice: Choice, golds: list[Item], share: float) -> list[Candidate | ExtraGold]:
    """The new candidates and the gold of their blocks. Within a block both are sorted by lot from the start point.

    If the last block may have further candidates, gold after its last one is left for later. Gold of the current
    block comes even if that block has no candidates left.
    """
    start = order.start_point(me.rater.pk, me.last_pair)
    by_round = order.ORDERS[me.rater.collection.order].by_round
    by_block = groupby(choice.new, key=lambda row: Block(row.query, row.round if by_round else 0))
    blocks = {block: list(rows) for block, rows in by_block}
    gold_of = _sampled(me.rater, golds, share, by_round)
    current = _current_block(me, by_round)
    # The current block has no candidates left, so the rest of its gold comes now. If its round is later than that
    # of the first block here, it has not ended: pairs of an older round came back.
    if blocks and current not in blocks and current.round <= next(iter(blocks)).round:
        blocks = {current: [], **blocks}
    items: list[Candidate | ExtraGold] = []
    placed: set[Item] = set()
    for place, (block, rows) in enumerate(blocks.items(), 1):
        beside = set(gold_of(block)) - placed
        sorted_rows = sorted([*rows, *beside], key=lambda item: (_lot(me.rater, item) - start) % LOTS)
        if place == len(blocks) and not choice.exhausted:
            while sorted_rows and sorted_rows[-1] in beside:
                sorted_rows.pop()
        items += sorted_rows
        placed |= beside
    return items


def _comes_beside(gold: Item, block: Block) -> bool:
    """Whether gold comes among the candidates of its block. All other gold has a turn of its own.

    In the order by rounds, gold that was not drawn has no turn before all rounds are done.
    """
    waits = isinstance(gold, Candidate) and gold.round == UNDRAWN and 0 < block.round < UNDRAWN
    return gold.query == block.query and (waits or isinstance(gold, ExtraGold))


def _current_block(me: Claimant, by_round: bool) -> Block:
    """The block of the rater's last task or act: the latest of its query, since gold may be of any round."""
    if not by_round:
        return Block(me.last_query, 0)
    own = Assignment.objects.filter(rater=me.rater, query=me.last_query, extra=False)
    return Block(me.last_query, own.aggregate(latest=Max("round"))["latest"] or 0)


def _with_lost_gold(
    me: Claimant, choice: Choice, golds: list[Item]
) -> tuple[list[Candidate | ExtraGold], list[Item]]:
    """The new candidates with the gold that `me` gave back earlier; and the other gold, which is to be mixed in.

    There are few gold pairs. If they were placed by new random numbers each time, a rater who always gives
    everything back would recognize them by how often they come. So they come again by their lot, as other pairs
    do. Until the rater's next act everything stays as it was.
    """
    acted = RatingEvent.objects.filter(rater=me.rater, pk__gt=Coalesce(OuterRef("act"), 0))
    rows = LostLease.objects.filter(Exists(acted), rater=me.rater, pair__in=[gold.pair for gold in golds])
    lost = set(rows.values_list("pair", flat=True))
    start = order.start_point(me.rater.pk, me.last_pair)
    items: list[Candidate | ExtraGold] = list(choice.new)
    number = choice.new[0].round if choice.new else UNDRAWN
    for gold in golds:
        # Wanted gold of a later round was taken ahead of its turn. It comes back at once, as other pairs do, and
        # not only in its own round.
        if gold.pair in lost and (isinstance(gold, ExtraGold) or gold.round > number):
            distance = (_lot(me.rater, gold) - start) % LOTS
            later = (i for i, item in enumerate(items) if (_lot(me.rater, item) - start) % LOTS > distance)
            place = next(later, len(items) if choice.exhausted and items else None)
            if place is not None:
                items.insert(place, gold)
    return items, [gold for gold in golds if gold.pair not in lost]


def _lot(me: Rater, item: Candidate | ExtraGold) -> int:
    return item.lot if isinstance(item, Candidate) else _drawn_lot(me, item.pair)


def _drawn_lot(me: Rater, pair_id: int) -> int:
    """The lot of a gold pair without an assignment. It stays the same for a rater."""
    return int(keyed_random("lot", me.pk, pair_id) * LOTS)


def _sampled(me: Rater, golds: list[Item], share: float, by_round: bool) -> Callable[[Block], list[Item]]:
    """A function from a block to a random sample of its gold: about `share` of the block's pairs."""
    pairs = Pair.objects.filter(query__in={gold.query for gold in golds}, retired_at__isnull=True)
    is_gold = Count("pk", filter=Q(anchor__use=Anchor.Use.GOLD))
    of_block, gold_of_query = Counter(), Counter()
    for query, number, n, gold in pairs.values_list("query", "drawn__round__number").annotate(
        n=Count("pk"), g=is_gold
    ):
        of_block[Block(query, (number or UNDRAWN) if by_round else 0)] += n
        gold_of_query[query] += gold

    def drawn(gold: Item, block: Block) -> bool:
        key = ("kept", me.pk, gold.pair, *([block.round] if by_round else []))
        return keyed_random(*key) < share * of_block[block] / gold_of_query[block.query]

    return lambda block: [gold for gold in golds if _comes_beside(gold, block) and drawn(gold, block)]


def hold_extras(me: Rater, turns: dict[ExtraGold, int], now: datetime) -> None:
    """Lease extra assignments of these pairs to `me`."""
    lease = {"rater": me, "state": State.LEASED, "leased_until": now + LEASE}
    for extra, turn in turns.items():
        of = {"pair_id": extra.pair, "query_id": extra.query, "collection_id": me.collection_id}
        _insert_extra(Assignment(**of, **lease, extra=True, turn=turn))


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


class Golds(NamedTuple):
    """The gold of a collection, as a claim finds it."""

    left: list[Item]  # not yet had, and not among the new candidates, in random order
    pairs: set[int]  # all that the rater has not had
    had: int  # how many the rater has had or holds


NO_GOLD = Golds([], set(), 0)


def _gold_for(me: Claimant, new: list[Candidate], now: datetime) -> Golds:
    """The gold for a claim. A pair whose grades are wanted is a candidate, any other is extra gold."""
    chosen = {candidate.pair for candidate in new}
    rows, had = _golds(me.restricted)(rater=me.rater.pk, collection=me.rater.collection_id, now=now)
    left = [row for row in rows if row[1] not in chosen]
    left.sort(key=lambda row: keyed_random(me.rater.pk, me.acts, row[1]))
    items = [
        ExtraGold(pair, query)
        if free is None
        else Candidate(free, pair, query, holder, _drawn_lot(me.rater, pair), number)
        for free, pair, query, holder, number in left
    ]
    return Golds(items, {row[1] for row in rows}, len(had))


@cache
def _golds(restricted: bool) -> PreparedUnion:
    """The gold that a rater has not had, and the gold that they have had or hold, of which only the number
    counts.
    """
    golds = extra_golds(restricted).filter(~Exists(skips().filter(pair=OuterRef("pair"))))
    free = Assignment.objects.filter(takable(NOW), pair=OuterRef("pair")).order_by("pk")
    facts = {"free": "pk", "holder": "rater", "number": "round"}
    golds = golds.annotate(**{name: Subquery(free.values(fact)[:1]) for name, fact in facts.items()})
    had = Anchor.objects.of(COLLECTION).filter(Exists(assignment_of(OuterRef("pair"), RATER)), use=Anchor.Use.GOLD)
    return PreparedUnion(
        lambda: [
            golds.values_list("free", "pair", "pair__query", "holder", "number"),
            had.values_list("pk", "pair", "pair__query", "pk", "pk"),
        ]
    )


def _repeats_for(me: Claimant, count: int) -> list[RepeatPair]:
    """Pairs that `me` graded at least REPEAT_AFTER acts ago and has not had as a repeat, from a random act on."""
    if not count:
        return []
    before, first = _event_range(REPEAT_AFTER)(rater=me.rater.pk)
    if not before:
        return []
    ((before,),), ((first,),) = before, first
    start = first + int(keyed_random(me.rater.pk, me.acts) * (before - first))
    # In other orders two pairs of one query seldom follow each other: a repeat of the current query would stand
    # out.
    query = me.last_query if comes_by_query(me.rater.collection) else 0
    parts = _repeatable(count)(rater=me.rater.pk, before=before, start=start, current_query=query)
    rows = dict.fromkeys(chain.from_iterable(parts))
    return [RepeatPair(*row) for row in rows]


@cache
def _event_range(after: int) -> PreparedUnion:
    """The rater's event that is followed by `after` - 1 others, and their first event."""
    events = RatingEvent.objects.filter(rater=RATER).values_list("pk")
    return PreparedUnion(lambda: [events.order_by("-pk")[after - 1 : after], events.order_by("pk")[:1]])


@cache
def _repeatable(count: int) -> PreparedUnion:
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

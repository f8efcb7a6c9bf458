"""What comes between a rater's pairs: warm-ups before the first, gold pairs and repeats unseen among them."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import blake2b
from itertools import chain, groupby, zip_longest

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, When

from .. import order
from ..models import Anchor, Assignment, Check, Collection, Rater, Rating, RatingEvent
from ..prepared import Blank
from .choosing import Line, set_of
from .leases import COLLECTION, LEASE, NOW, RATER, State, row_of, takable
from .tasks import REPEAT, WARM_UP

Kind = RatingEvent.Kind

# A pair comes again after so many acts at the earliest: by then its grade is hardly remembered.
REPEAT_AFTER = 20
LAID_ASIDE = 100  # repeats that a rater gave back are looked at
# Turns of warm-ups: before everything else that a rater may hold, and among them later what they put off.
FIRST_TURN, LATER_TURN = -2_000_000, -1_000_000


@dataclass(frozen=True)
class Extra:
    """A gold pair that nobody wants any more, but for comparison."""

    pair: int
    query: int


@dataclass(frozen=True)
class Again:
    """A pair that the rater graded, to be graded once more."""

    pair: int
    query: int


Item = Line | Extra | Again


def to_warm_up(me: Rater) -> QuerySet:
    """Anchors that the rater is still to warm up on."""
    answered = Check.objects.filter(rater=me, pair=OuterRef("pair"), kind=WARM_UP, event__isnull=False)
    return Anchor.objects.of(me.collection_id).filter(~Exists(answered), use=Anchor.Use.WARM_UP)


def warm_up(me: Rater, count: int, now: datetime) -> None:
    """Put the next `count` warm-ups before `me`: in rounds with a pair of every grade, in an order of their own.

    So every grade is seen early: who sees only irrelevant documents first grades higher afterwards.
    """
    anchors = sorted(to_warm_up(me).values_list("grade", "pair"), key=lambda row: (row[0], drawn(me.pk, *row)))
    by_grade = [list(rows) for _, rows in groupby(anchors, key=lambda row: row[0])]
    rounds = [filter(None, one) for one in zip_longest(*by_grade)]
    rows = chain.from_iterable(sorted(one, key=lambda row: drawn(me.pk, *row)) for one in rounds)
    later = set(
        me.checks.filter(kind=WARM_UP, event__isnull=True, turn__gte=LATER_TURN).values_list("pair", flat=True)
    )
    pairs = [pair for _, pair in rows if pair not in later][: max(count - len(later), 1)]
    put_before(me, WARM_UP, {pair: FIRST_TURN + place for place, pair in enumerate(pairs)}, now)


def put_before(me: Rater, kind: str, turns: dict[int, int], now: datetime) -> None:
    """Make the rater hold checks of these pairs, at these turns."""
    own = me.checks.filter(kind=kind, event__isnull=True, pair__in=turns)
    known = set(own.values_list("pair", flat=True))
    if known:
        own.update(turn=Case(*(When(pair=pair, then=turns[pair]) for pair in known), default=F("turn")))
    new = [(pair, turn) for pair, turn in turns.items() if pair not in known]
    Check.objects.bulk_create(
        Check(rater=me, pair_id=pair, kind=kind, turn=turn, created_at=now) for pair, turn in new
    )


def mixed(me: Rater, fresh: list[Line], held: int, now: datetime) -> list[Item]:
    """`fresh`, with gold pairs and repeats among them, as chance decides by the collection's shares.

    As many as before: what would have come last waits, first of all what was put off. Chance is a hash of the
    rater and the number of their acts: to look again changes nothing.

    Where a query's documents come together, one of another query would tell what it is. A gold pair then stands
    only where a pair of its own query would have stood, so that each place of a query is gold as often as any
    other. A repeat, whose query is mostly done, may also stand between two queries.
    """
    gold, repeat = float(me.collection.gold_share), float(me.collection.repeat_share)
    if not (gold or repeat):
        return fresh
    chances = [drawn(me.pk, me.acts, held + place) for place in range(len(fresh))]
    golds = _gold_for(me, fresh, now) if min(chances, default=1) < gold else []
    repeats = _repeats_for(me, sum(gold <= chance < gold + repeat for chance in chances))
    by_query = me.collection.order == Collection.Order.QUERY
    items: list[Item] = []
    rest = deque(fresh)
    before = me.at_query
    for chance in chances:
        extras = golds if chance < gold else repeats if chance < gold + repeat else []
        here = rest[0].query
        anywhere = not by_query or (extras is repeats and before not in (None, here))
        extra = next((each for each in extras if anywhere or each.query == here), None)
        if extra:
            extras.remove(extra)
        items.append(extra or rest.popleft())
        before = items[-1].query
    return items


def hold_extras(me: Rater, turns: dict[Extra, int], now: datetime) -> None:
    Assignment.objects.bulk_create(
        Assignment(
            pair_id=extra.pair,
            query_id=extra.query,
            collection_id=me.collection_id,
            rater=me,
            state=State.LEASED,
            leased_until=now + LEASE,
            extra=True,
            turn=turn,
        )
        for extra, turn in turns.items()
    )


def drawn(*facts: object) -> float:
    """A number from 0 to 1 that chance drew for these facts, once and for all."""
    return int.from_bytes(blake2b("/".join(map(str, facts)).encode(), digest_size=8).digest()) / 2**64


def _gold_for(me: Rater, fresh: list[Line], now: datetime) -> list[Item]:
    """Gold pairs that `me` has not had: by an assignment that is free, or beside those that are wanted.

    In an order that chance drew, those of the queries at hand first.
    """
    taken, usual = {line.pair for line in fresh}, {line.query for line in fresh}
    (rows,) = _golds(bool(me.narrowed))(rater=me.pk, collection=me.collection_id, now=now)
    rows = [row for row in rows if row[1] not in taken]
    rows.sort(key=lambda row: (row[2] not in usual, drawn(me.pk, me.acts, row[1])))
    return [Extra(pair, query) if pk is None else Line(pk, pair, query, who) for pk, pair, query, who in rows]


@cache
def _golds(narrowed: bool) -> order.Together:
    golds = Anchor.objects.of(COLLECTION).filter(
        ~Exists(Rating.objects.filter(rater=RATER, pair=OuterRef("pair"))),
        ~Exists(row_of(OuterRef("pair"), RATER)),
        use=Anchor.Use.GOLD,
        pair__retired_at__isnull=True,
    )
    if narrowed:
        golds = golds.filter(pair__query__in=set_of(RATER))
    places = Assignment.objects.filter(takable(NOW), pair=OuterRef("pair")).order_by("pk")
    golds = golds.annotate(place=Subquery(places.values("pk")[:1]), holder=Subquery(places.values("rater")[:1]))
    return order.Together(lambda: [golds.values_list("place", "pair", "pair__query", "holder")])


def _repeats_for(me: Rater, count: int) -> list[Again]:
    """Pairs that `me` graded long enough ago and has not been asked again, from a point of their own on."""
    if not count:
        return []
    before, first = _ends(REPEAT_AFTER)(rater=me.pk)
    if not before:
        return []
    ((before,),), ((first,),) = before, first
    point = first + int(drawn(me.pk, me.acts) * (before - first))
    found = _graded(count)(rater=me.pk, before=before, point=point, at=me.at_query)
    rows = dict.fromkeys(chain.from_iterable(found))
    return [Again(*row) for row in rows]


@cache
def _ends(after: int) -> order.Together:
    """The act after which nothing is asked again yet, and the first of all."""
    acts = RatingEvent.objects.filter(rater=RATER).values_list("pk")
    return order.Together(lambda: [acts.order_by("-pk")[after - 1 : after], acts.order_by("pk")[:1]])


@cache
def _graded(count: int) -> order.Together:
    """Repeats that were laid aside; then what was graded long ago: of the query at hand, and of any.

    Neither where the rater did something with the pair lately: what they put off would be back at once.
    """
    before, point = Blank("before", RatingEvent, "id"), Blank("point", RatingEvent, "id")
    since = RatingEvent.objects.filter(rater=RATER, pair=OuterRef("pair"), pk__gt=OuterRef("pk"))
    graded = RatingEvent.objects.filter(
        Exists(Rating.objects.filter(rater=RATER, pair=OuterRef("pair"), grade__isnull=False)),
        ~Exists(Check.objects.filter(rater=RATER, pair=OuterRef("pair"), kind=REPEAT)),
        ~Exists(since),
        rater=RATER,
        kind=Kind.GRADE,
        undone_by__isnull=True,
        pair__retired_at__isnull=True,
        pk__lt=before,
    )
    lately = RatingEvent.objects.filter(rater=RATER, pair=OuterRef("pair"), pk__gte=before)
    aside = Check.objects.filter(
        ~Exists(lately),
        rater=RATER,
        kind=REPEAT,
        event__isnull=True,
        turn__isnull=True,
        pair__retired_at__isnull=True,
    )
    at_hand = graded.filter(pair__query=Blank("at", Assignment, "query"))
    parts = [near.filter(way) for near in (at_hand, graded) for way in (Q(pk__gte=point), Q(pk__lt=point))]

    def found() -> list[QuerySet]:
        # Of what was laid aside, which is little, the first may be of another query than what is at hand.
        first, *others = (part.order_by("pk").values_list("pair", "pair__query") for part in (aside, *parts))
        return [first[:LAID_ASIDE], *(other[:count] for other in others)]

    return order.Together(found)

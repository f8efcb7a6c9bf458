"""Pooling: choose the union of the systems' top documents to be rated."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from ..desk import queue
from ..formats.values import natural
from ..models import (
    Adjudication,
    Anchor,
    Assignment,
    Collection,
    Document,
    Pair,
    Query,
    Ranking,
    Rating,
    System,
)
from ..people.audit import Act, note

MOST_RATINGS = 100  # of a pair


@dataclass(frozen=True)
class Pooled:
    """The result of pooling, with the contribution of each system."""

    pairs: int
    new_assignments: int
    by_system: dict[str, int]  # pairs in the system's top
    only_by_system: dict[str, int]  # pairs in the top of this system alone


@transaction.atomic
def pool(collection: Collection, *, depth: int, wanted: int, systems: Sequence[System] | None = None) -> Pooled:
    """The result of wanting `wanted` ratings of every document in the first `depth` places of a system.

    Reads each ranking once. The same pool again adds nothing. A deeper pool, or one with a new system, adds what
    is missing. Raises ValueError if `depth` or `wanted` is below 1, or `wanted` above MOST_RATINGS.
    """
    chosen = list(systems if systems is not None else collection.systems.all())
    tops = _tops(chosen, depth, wanted)
    pairs = queue.pairs_for(list(tops.by))
    added = queue.want(sorted(pairs.values()), wanted, depths={pairs[key]: tops.best[key] for key in pairs})
    collection.touch()
    names = [system.name for system in chosen]
    note(Act.POOL, collection, depth=depth, wanted=wanted, systems=names, pairs=len(pairs), added=added)
    return Pooled(len(pairs), added, tops.by_system(chosen), tops.only_by_system(chosen))


@dataclass(frozen=True)
class Plan:
    """What a pool would add."""

    pairs: int
    new_pairs: int  # those of which no rating was wanted before
    retired: int  # those that are retired, which stay out
    new_ratings: int  # as `Pooled.new_assignments`, unless somebody rates or pools meanwhile
    by_system: dict[str, int]
    only_by_system: dict[str, int]


def plan(collection: Collection, *, depth: int, wanted: int, systems: Sequence[System] | None = None) -> Plan:
    """What `pool` would add with the same arguments. Three queries besides those for the systems."""
    chosen = list(systems if systems is not None else collection.systems.all())
    tops = _tops(chosen, depth, wanted)
    states, unknown = _pair_states(collection), _PairState(wanted=0, retired=False)
    pairs = [states.get(key, unknown) for key in tops.by]
    return Plan(
        pairs=len(pairs),
        new_pairs=sum(not pair.retired and not pair.wanted for pair in pairs),
        retired=sum(pair.retired for pair in pairs),
        new_ratings=sum(pair.lacks(wanted) for pair in pairs),
        by_system=tops.by_system(chosen),
        only_by_system=tops.only_by_system(chosen),
    )


def plan_more(collection: Collection, wanted: int) -> Plan:
    """What `want_more` would add."""
    pairs = [pair for pair in _pair_states(collection).values() if pair.wanted and not pair.retired]
    return Plan(len(pairs), 0, 0, sum(pair.lacks(wanted) for pair in pairs), {}, {})


@transaction.atomic
def want_more(collection: Collection, wanted: int) -> int:
    """How many open assignments were made by wanting `wanted` ratings of every pair of the pool."""
    pairs = Pair.objects.filter(query__collection=collection, wanted__gt=0, retired_at__isnull=True)
    added = queue.want(list(pairs.order_by("pk").values_list("pk", flat=True)), wanted)
    collection.touch()
    note(Act.POOL, collection, wanted=wanted, added=added)
    return added


@dataclass(frozen=True)
class Withdrawal:
    """What `want_fewer` would withdraw."""

    pairs: int  # those that want more, without retired ones
    ratings: int  # open assignments, and those whose lease ran out
    held: int  # of those that raters hold, how many are beyond the number: they stay with their raters


def plan_fewer(collection: Collection, wanted: int, *, now: datetime | None = None) -> Withdrawal:
    """What `want_fewer` would withdraw, unless somebody rates meanwhile. Two queries."""
    now = now or timezone.now()
    pairs = Pair.objects.filter(query__collection=collection, wanted__gt=wanted, retired_at__isnull=True)
    assigned = Assignment.objects.filter(collection=collection, pair__wanted__gt=wanted, extra=False).order_by()
    of_pairs = assigned.values("pair").annotate(
        n=Count("pk"),
        done=Count("pk", filter=Q(state=Assignment.State.DONE)),
        running=Count("pk", filter=Q(leased_until__gte=now)),
    )
    ratings = held = 0
    for n, done, running in of_pairs.values_list("n", "done", "running"):
        room = max(0, wanted - done)
        ratings += max(0, n - done - running - max(0, room - running))
        held += max(0, running - room)
    return Withdrawal(pairs.count(), ratings, held)


@transaction.atomic
def want_fewer(collection: Collection, wanted: int) -> int:
    """How many free assignments were withdrawn by wanting at most `wanted` ratings of every pair."""
    pairs = Pair.objects.filter(query__collection=collection, wanted__gt=wanted).order_by("pk")
    if not (ids := list(pairs.values_list("pk", flat=True))):
        return 0
    withdrawn = queue.want_fewer(ids, wanted)
    collection.touch()
    note(Act.POOL_FEWER, collection, wanted=wanted, pairs=len(ids), withdrawn=withdrawn)
    return withdrawn


@dataclass(frozen=True)
class Hole:
    """An unjudged document in the first places of a ranking."""

    place: int  # from 1
    document: Document  # with key and title
    wanted: bool  # whether ratings of it are wanted already
    retired: bool


@dataclass(frozen=True)
class QueryHoles:
    query: Query
    returned: int  # documents in the first `depth` places
    holes: list[Hole]  # at least one, best place first

    @property
    def wanted(self) -> int:
        return sum(hole.wanted for hole in self.holes)

    @property
    def new(self) -> int:
        """The number of holes that `want_holes` would add to the pool."""
        return sum(not hole.wanted and not hole.retired for hole in self.holes)


def holes(collection: Collection, system: System, depth: int) -> list[QueryHoles]:
    """The holes in the first `depth` places of a system, by query; queries without a hole are left out.

    A document is unjudged if it has neither an adjudication nor a grade. Raises ValueError for a depth below 1.
    """
    tops = _tops([system], depth, 1)
    known = set(judged(collection))
    unjudged = sorted((key[0], place, key) for key, place in tops.best.items() if key not in known)
    retired, wanted = set(), set()
    pairs = Pair.objects.filter(query__collection=collection)
    for *pair, ratings, retired_at in pairs.values_list("query", "document", "wanted", "retired_at"):
        if retired_at is not None:
            retired.add(tuple(pair))
        elif ratings > 0:
            wanted.add(tuple(pair))
    returned = Counter(query_id for query_id, _ in tops.by)
    queries = {query.pk: query for query in collection.queries.all()}
    documents = _documents({document_id for *_, (_, document_id) in unjudged})
    by_query: dict[int, QueryHoles] = {}
    for query_id, place, key in unjudged:
        row = by_query.setdefault(query_id, QueryHoles(queries[query_id], returned[query_id], []))
        row.holes.append(Hole(place, documents[key[1]], wanted=key in wanted, retired=key in retired))
    return sorted(by_query.values(), key=lambda row: natural(row.query.key))


@transaction.atomic
def want_holes(collection: Collection, system: System, depth: int, wanted: int) -> int:
    """How many open assignments were made by wanting `wanted` ratings of each hole that is not retired."""
    places = {
        (of.query.pk, hole.document.pk): hole.place
        for of in holes(collection, system, depth)
        for hole in of.holes
        if not hole.retired
    }
    pairs = queue.pairs_for(list(places))
    added = queue.want(sorted(pairs.values()), wanted, depths={pairs[key]: place for key, place in places.items()})
    collection.touch()
    note(Act.POOL, collection, about=f"holes of {system.name}", depth=depth, wanted=wanted, added=added)
    return added


def judged(collection: Collection) -> Iterator[tuple[int, int]]:
    """(query id, document id) of every pair that has a judgment."""
    graded = Rating.objects.filter(grade__isnull=False, rater__collection=collection)
    yield from graded.values_list("query", "document").distinct()
    decided = Adjudication.objects.filter(pair__query__collection=collection)
    yield from decided.values_list("pair__query", "pair__document")


def _documents(ids: set[int]) -> dict[int, Document]:
    """Id → document, with key and title loaded. They are read in portions, since SQLite limits parameters."""
    by_id, ordered = {}, sorted(ids)
    for start in range(0, len(ordered), 10_000):
        by_id |= Document.objects.only("key", "title", "collection").in_bulk(ordered[start : start + 10_000])
    return by_id


@transaction.atomic
def retire(collection: Collection, pair_ids: Sequence[int]) -> int:
    """How many pairs were taken out of the pool. Pairs that were retired before do not count."""
    retired = queue.retire(pair_ids)
    if retired:
        note(Act.RETIRED, collection, pairs=retired)
    return retired


@transaction.atomic
def bring_back(collection: Collection, pair_ids: Sequence[int]) -> int:
    """How many retired pairs were brought back. Warm-ups stay retired, as raters have learned their grades."""
    pairs = Pair.objects.filter(pk__in=pair_ids).exclude(anchor__use=Anchor.Use.WARM_UP)
    back = queue.unretire(list(pairs.order_by("pk").values_list("pk", flat=True)))
    if back:
        note(Act.BROUGHT_BACK, collection, pairs=back)
    return back


@dataclass(frozen=True)
class _Tops:
    """For each (query id, document id): the systems with the document in their top, and its best place."""

    by: dict[tuple[int, int], set[int]]
    best: dict[tuple[int, int], int]

    def by_system(self, systems: Sequence[System]) -> dict[str, int]:
        return {s.name: sum(s.pk in by for by in self.by.values()) for s in systems}

    def only_by_system(self, systems: Sequence[System]) -> dict[str, int]:
        return {s.name: sum(by == {s.pk} for by in self.by.values()) for s in systems}


def _tops(systems: Sequence[System], depth: int, wanted: int) -> _Tops:
    if depth < 1 or wanted < 1:
        raise ValueError(f"A pool needs a depth and a number of ratings of at least 1, not {depth} and {wanted}.")
    if wanted > MOST_RATINGS:
        raise ValueError(f"A pair gets at most {MOST_RATINGS} ratings, not {wanted}.")
    rankings = Ranking.objects.filter(system__in=systems).values_list("system_id", "query_id", "documents")
    tops = _Tops({}, {})
    for system_id, query_id, documents in rankings.iterator():
        for place, document_id in enumerate(documents[:depth].tolist(), 1):
            key = query_id, document_id
            tops.by.setdefault(key, set()).add(system_id)
            tops.best[key] = min(place, tops.best.get(key, place))
    return tops


@dataclass
class _PairState:
    """How many ratings a pair has or wants."""

    wanted: int
    retired: bool
    ratings: int = 0  # assignments, and surplus grades, which will fill new assignments

    def lacks(self, wanted: int) -> int:
        return 0 if self.retired else max(0, wanted - self.ratings)


def _pair_states(collection: Collection) -> dict[tuple[int, int], _PairState]:
    """(query id, document id) → its state, for all pairs of the collection. Three queries."""
    pairs = Pair.objects.filter(query__collection=collection)
    states, by_id = {}, {}
    rows = pairs.values_list("pk", "query", "document", "wanted", "retired_at")
    for pk, query_id, document_id, wanted, retired in rows:
        states[query_id, document_id] = by_id[pk] = _PairState(wanted, retired is not None)
    assigned = Assignment.objects.filter(collection=collection, extra=False)
    own = Assignment.objects.filter(pair=OuterRef("pair"), rater=OuterRef("rater"))
    surplus = Rating.objects.filter(~Exists(own), pair__query__collection=collection, grade__isnull=False)
    for ratings in (assigned, surplus):
        counts = ratings.order_by().values("pair").annotate(n=Count("pk"))
        for pair_id, n in counts.values_list("pair", "n"):
            by_id[pair_id].ratings += n
    return states

"""Pooling: choose the union of the systems' top documents to be rated.

A pair is a query and a document. Each rating that a pair wants is an assignment: open, leased to a rater, or done.
No rater gets a retired pair any more, and its ratings stay.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from ..desk import queue
from ..models import Adjudication, Anchor, Assignment, Collection, Document, Pair, Query, Ranking, Rating, System
from ..people.audit import Act, note
from ..words import natural

MOST_RATINGS_OF_PAIR = 100


@dataclass(frozen=True)
class Plan:
    """What a pool adds, or would add."""

    pairs: int
    new_ratings: int  # newly wanted; of a plan: unless somebody rates or pools meanwhile
    by_system: Sequence[tuple[str, int, int]] = ()  # (name, pairs in its top, those of them in no other top)
    new_pairs: int = 0  # of a plan: those of which no rating was wanted before
    retired: int = 0  # of a plan: those that are retired, which stay out


@transaction.atomic
def pool(collection: Collection, *, depth: int, wanted: int, systems: Sequence[System] | None = None) -> Plan:
    """Want `wanted` ratings of every document in the first `depth` places of a system, and return what that added.

    `systems`: None for all of the collection. Reads each ranking once. The same pool again adds nothing. A deeper
    pool, or one with a new system, adds what is missing. Raises ValueError if `depth` or `wanted` is below 1, or
    `wanted` above MOST_RATINGS_OF_PAIR.
    """
    if depth < 1 or wanted < 1:
        raise ValueError(f"A pool needs a depth and a number of ratings of at least 1, not {depth} and {wanted}.")
    if wanted > MOST_RATINGS_OF_PAIR:
        raise ValueError(f"A pair gets at most {MOST_RATINGS_OF_PAIR} ratings, not {wanted}.")
    chosen = list(systems if systems is not None else collection.systems.all())
    tops = _tops(chosen, depth)
    id_by_key = queue.pairs_for(list(tops.systems_by_pair))  # key: (query id, document id)
    best_places = {pair_id: tops.best_place[key] for key, pair_id in id_by_key.items()}
    added = queue.want(sorted(best_places), wanted, depths=best_places)
    collection.touch()
    names = [system.name for system in chosen]
    note(Act.POOL, collection, depth=depth, wanted=wanted, systems=names, pairs=len(id_by_key), added=added)
    return Plan(len(id_by_key), added, tops.by_system(chosen))


def plan(collection: Collection, *, depth: int, wanted: int, systems: Sequence[System]) -> Plan:
    """What `pool` would add with the same arguments. Four queries."""
    tops = _tops(systems, depth)
    states = _pair_states(collection)
    pairs = [states.get(key, NO_PAIR) for key in tops.systems_by_pair]  # NO_PAIR: it is not stored yet
    # A pair that wants 0 ratings now is not in the pool yet. A retired pair lacks none, whatever is wanted.
    return Plan(
        pairs=len(pairs),
        new_ratings=sum(pair.lacks(wanted) for pair in pairs),
        by_system=tops.by_system(systems),
        new_pairs=sum(not pair.retired and not pair.wanted for pair in pairs),
        retired=sum(pair.retired for pair in pairs),
    )


def plan_more(collection: Collection, wanted: int) -> Plan:
    """What `want_more` would add."""
    in_pool = [pair for pair in _pair_states(collection).values() if pair.wanted and not pair.retired]
    return Plan(len(in_pool), new_ratings=sum(pair.lacks(wanted) for pair in in_pool))


@transaction.atomic
def want_more(collection: Collection, wanted: int) -> int:
    """How many open assignments were made by wanting `wanted` ratings of every pair of the pool."""
    pairs = Pair.objects.filter(query__collection=collection, wanted__gt=0, retired_at__isnull=True)
    added = queue.want(list(pairs.order_by("pk").values_list("pk", flat=True)), wanted)
    collection.touch()
    note(Act.POOL, collection, wanted=wanted, added=added)
    return added


def plan_fewer(collection: Collection, wanted: int, *, now: datetime | None = None) -> dict[str, int]:
    """What `want_fewer` would withdraw, unless somebody rates meanwhile. Two queries.

    {"pairs": how many pairs want more now, without retired ones, "ratings": how many free assignments would be
    withdrawn, "held": how many assignments beyond the number stay, because raters hold them}. An assignment is
    free if nobody took it or its lease ran out.
    """
    now = now or timezone.now()
    pairs = Pair.objects.filter(query__collection=collection, wanted__gt=wanted, retired_at__isnull=True)
    # Those of retired pairs, too, which `want_fewer` also lowers. It leaves extra assignments as they are.
    assignments = Assignment.objects.filter(collection=collection, pair__wanted__gt=wanted, extra=False).order_by()
    counts_by_pair = assignments.values("pair").annotate(
        total=Count("pk"),
        done=Count("pk", filter=Q(state=Assignment.State.DONE)),
        held=Count("pk", filter=Q(leased_until__gte=now)),
    )
    withdrawn = held_beyond = 0
    for total, done, held in counts_by_pair.values_list("total", "done", "held"):
        missing = max(0, wanted - done)
        held_beyond += max(0, held - missing)
        free = total - done - held  # none is subtracted twice, since a done assignment has no lease
        # What raters hold fills the missing ratings first, and free assignments stay only for the rest.
        free_that_stay = max(0, missing - held)
        withdrawn += max(0, free - free_that_stay)
    return {"pairs": pairs.count(), "ratings": withdrawn, "held": held_beyond}


@transaction.atomic
def want_fewer(collection: Collection, wanted: int) -> int:
    """How many free assignments were withdrawn by wanting at most `wanted` ratings of every pair."""
    pairs = Pair.objects.filter(query__collection=collection, wanted__gt=wanted).order_by("pk")
    ids = list(pairs.values_list("pk", flat=True))
    if not ids:
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
    returned: int  # how many documents the system has in the first `depth` places
    holes: list[Hole]  # at least one, best place first

    @property
    def wanted(self) -> int:
        return sum(hole.wanted for hole in self.holes)

    @property
    def retired(self) -> int:
        return sum(hole.retired for hole in self.holes)

    @property
    def new(self) -> int:
        """The number of holes that `want_holes` would add to the pool."""
        return len(self.holes) - self.wanted - self.retired


def holes(collection: Collection, system: System, depth: int) -> list[QueryHoles]:
    """The unjudged documents in the first `depth` places of a system, by query; queries without any are left out.

    A document is unjudged if it has neither an adjudication nor a grade. Keys are (query id, document id).
    """
    place_by_key = _tops([system], depth).best_place
    judged_keys = set(judged(collection))
    unjudged_keys = [key for key in place_by_key if key not in judged_keys]
    retired_keys, wanted_keys = set(), set()
    pairs = Pair.objects.filter(query__collection=collection)
    columns = ("query", "document", "wanted", "retired_at")
    for query_id, document_id, wanted, retired_at in pairs.values_list(*columns):
        if retired_at:
            retired_keys.add((query_id, document_id))
        elif wanted:
            wanted_keys.add((query_id, document_id))
    number_returned = Counter(query_id for query_id, _ in place_by_key)
    queries = collection.queries.in_bulk()
    documents = Document.objects.only("key", "title", "collection").in_bulk({pk for _, pk in unjudged_keys})
    holes_of_query = defaultdict[int, list[Hole]](list)
    for key in sorted(unjudged_keys, key=place_by_key.__getitem__):  # the best place first
        query_id, document_id = key
        hole = Hole(place_by_key[key], documents[document_id], key in wanted_keys, key in retired_keys)
        holes_of_query[query_id].append(hole)
    rows = [QueryHoles(queries[pk], number_returned[pk], found) for pk, found in holes_of_query.items()]
    return sorted(rows, key=lambda row: natural(row.query.key))


def holes_by_system(collection: Collection, systems: Sequence[System], depth: int) -> list[tuple[System, int]]:
    """(system, how many of its first `depth` places are unjudged), the most first. Reads all their rankings."""
    judged_keys = set(judged(collection))
    systems_by_pair = _tops(systems, depth).systems_by_pair
    unjudged = (system_ids for key, system_ids in systems_by_pair.items() if key not in judged_keys)
    holes_of_system = Counter(chain.from_iterable(unjudged))  # system id → number
    rows = [(system, holes_of_system[system.pk]) for system in systems]
    return sorted(rows, key=lambda row: -row[1])


@transaction.atomic
def want_holes(collection: Collection, system: System, depth: int, wanted: int) -> int:
    """How many open assignments were made by wanting `wanted` ratings of each hole that is not retired."""
    rows = holes(collection, system, depth)
    places = {(row.query.pk, hole.document.pk): hole.place for row in rows for hole in row.holes}
    return want_places(collection, places, wanted, about=f"holes of {system.name}", depth=depth)


@transaction.atomic
def want_places(collection: Collection, places: Mapping[tuple[int, int], int], wanted: int, **facts: Any) -> int:
    """Want `wanted` ratings of these pairs, and return how many open assignments that made.

    `places`: (query id, document id) → place in a ranking. Retired pairs are left as they are. `facts`: for the
    audit.
    """
    retired = Pair.objects.filter(query__collection=collection, retired_at__isnull=False)
    keys = places.keys() - set(retired.values_list("query", "document"))
    id_by_key = queue.pairs_for(sorted(keys))
    place_by_id = {pair_id: places[key] for key, pair_id in id_by_key.items()}
    added = queue.want(sorted(place_by_id), wanted, depths=place_by_id)
    collection.touch()
    note(Act.POOL, collection, wanted=wanted, added=added, **facts)
    return added


def judged(collection: Collection) -> Iterator[tuple[int, int]]:
    """(query id, document id) of every pair that has a judgment."""
    graded = Rating.objects.counted().filter(grade__isnull=False, rater__collection=collection)
    yield from graded.values_list("query", "document").distinct()
    decided = Adjudication.objects.filter(pair__query__collection=collection)
    yield from decided.values_list("pair__query", "pair__document")


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

    systems_by_pair: dict[tuple[int, int], set[int]]
    best_place: dict[tuple[int, int], int]

    def by_system(self, systems: Sequence[System]) -> list[tuple[str, int, int]]:
        """As `Plan.by_system`."""
        system_sets = self.systems_by_pair.values()
        in_top = Counter(chain.from_iterable(system_sets))
        in_top_alone = Counter(chain.from_iterable(ids for ids in system_sets if len(ids) == 1))
        return [(system.name, in_top[system.pk], in_top_alone[system.pk]) for system in systems]


def _tops(systems: Sequence[System], depth: int) -> _Tops:
    """The first `depth` documents of the rankings of these systems. One query."""
    rankings = Ranking.objects.filter(system__in=systems).values_list("system_id", "query_id", "documents")
    tops = _Tops(systems_by_pair={}, best_place={})
    for system_id, query_id, documents in rankings.iterator():
        for place, document_id in enumerate(documents[:depth].tolist(), 1):
            key = query_id, document_id
            tops.systems_by_pair.setdefault(key, set()).add(system_id)
            tops.best_place[key] = min(place, tops.best_place.get(key, place))
    return tops


@dataclass
class _PairState:
    """How many ratings a pair has and wants."""

    wanted: int  # 0: it is not in the pool
    retired: bool
    covered: int = 0  # ratings that are assigned (open, leased or done), or given without an assignment

    def lacks(self, wanted: int) -> int:
        """How many ratings are missing if `wanted` are to be given; none of a retired pair."""
        return 0 if self.retired else max(0, wanted - self.covered)


NO_PAIR = _PairState(wanted=0, retired=False)


def _pair_states(collection: Collection) -> dict[tuple[int, int], _PairState]:
    """(query id, document id) → its state, for all pairs of the collection. Three queries."""
    states = {}
    state_by_id = {}  # pair id → the same object as in `states`
    pairs = Pair.objects.filter(query__collection=collection)
    columns = ("pk", "query", "document", "wanted", "retired_at")
    for pk, query_id, document_id, wanted, retired_at in pairs.values_list(*columns):
        states[query_id, document_id] = state_by_id[pk] = _PairState(wanted, retired=retired_at is not None)
    # Each is a rating that is wanted, whether it is given already or not. An extra one would be for one rater,
    # beyond those that are wanted.
    assignments = Assignment.objects.filter(collection=collection, extra=False)
    # A grade without an assignment, such as an imported one, counts as well: it fills a new one of the pair.
    own_assignment = Assignment.objects.filter(pair=OuterRef("pair"), rater=OuterRef("rater"))
    grades = Rating.objects.counted().filter(pair__query__collection=collection, grade__isnull=False)
    unassigned_grades = grades.filter(~Exists(own_assignment))
    for rows in (assignments, unassigned_grades):
        for pair_id, n in rows.order_by().values_list("pair").annotate(n=Count("pk")):
            state_by_id[pair_id].covered += n
    return states

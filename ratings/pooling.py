"""Which pairs want ratings: the union of what the systems returned at the top."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Exists, OuterRef

from . import queue
from .formats.values import natural
from .models import (
    Adjudication,
    Anchor,
    Assignment,
    Collection,
    Document,
    Pair,
    Query,
    Ranking,
    Rater,
    Rating,
    System,
)


@dataclass(frozen=True)
class Pooled:
    """What a pool holds, and what each system put into it."""

    pairs: int
    new_assignments: int
    by_system: dict[str, int]  # pairs in this system's top
    only_by_system: dict[str, int]  # of those, pairs that no other system has in its top


@transaction.atomic
def pool(collection: Collection, *, depth: int, wanted: int, systems: Sequence[System] | None = None) -> Pooled:
    """Ask for `wanted` ratings of every document that some system ranks in its first `depth` places.

    Reads each ranking once. The same pool again adds nothing; a deeper one, or one with a new system, adds what
    is missing. Raises ValueError for a depth or a number wanted below 1.
    """
    chosen = list(systems if systems is not None else collection.systems.all())
    tops = _tops(chosen, depth, wanted)
    pairs = queue.pairs_for(list(tops.by))
    added = queue.want(sorted(pairs.values()), wanted, depths={pairs[key]: tops.best[key] for key in pairs})
    collection.touch()
    return Pooled(
        pairs=len(pairs),
        new_assignments=added,
        by_system=tops.by_system(chosen),
        only_by_system=tops.only_by_system(chosen),
    )


@dataclass(frozen=True)
class Plan:
    """What a pool would do. Nothing is written by making one."""

    pairs: int
    new_pairs: int  # of them, pairs that nobody was asked to rate before
    retired: int  # of them, pairs that stay out because they are retired
    new_ratings: int  # what `Pooled.new_assignments` will be, unless somebody rates or pools meanwhile
    by_system: dict[str, int]
    only_by_system: dict[str, int]


def plan(collection: Collection, *, depth: int, wanted: int, systems: Sequence[System] | None = None) -> Plan:
    """What `pool` would do with the same arguments. Three queries beside those for the systems."""
    chosen = list(systems if systems is not None else collection.systems.all())
    tops = _tops(chosen, depth, wanted)
    standing = _standing(collection)
    known = {key: standing[key] for key in tops.by if key in standing}
    fresh = len(tops.by) - len(known)
    return Plan(
        pairs=len(tops.by),
        new_pairs=fresh + sum(not pair.retired and not pair.wanted for pair in known.values()),
        retired=sum(pair.retired for pair in known.values()),
        new_ratings=fresh * wanted + sum(pair.lacks(wanted) for pair in known.values()),
        by_system=tops.by_system(chosen),
        only_by_system=tops.only_by_system(chosen),
    )


def plan_more(collection: Collection, wanted: int) -> Plan:
    """What it would be to want so many ratings of every pair that is wanted already: see `want_more`."""
    pairs = [pair for pair in _standing(collection).values() if pair.wanted and not pair.retired]
    return Plan(len(pairs), 0, 0, sum(pair.lacks(wanted) for pair in pairs), {}, {})


@transaction.atomic
def want_more(collection: Collection, wanted: int) -> int:
    """Ask for `wanted` ratings of every pair that is wanted already, and say how many are new."""
    pairs = Pair.objects.filter(query__collection=collection, wanted__gt=0, retired_at__isnull=True)
    added = queue.want(list(pairs.order_by("pk").values_list("pk", flat=True)), wanted)
    collection.touch()
    return added


@dataclass(frozen=True)
class Hole:
    """A document that a system ranks among its first and nobody has judged for the query."""

    place: int  # from 1
    document: Document  # with key and title
    wanted: bool  # whether ratings of it are asked for already
    retired: bool


@dataclass(frozen=True)
class QueryHoles:
    query: Query
    returned: int  # documents among the first
    holes: list[Hole]  # at least one, best place first

    @property
    def new(self) -> int:
        """How many of them `want_holes` would ask for."""
        return sum(not hole.wanted and not hole.retired for hole in self.holes)


def holes(collection: Collection, system: System, depth: int) -> list[QueryHoles]:
    """What is unjudged among the first `depth` of a system, query by query: no grade and no adjudication.

    "Cannot judge" is no judgment, and no evaluation takes that of a machine. Queries without a hole are left out.
    Raises ValueError for a depth below 1.
    """
    tops = _tops([system], depth, 1)
    judged = set(_judged(collection))
    unjudged = sorted((query, place, d) for (query, d), place in tops.best.items() if (query, d) not in judged)
    pairs = Pair.objects.filter(query__collection=collection)
    asked = {
        (query, d): (wanted > 0 and at is None, at is not None)
        for query, d, wanted, at in pairs.values_list("query", "document", "wanted", "retired_at")
    }
    returned = Counter(query for query, _ in tops.by)
    queries = {query.pk: query for query in collection.queries.all()}
    documents = _documents({d for *_, d in unjudged})
    found: dict[int, QueryHoles] = {}
    for query, place, d in unjudged:
        of = found.setdefault(query, QueryHoles(queries[query], returned[query], []))
        of.holes.append(Hole(place, documents[d], *asked.get((query, d), (False, False))))
    return sorted(found.values(), key=lambda of: natural(of.query.key))


@transaction.atomic
def want_holes(collection: Collection, system: System, depth: int, wanted: int) -> int:
    """Ask for `wanted` ratings of each hole that is not retired, and say how many are newly to give."""
    places = {
        (of.query.pk, hole.document.pk): hole.place
        for of in holes(collection, system, depth)
        for hole in of.holes
        if not hole.retired
    }
    pairs = queue.pairs_for(list(places))
    added = queue.want(sorted(pairs.values()), wanted, depths={pairs[key]: place for key, place in places.items()})
    collection.touch()
    return added


def _judged(collection: Collection) -> Iterator[tuple[int, int]]:
    """(query id, document id) of every pair that has a judgment."""
    graded = Rating.objects.filter(grade__isnull=False, rater__collection=collection)
    yield from graded.exclude(rater__kind=Rater.Kind.MACHINE).values_list("query", "document").distinct()
    decided = Adjudication.objects.filter(pair__query__collection=collection)
    yield from decided.values_list("pair__query", "pair__document")


def _documents(ids: set[int]) -> dict[int, Document]:
    """Documents with key and title alone, by id; in portions, because SQLite takes so many parameters at most."""
    found, ordered = {}, sorted(ids)
    for start in range(0, len(ordered), 10_000):
        found |= Document.objects.only("key", "title", "collection").in_bulk(ordered[start : start + 10_000])
    return found


def bring_back(pair_ids: Sequence[int]) -> int:
    """Bring back what is retired, but for warm-ups: whoever learned the answer must not rate them. How many."""
    rated = Pair.objects.filter(pk__in=pair_ids).exclude(anchor__use=Anchor.Use.WARM_UP)
    return queue.unretire(list(rated.order_by("pk").values_list("pk", flat=True)))


@dataclass(frozen=True)
class _Tops:
    """Which systems have a document among their first for a query, and the best place that one gives it."""

    by: dict[tuple[int, int], set[int]]
    best: dict[tuple[int, int], int]

    def by_system(self, systems: Sequence[System]) -> dict[str, int]:
        return {s.name: sum(s.pk in by for by in self.by.values()) for s in systems}

    def only_by_system(self, systems: Sequence[System]) -> dict[str, int]:
        return {s.name: sum(by == {s.pk} for by in self.by.values()) for s in systems}


def _tops(systems: Sequence[System], depth: int, wanted: int) -> _Tops:
    if depth < 1 or wanted < 1:
        raise ValueError(f"A pool needs a depth and a number of ratings of at least 1, not {depth} and {wanted}.")
    rankings = Ranking.objects.filter(system__in=systems).values_list("system_id", "query_id", "documents")
    tops = _Tops({}, {})
    for system_id, query_id, documents in rankings.iterator():
        for place, document_id in enumerate(documents[:depth].tolist(), 1):
            key = query_id, document_id
            tops.by.setdefault(key, set()).add(system_id)
            tops.best[key] = min(place, tops.best.get(key, place))
    return tops


@dataclass
class _Standing:
    """What is asked of a pair already."""

    wanted: int
    retired: bool
    asked: int = 0  # assignments, and grades that fill none yet

    def lacks(self, wanted: int) -> int:
        return 0 if self.retired else max(0, wanted - self.asked)


def _standing(collection: Collection) -> dict[tuple[int, int], _Standing]:
    """Every pair of the collection, by ids of its query and document. Three queries, each over one table."""
    pairs = Pair.objects.filter(query__collection=collection)
    standing, by_id = {}, {}
    for pk, query_id, document_id, wanted, retired in pairs.values_list(
        "pk", "query", "document", "wanted", "retired_at"
    ):
        standing[query_id, document_id] = by_id[pk] = _Standing(wanted, retired is not None)
    asked = Assignment.objects.filter(collection=collection, extra=False).order_by()
    own = Assignment.objects.filter(pair=OuterRef("pair"), rater=OuterRef("rater"))
    # A grade that fills no assignment yet, as an imported one, will fill one that is newly wanted.
    given = Rating.objects.filter(~Exists(own), pair__query__collection=collection, grade__isnull=False).order_by()
    for rows in (asked, given):
        for pair_id, n in rows.values("pair").annotate(n=Count("pk")).values_list("pair", "n"):
            by_id[pair_id].asked += n
    return standing

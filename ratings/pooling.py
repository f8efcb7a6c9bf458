"""Which pairs want ratings: the union of what the systems returned at the top."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from . import queue
from .models import Collection, Ranking, System


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
    if depth < 1 or wanted < 1:
        raise ValueError(f"A pool needs a depth and a number of ratings of at least 1, not {depth} and {wanted}.")
    chosen = list(systems if systems is not None else collection.systems.all())
    rankings = Ranking.objects.filter(system__in=chosen).values_list("system_id", "query_id", "documents")
    found: dict[tuple[int, int], set[int]] = {}
    best: dict[tuple[int, int], int] = {}
    for system_id, query_id, documents in rankings.iterator():
        for place, document_id in enumerate(documents[:depth].tolist(), 1):
            key = query_id, document_id
            found.setdefault(key, set()).add(system_id)
            best[key] = min(place, best.get(key, place))
    pairs = queue.pairs_for(list(found))
    added = queue.want(sorted(pairs.values()), wanted, depths={pairs[key]: best[key] for key in found})
    collection.touch()
    return Pooled(
        pairs=len(pairs),
        new_assignments=added,
        by_system={s.name: sum(s.pk in by for by in found.values()) for s in chosen},
        only_by_system={s.name: sum(by == {s.pk} for by in found.values()) for s in chosen},
    )

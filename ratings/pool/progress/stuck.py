"""What keeps the rating of a collection from being done. Each list has its first entries and the number of all.

These are pairs that several raters passed, pairs that nobody may rate, and broken documents.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from ...models import Collection, Document, Pair, Rater, Rating
from .counts import Progress, Work, still_wanted

LISTED = 20
PASSED_BY = 2  # a pair counts as stuck once so many raters put it off or could not judge it
MOST_READ = 1_000  # pairs of a kind


@dataclass(frozen=True)
class Stuck:
    """The first LISTED of each kind, and the number of all. Pairs have query and document loaded."""

    passed: list[tuple[Pair, int]]  # with the number of raters who passed
    passed_count: int
    unreachable: list[Pair]
    unreachable_count: int
    broken: list[tuple[Document, int]]  # with the number of reports
    broken_count: int
    raters: int  # those who may rate now

    def __bool__(self) -> bool:
        return bool(self.passed or self.unreachable_count or self.broken)


def stuck(collection: Collection, progress: Progress) -> Stuck:
    """What is stuck in a collection with this progress. At most seven database queries."""
    workers = [work for work in progress.works.values() if work.takes_more]
    passed = _still_passed(collection, progress.passed)
    unreachable = _unreachable(collection, workers)
    reported = sorted(progress.broken, key=lambda pair: (-len(progress.broken[pair]), pair))[:MOST_READ]
    first_unreachable = list(_for_lists(unreachable.order_by("pk"))[: LISTED + 1])
    shown = [*passed[:LISTED], *reported]
    pairs = {pair.pk: pair for pair in _for_lists(Pair.objects.filter(pk__in=set(shown)))}
    broken: Counter[Document] = Counter()
    for pk in reported:
        if not pairs[pk].retired_at:
            broken[pairs[pk].document] += len(progress.broken[pk])
    return Stuck(
        passed=[(pairs[pk], len(progress.passed[pk])) for pk in passed[:LISTED]],
        passed_count=len(passed),
        unreachable=first_unreachable[:LISTED],
        unreachable_count=unreachable.count() if len(first_unreachable) > LISTED else len(first_unreachable),
        broken=broken.most_common(LISTED),
        broken_count=len(broken),
        raters=len(workers),
    )


def _still_passed(collection: Collection, passed: dict[int, set[int]]) -> list[int]:
    """The pairs that several raters passed and that still want a grade, those of most raters first."""
    several = [pair for pair, raters in passed.items() if len(raters) >= PASSED_BY]
    several = sorted(several, key=lambda pair: (-len(passed[pair]), pair))[:MOST_READ]
    still = set(still_wanted(collection).filter(pair__in=several).order_by().values_list("pair", flat=True))
    return [pair for pair in several if pair in still]


def _unreachable(collection: Collection, workers: Iterable[Work]) -> QuerySet:
    """The pairs that want a grade although all workers who may rate them have done so."""
    ids = [work.rater.pk for work in workers]
    sets = Rater.queries.through.objects.filter(rater__in=ids)
    bound = set(sets.values_list("rater", flat=True).distinct())
    free = [pk for pk in ids if pk not in bound]
    rated = Rating.objects.filter(rater__in=free).order_by()
    allowed = len(free)
    if bound:
        own = sets.filter(rater=OuterRef("rater"), query=OuterRef("pair__query"))
        rated = rated | Rating.objects.filter(Exists(own), rater__in=bound).order_by()
        others = sets.filter(query=OuterRef("pair__query")).order_by().values("query").annotate(n=Count("pk"))
        allowed = len(free) + Coalesce(Subquery(others.values("n")), 0)
    used_up = rated.values("pair").annotate(n=Count("pk")).filter(n__gte=allowed).values("pair")
    waiting = still_wanted(collection).filter(extra=False)
    lost = waiting.filter(pair__in=used_up)
    if not free:
        # A pair whose query nobody may rate is not in `used_up` if it has no rating.
        lost = lost | waiting.exclude(query__in=sets.values("query"))
    return Pair.objects.filter(pk__in=lost.order_by().values("pair"))


def _for_lists(pairs: QuerySet) -> QuerySet:
    """The pairs with only the columns that lists show."""
    return pairs.select_related("query", "document").defer("document__body", "document__fields")

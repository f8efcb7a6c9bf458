"""What keeps the rating of a collection from being done. Each list has its first entries and the number of all.

These are pairs that several raters passed, pairs that nobody may rate, and broken documents.
"""

from collections import Counter
from collections.abc import Iterable

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from ...models import Collection, Document, Pair, Rater, Rating
from .counts import Progress, Work, still_wanted

MOST_LISTED = 20  # entries of each list
FEWEST_PASSING_RATERS = 2  # a pair counts as stuck once so many raters put it off or could not judge it
MOST_PAIRS_READ = 1_000  # pairs of a kind


def stuck(collection: Collection, progress: Progress) -> dict:
    """What is stuck in a collection with this progress: the first MOST_LISTED of each kind, and the number of all.

    `passed`: (pair, number of raters who passed). `unreachable`: pairs. `broken`: (document, number of reports).
    `raters`: how many may rate now. Pairs have query and document loaded. At most seven database queries.
    """
    workers = [work for work in progress.works.values() if work.may_rate and not work.full]
    passed_ids = _still_passed(collection, progress.passed)
    unreachable = _unreachable(collection, workers)
    broken_ids = _by_raters(progress.broken)
    # One more than are listed: only if there is one, all must be counted.
    first_unreachable = list(_for_lists(unreachable.order_by("pk"))[: MOST_LISTED + 1])
    pairs = _for_lists(Pair.objects.all()).in_bulk({*passed_ids[:MOST_LISTED], *broken_ids})
    reports: Counter[Document] = Counter()
    for pair_id in broken_ids:
        if not pairs[pair_id].retired_at:
            reports[pairs[pair_id].document] += len(progress.broken[pair_id])
    are_more = len(first_unreachable) > MOST_LISTED
    return {
        "passed": [(pairs[pair_id], len(progress.passed[pair_id])) for pair_id in passed_ids[:MOST_LISTED]],
        "passed_count": len(passed_ids),
        "unreachable": first_unreachable[:MOST_LISTED],
        "unreachable_count": unreachable.count() if are_more else len(first_unreachable),
        "broken": reports.most_common(MOST_LISTED),
        "broken_count": len(reports),
        "raters": len(workers),
    }


def _still_passed(collection: Collection, passed: dict[int, set[int]]) -> list[int]:
    """The pairs that several raters passed and that still want a grade, those of most raters first."""
    by_several = {pair: raters for pair, raters in passed.items() if len(raters) >= FEWEST_PASSING_RATERS}
    pair_ids = _by_raters(by_several)
    wanted = set(still_wanted(collection).filter(pair__in=pair_ids).order_by().values_list("pair", flat=True))
    return [pair for pair in pair_ids if pair in wanted]


def _by_raters(raters_of_pair: dict[int, set[int]]) -> list[int]:
    """The first MOST_PAIRS_READ pairs, those with most raters first."""
    return sorted(raters_of_pair, key=lambda pair: (-len(raters_of_pair[pair]), pair))[:MOST_PAIRS_READ]


def _unreachable(collection: Collection, workers: Iterable[Work]) -> QuerySet:
    """The pairs that want another grade although every worker who may rate them has done so.

    A worker may rate the pairs of all queries or, if restricted, only those of `Rater.queries`.
    """
    worker_ids = [work.rater.pk for work in workers]
    allowed = Rater.queries.through.objects.filter(rater__in=worker_ids)  # rows of a restricted rater and a query
    restricted = set(allowed.values_list("rater", flat=True).distinct())
    unrestricted = [pk for pk in worker_ids if pk not in restricted]
    # The ratings by those who may rate the pair, and how many these are: a number, or an expression for each pair.
    ratings = Rating.objects.filter(rater__in=unrestricted).order_by()
    n_allowed = len(unrestricted)
    if restricted:
        of_allowed_query = allowed.filter(rater=OuterRef("rater"), query=OuterRef("pair__query"))
        ratings |= Rating.objects.filter(Exists(of_allowed_query), rater__in=restricted).order_by()
        of_query = allowed.filter(query=OuterRef("pair__query")).order_by().values("query").annotate(n=Count("pk"))
        n_allowed = len(unrestricted) + Coalesce(Subquery(of_query.values("n")), 0)
    rated_by_all = ratings.values("pair").annotate(n=Count("pk")).filter(n__gte=n_allowed).values("pair")
    waiting = still_wanted(collection).filter(extra=False)  # an extra assignment is for one rater, not for anyone
    unreachable = waiting.filter(pair__in=rated_by_all)
    if not unrestricted:
        # A pair whose query nobody may rate is not in `rated_by_all` if it has no rating.
        unreachable |= waiting.exclude(query__in=allowed.values("query"))
    return Pair.objects.filter(pk__in=unreachable.order_by().values("pair"))


def _for_lists(pairs: QuerySet) -> QuerySet:
    """The pairs with only the columns that lists show."""
    return pairs.select_related("query", "document").defer("document__body", "document__fields")

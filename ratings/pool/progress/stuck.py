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
    """What keeps the rating from being done, as the context of its page. At most seven database queries.

    Each kind has a list of its first MOST_LISTED entries, and as "…_count" the number of all. "passed": (pair,
    number of raters who put it off or could not judge it). "unreachable": pairs. "broken": (document, number of
    reports). "raters": how many may rate now. Pairs have query and document loaded.
    """
    workers = [work for work in progress.works.values() if work.may_rate and not work.full]  # who can rate now
    passed_ids = _still_passed(collection, progress.passed)
    unreachable = _unreachable(collection, workers)
    broken_ids = _with_most_raters(progress.broken)  # at most MOST_PAIRS_READ, as their documents are read
    # One more than are listed tells whether there are more. Only then another query must count them.
    first_unreachable = list(_for_lists(unreachable.order_by("pk"))[: MOST_LISTED + 1])
    pairs = _for_lists(Pair.objects.all()).in_bulk({*passed_ids[:MOST_LISTED], *broken_ids})
    reports: Counter[Document] = Counter()
    for pair_id in broken_ids:
        if not pairs[pair_id].retired_at:  # a retired pair keeps nothing from being done
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
    pair_ids = _with_most_raters(by_several)
    wanted = set(still_wanted(collection).filter(pair__in=pair_ids).order_by().values_list("pair", flat=True))
    return [pair for pair in pair_ids if pair in wanted]


def _with_most_raters(raters_of_pair: dict[int, set[int]]) -> list[int]:
    """The first MOST_PAIRS_READ pairs, those with most raters first."""
    return sorted(raters_of_pair, key=lambda pair: (-len(raters_of_pair[pair]), pair))[:MOST_PAIRS_READ]


def _unreachable(collection: Collection, workers: Iterable[Work]) -> QuerySet:
    """The pairs that want another grade although every worker who may rate them has rated them.

    A worker is a rater who can rate now. They may rate the pairs of all queries or, if restricted, only those of
    `Rater.queries`. A pair is rated by all who may rate it if as many of them rated it (`n`) as there are
    (`n_allowed`).
    """
    worker_ids = [work.rater.pk for work in workers]
    # One row for each restricted worker and each query whose pairs they may rate.
    permissions = Rater.queries.through.objects.filter(rater__in=worker_ids)
    restricted = set(permissions.values_list("rater", flat=True).distinct())
    unrestricted = [pk for pk in worker_ids if pk not in restricted]
    ratings = Rating.objects.filter(rater__in=unrestricted).order_by()
    n_allowed = len(unrestricted)  # the same number for all pairs, unless some workers are restricted
    if restricted:
        own_permission = permissions.filter(rater=OuterRef("rater"), query=OuterRef("pair__query"))
        ratings |= Rating.objects.filter(Exists(own_permission), rater__in=restricted).order_by()
        # The database adds to it how many restricted workers may rate the pair of a rating: a subquery counts the
        # permissions for its query.
        of_query = permissions.filter(query=OuterRef("pair__query")).order_by()
        n_restricted = Subquery(of_query.values("query").annotate(n=Count("pk")).values("n"))
        n_allowed = len(unrestricted) + Coalesce(n_restricted, 0)
    rated_by_all = ratings.values("pair").annotate(n=Count("pk")).filter(n__gte=n_allowed).values("pair")
    waiting = still_wanted(collection).filter(extra=False)  # an extra assignment is for one rater, not for anyone
    unreachable = waiting.filter(pair__in=rated_by_all)
    if not unrestricted:
        # Pairs whose query nobody may rate: those without ratings have no row in `rated_by_all`.
        unreachable |= waiting.exclude(query__in=permissions.values("query"))
    return Pair.objects.filter(pk__in=unreachable.order_by().values("pair"))


def _for_lists(pairs: QuerySet) -> QuerySet:
    """The pairs with only the columns that lists show."""
    return pairs.select_related("query", "document").defer("document__body", "document__fields")

"""Ratings that age: given to an older text of their document, or longer ago than somebody wants.

An import keeps the text that it replaces (`FormerText`), so what a rater saw is known. Nothing is dropped: ratings
to an older text count, and an admin may ask for them again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log2
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Min, OuterRef, Q, QuerySet, Subquery

from ..desk import queue
from ..models import Collection, FormerText, Pair, Ranking, Rating
from ..people.audit import Act, note

PLACE_IF_UNRANKED = 1_000  # of a document that no system returns


def of_collection(collection: Collection) -> QuerySet:
    """The ratings that count, and "cannot judge"."""
    return Rating.objects.counted().filter(rater__collection=collection)


def to_older_text(ratings: QuerySet) -> QuerySet:
    """Those of the ratings that were given to another title or text than the document has now.

    Each comes with `seen_title` and `seen_body`, the text that the rater saw. A rating of a document that had no
    text then is left out: the text was imported later.
    """
    # The texts that imports replaced after the rating.
    changes = FormerText.objects.filter(document=OuterRef("document"), job__ended_at__gt=OuterRef("changed_at"))
    # The first of these imports replaced the text that the rater saw.
    first = changes.order_by("job__ended_at", "pk")
    seen = {"seen_title": Subquery(first.values("title")[:1]), "seen_body": Subquery(first.values("body")[:1])}
    # Most documents have no former text: without the first filter, the database would look for one of each rating.
    with_changes = ratings.filter(document__in=FormerText.objects.values("document"))
    # `seen_title` is NULL if no import replaced the text after the rating.
    rows = with_changes.annotate(**seen).filter(seen_title__isnull=False).exclude(seen_title="", seen_body="")
    # An import may have changed other fields alone, and a later import may have restored the text.
    return rows.filter(~Q(seen_title=F("document__title")) | ~Q(seen_body=F("document__body")))


@dataclass(frozen=True)
class Aged:
    """A pair with ratings that have aged."""

    pair: Pair
    ratings: int
    oldest: datetime
    change: float | None  # the share of words of the text that changed; None where the text is the same
    place: int  # the best place that a system gives the document; PLACE_IF_UNRANKED where none returns it

    @property
    def percent(self) -> int | None:
        """The changed share in whole percent; None where the text is the same.

        0 and 100 stand for exactly none and all of the words: other shares are 1 at least and 99 at most.
        """
        if self.change is None or self.change in (0, 1):
            return None if self.change is None else int(100 * self.change)
        return min(max(round(100 * self.change), 1), 99)

    @property
    def weight(self) -> float:
        """How much it matters for the order of systems: by how much changed, and by the discount of its place."""
        return (1.0 if self.change is None else self.change) / log2(1 + self.place)


def aged_pairs(collection: Collection, ratings: QuerySet) -> list[Aged]:
    """The pairs of these ratings, which have aged, the greatest `Aged.weight` first. Six database queries.

    The documents of the pairs come without text: there may be very many.
    """
    counts = ratings.order_by().values("pair").annotate(n=Count("pk"), oldest=Min("changed_at"))
    counts_by_pair = {row["pair"]: row for row in counts}
    without_text = Pair.objects.select_related("query", "document").defer("document__body", "document__fields")
    pair_by_pk = without_text.in_bulk(counts_by_pair)
    changes = changes_of(ratings)
    places = best_places(collection, pair_by_pk.values())
    rows = [
        Aged(
            pair=pair,
            ratings=counts_by_pair[pk]["n"],
            oldest=counts_by_pair[pk]["oldest"],
            change=changes.get(pk),
            place=places.get((pair.query_id, pair.document_id), PLACE_IF_UNRANKED),
        )
        for pk, pair in pair_by_pk.items()
    ]
    return sorted(rows, key=lambda row: (-row.weight, row.pair.pk))


def changes_of(ratings: QuerySet) -> dict[int, float]:
    """Pair id → the share of words that changed since the earliest of its ratings to an older text."""
    rows = to_older_text(ratings).order_by("-changed_at")  # the earliest comes last, so that the dict keeps it
    texts = rows.values_list("pair", "seen_title", "seen_body", "document__title", "document__body")
    return {
        pair: changed_share(f"{seen_title}\n{seen_body}", f"{title}\n{body}")
        for pair, seen_title, seen_body, title, body in texts.iterator()
    }


def best_places(collection: Collection, pairs: Iterable[Pair]) -> Mapping[tuple[int, int], int]:
    """(query, document) → the best place in which a system returns it."""
    wanted = {(pair.query_id, pair.document_id) for pair in pairs}
    rankings = Ranking.objects.filter(system__collection=collection, query__in={query for query, _ in wanted})
    best: dict[tuple[int, int], int] = {}
    for query, documents in rankings.values_list("query", "documents"):
        for place, document in enumerate(documents.tolist(), 1):
            key = (query, document)
            if key in wanted:
                best[key] = min(place, best.get(key, place))
    return best


def changed_share(before: str, after: str) -> float:
    """The share of words that are in one of the texts alone: 0 for the same words, 1 where none is in both."""
    first, second = Counter(before.split()), Counter(after.split())
    union = (first | second).total()
    return 1 - (first & second).total() / union if union else 0.0


@transaction.atomic
def ask_again(collection: Collection, ratings: QuerySet, tokens: Sequence[UUID | None], by) -> int:
    """How many of these ratings, of the pairs with these tokens, are wanted anew, by anybody.

    A token that was sent and is none is None: no pair has it.
    """
    pairs = Pair.objects.filter(query__collection=collection, token__in=tokens)
    asked = queue.ask_again(ratings.filter(pair__in=pairs), by=by, of_others=False)
    if asked:
        note(Act.ASKED_AGAIN, collection, about="aged ratings", ratings=asked, of_others=False)
    return asked

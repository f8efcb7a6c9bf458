"""Ask again for what was rated of a query, a document or a pair, or by a rater. It can be taken back.

Ratings that are asked again count no more: every reader of ratings asks `Rating.objects.counted()`.
"""

from dataclasses import dataclass
from functools import cached_property

from django.db import transaction
from django.db.models import QuerySet

from ..desk import queue
from ..models import Adjudication, Collection, Document, Pair, Query, Rater, Rating, RatingEvent
from ..people.audit import Act, note

# Kind of a scope → the path from an event to its row.
EVENT_PATH = {"query": "pair__query", "document": "pair__document", "pair": "pair", "rater": "rater"}


@dataclass(frozen=True)
class Scope:
    """The ratings of one query, document, pair or rater, and what to ask again of them would do."""

    collection: Collection
    kind: str  # a key of EVENT_PATH
    row: Query | Document | Pair | Rater

    def __str__(self) -> str:
        """Its name in the audit: of a rater the name alone, which an erasure looks for."""
        if isinstance(self.row, Query | Document):
            return f"{self.kind} {self.row.key}"
        return str(self.row)

    @property
    def ratings(self) -> QuerySet:
        return Rating.objects.filter(rater__collection=self.collection, **{self.kind: self.row})

    @property
    def events(self) -> QuerySet:
        return RatingEvent.objects.filter(rater__collection=self.collection, **{EVENT_PATH[self.kind]: self.row})

    @cached_property
    def wanted_from_anybody(self) -> int:
        """How many ratings would be wanted anew by anybody, those who gave them included."""
        return queue.askable(self.ratings, of_others=False).count()

    @cached_property
    def wanted_from_others(self) -> int:
        """How many ratings would be wanted anew by raters who have not rated their pairs."""
        return queue.askable(self.ratings, of_others=True).count()

    @cached_property
    def decided(self) -> int:
        """How many pairs of these ratings have a decision by an admin, which stays."""
        pairs = queue.askable(self.ratings, of_others=False).order_by().values("pair")
        return Adjudication.objects.filter(pair__in=pairs).count()

    @cached_property
    def asked(self) -> int:
        """How many ratings were asked again, and nobody gave them anew."""
        return queue.asked_again(self.collection, self.events).count()


@transaction.atomic
def ask_again(scope: Scope, *, by, of_others: bool) -> int:
    """How many ratings are wanted anew, by others or by anybody."""
    asked = queue.ask_again(scope.ratings, by=by, of_others=of_others)
    if asked:
        note(Act.ASKED_AGAIN, scope.collection, about=scope, ratings=asked, of_others=of_others)
    return asked


@transaction.atomic
def take_back(scope: Scope, *, by) -> int:
    """How many ratings count again as they were: those that their raters have not given anew."""
    restored = queue.take_back_asking(scope.collection, scope.events, by=by)
    if restored:
        note(Act.ASKING_BACK, scope.collection, about=scope, ratings=restored)
    return restored

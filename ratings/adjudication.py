"""Which pairs raters disagree about; decide the grade of a pair, and take the decision back. Its ratings stay.

Of two people who decide one pair at once, one is refused and told what the other decided: the unique index of
adjudications settles it, not a look before.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Case, IntegerField, Max, Min, QuerySet, When
from django.utils import timezone

from .models import Adjudication, Collection, Grade, Pair, Rating, RatingEvent

Kind = RatingEvent.Kind


class Adjudicated(Exception):
    """The pair has an adjudication already. `current` is what is stored."""

    def __init__(self, current: Adjudication) -> None:
        self.current = current
        super().__init__(f"The pair is adjudicated already: {said(current)}. Withdraw that first.")


class NotAdjudicated(Exception):
    """There is nothing to withdraw, or not what was seen. `current` is what is stored (None: nothing)."""

    def __init__(self, current: Adjudication | None) -> None:
        self.current = current
        what = f"was adjudicated anew: {said(current)}" if current else "is not adjudicated"
        super().__init__(f"The pair {what}. Nothing was withdrawn.")


def disputed(collection: Collection, scale: Sequence[Grade], steps: int) -> QuerySet:
    """Pairs that nobody has decided and whose grades lie more than `steps` steps of the scale apart.

    Rows {"pair": id, "spread": steps between the lowest and the highest grade}, the biggest spread first, then by
    query. One query, which reads every rating of the collection. "Cannot judge" is no grade and differs from none.
    """
    places = [When(grade=grade.pk, then=place) for place, grade in enumerate(scale)]
    place = Case(*places, default=None, output_field=IntegerField())
    rated = Rating.objects.filter(pair__query__collection=collection, pair__adjudication__isnull=True)
    apart = rated.values("pair").annotate(spread=Max(place) - Min(place)).filter(spread__gt=steps)
    # Without a grade there is nothing to place, and PostgreSQL cannot subtract what has no type.
    return (apart if scale else apart.none()).order_by("-spread", "pair__query__key", "pair")


def latest_act(pair: Pair) -> int:
    """A number that grows with everything that is said or decided about the pair; 0 before that. One query.

    A form carries it, so that who decides is told what was said while the form was open.
    """
    acts = RatingEvent.objects.filter(pair=pair).exclude(kind=Kind.SKIP).exclude(undoes__kind=Kind.SKIP)
    return acts.order_by("-pk").values_list("pk", flat=True).first() or 0


@transaction.atomic
def adjudicate(pair: Pair, grade: Grade, *, reason: str, actor, now: datetime | None = None) -> Adjudication:
    """Make `grade` the judgment of the pair, whatever its ratings are. The same again is the same act.

    `actor` is the account that decides, None where nobody is signed in, as on the command line. Raises
    Adjudicated where the pair has another adjudication, ValueError for a grade of another collection or for no
    reason.
    """
    reason = _given(reason)
    collection = pair.query.collection
    if grade.collection_id != collection.pk:
        raise ValueError("The grade and the pair must belong to one collection.")
    now = now or timezone.now()
    facts = {"grade": grade, "reason": reason, "actor": actor}
    adjudication, new = Adjudication.objects.get_or_create(pair=pair, defaults={**facts, "created_at": now})
    if new:
        _event(pair, Kind.ADJUDICATE, now, value=grade.value, comment=reason, actor=actor)
    elif facts != {name: getattr(adjudication, name) for name in facts}:
        raise Adjudicated(adjudication)
    return adjudication


@transaction.atomic
def withdraw(pair: Pair, *, reason: str, actor, seen: int | None = None, now: datetime | None = None) -> None:
    """Let the ratings of the pair speak again.

    `seen` is the id of the adjudication that is meant, None where whichever stands is. Raises NotAdjudicated where
    there is none or no longer that one; ValueError for no reason.
    """
    reason = _given(reason)
    standing = Adjudication.objects.filter(pair=pair)
    # The delete itself tells whether it was there to be deleted: of two who withdraw, one does.
    if not (standing if seen is None else standing.filter(pk=seen)).delete()[0]:
        raise NotAdjudicated(standing.first())
    decided = RatingEvent.objects.filter(pair=pair, kind=Kind.ADJUDICATE).latest("pk")
    _event(pair, Kind.UNDO, now or timezone.now(), undoes=decided, comment=reason, actor=actor)


def said(adjudication: Adjudication) -> str:
    """The grade, by whom, when and why, as a message quotes it."""
    by = f" by {adjudication.actor.get_username()}" if adjudication.actor else ""
    return f"{adjudication.grade}{by} on {adjudication.created_at:%Y-%m-%d} ({adjudication.reason})"


def _given(reason: str) -> str:
    if not reason.strip():
        raise ValueError("An adjudication and its withdrawal need a reason.")
    return reason.strip()


def _event(pair: Pair, kind: str, now: datetime, **facts) -> None:
    collection = pair.query.collection
    guidelines = collection.latest_guidelines()
    RatingEvent.objects.create(
        pair=pair,
        kind=kind,
        scale_version=collection.scale_version,
        guidelines_version=guidelines.version if guidelines else 0,
        created_at=now,
        collection=collection,
        version=collection.advance(),
        **facts,
    )

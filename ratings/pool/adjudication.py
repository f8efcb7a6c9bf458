"""Adjudication: find the pairs on which raters disagree, decide the grade of a pair, and withdraw a decision.

Ratings stay as they are. If two people decide a pair at the same time, the unique index refuses the second, who
then sees the decision of the first.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Case, IntegerField, Max, Min, QuerySet, When
from django.utils import timezone

from ..models import Adjudication, Collection, Grade, Pair, Rating, RatingEvent
from ..people import audit

Kind = RatingEvent.Kind


class Adjudicated(Exception):
    """The pair already has another adjudication, which the message names."""


class NotAdjudicated(Exception):
    """The adjudication to withdraw is gone. The message names the present one, if there is one."""


def disputed(collection: Collection) -> QuerySet:
    """The pairs without adjudication whose grades differ.

    Each row is {"pair": id, "spread": steps of the scale between the lowest and the highest grade}. Rows are
    sorted by spread, the greatest first, then by query. Two database queries: for the scale, and one that reads
    every rating of the collection.
    """
    # The number of a grade on the scale, from 0 for the lowest; NULL for "cannot judge", which Max and Min ignore.
    steps = [When(grade=grade.pk, then=number) for number, grade in enumerate(collection.grades.all())]
    step = Case(*steps, default=None, output_field=IntegerField())
    ratings = Rating.objects.counted().filter(pair__query__collection=collection, pair__adjudication__isnull=True)
    differing = ratings.values("pair").annotate(spread=Max(step) - Min(step)).filter(spread__gt=0)
    if not steps:  # without a scale the Case is empty, and PostgreSQL cannot subtract values without a type
        differing = differing.none()
    return differing.order_by("-spread", "pair__query__key", "pair")


def latest_act(pair: Pair) -> int:
    """The id of the latest rating or decision of the pair, 0 for none. One query.

    The form sends it back. A decision is refused if the pair was rated or decided while the form was open.
    """
    acts = RatingEvent.objects.filter(pair=pair).exclude(kind=Kind.SKIP).exclude(undoes__kind=Kind.SKIP)
    return acts.order_by("-pk").values_list("pk", flat=True).first() or 0


@transaction.atomic
def adjudicate(pair: Pair, grade: Grade, *, reason: str, actor, now: datetime | None = None) -> Adjudication:
    """The adjudication that makes `grade` the judgment of the pair, whatever its ratings are.

    `actor` is the account that decides. The same call again changes nothing. Raises Adjudicated if the pair has
    another adjudication.
    """
    now = now or timezone.now()
    fields = {"grade": grade, "reason": reason, "actor": actor}
    adjudication, created = Adjudication.objects.get_or_create(pair=pair, defaults={**fields, "created_at": now})
    if created:
        _write_event(pair, Kind.ADJUDICATE, now, value=grade.value, comment=reason, actor=actor)
        audit.note(audit.Act.DECIDED, pair.query.collection, about=pair, grade=str(grade.value))
    elif fields != {name: getattr(adjudication, name) for name in fields}:
        raise Adjudicated(f"The pair is already adjudicated: {summary(adjudication)}. Withdraw that first.")
    return adjudication


@transaction.atomic
def withdraw(pair: Pair, *, reason: str, actor, seen: int) -> None:
    """Delete the pair's adjudication, so that its ratings count again. Raises NotAdjudicated.

    `seen`: the id of the adjudication that the page of `actor` showed. If it is gone, nothing is deleted: another
    one that replaced it stays.
    """
    adjudications = Adjudication.objects.filter(pair=pair)
    deleted, _ = adjudications.filter(pk=seen).delete()
    if not deleted:  # somebody else withdrew it
        current = adjudications.first()
        state = f"was adjudicated again: {summary(current)}" if current else "is not adjudicated"
        raise NotAdjudicated(f"The pair {state}. Nothing was withdrawn.")
    undone_event = RatingEvent.objects.filter(pair=pair, kind=Kind.ADJUDICATE).latest("pk")
    _write_event(pair, Kind.UNDO, timezone.now(), undoes=undone_event, comment=reason, actor=actor)
    audit.note(audit.Act.DECISION_WITHDRAWN, pair.query.collection, about=pair)


def summary(adjudication: Adjudication) -> str:
    """The decision for a message: grade, person, date, and the reason if there is one."""
    by = f" by {adjudication.actor.get_username()}" if adjudication.actor else ""
    why = f" ({adjudication.reason})" if adjudication.reason else ""
    return f"{adjudication.grade}{by} on {adjudication.created_at:%Y-%m-%d}{why}"


def _write_event(pair: Pair, kind: str, now: datetime, **fields) -> None:
    """Write the event of a decision or of its withdrawal, and its id into the collection's `decided`.

    By `decided`, an evaluation that was computed before is known to be out of date. `fields`: further columns of
    the event.
    """
    collection = pair.query.collection
    guidelines = collection.latest_guidelines()
    presentation = collection.latest_presentation()
    # The manager `written`, unlike `objects`, also finds a collection that was deleted meanwhile: it has no slug.
    collection_row = Collection.written.filter(pk=collection.pk)
    # Locks the collection before the event gets its id, so that these ids ascend in the order of the commits.
    # `order_by()` drops the default order by name, which one row does not need.
    collection_row.order_by().select_for_update(no_key=True).get()
    event = RatingEvent.objects.create(
        pair=pair,
        kind=kind,
        created_at=now,
        scale_version=collection.scale_version,
        guidelines_version=guidelines.version if guidelines else 0,  # 0: there are none yet
        presentation_version=presentation.version if presentation else 0,
        **fields,
    )
    collection_row.update(decided=event.pk)

"""Ask again: ratings stop counting and are wanted anew, until a rater gives them or the asking is taken back.

Where anybody may give them, those who rated included, the ratings are removed, as by an undo. Where others shall,
the ratings stay but are set aside: they do not count, and their raters do not get the pairs. In both cases the
events stay, and each has an event that it was asked again.

An assignment is one wanted rating of a pair: open, leased to a rater, or done, that is, filled by the grade of a
rater. A grade that fills no assignment counts all the same, and is surplus.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from ...models import Assignment, Collection, Grade, Pair, Rater, Rating, RatingEvent
from .acts import lock, lock_all
from .leases import State, assignment_of, surplus_grades
from .saving import sync_assignments
from .undoing import RATING_KINDS
from .wanting import ROWS_PER_STATEMENT, chunks, want

Kind = RatingEvent.Kind


def askable(ratings: QuerySet, *, of_others: bool) -> QuerySet:
    """The ratings that can be asked again.

    Not those that do not count anyway, of retired pairs, and of gold that its rater got beyond the wanted ratings.
    Others are asked for grades alone: where somebody could not judge, others are asked already.
    """
    extra = assignment_of(OuterRef("pair"), OuterRef("rater")).filter(extra=True)
    rows = ratings.filter(~Exists(extra), set_aside_at=None, rater__left_out_at=None, pair__retired_at=None)
    return rows.filter(grade__isnull=False) if of_others else rows


def asked_again(collection: Collection, events: QuerySet) -> QuerySet:
    """Those of the `events` by which ratings were asked again that their raters have not given anew.

    For each rater and pair, the event of the last rating. None of a rating whose grade has left the scale.
    """
    same = {"pair": OuterRef("pair"), "rater": OuterRef("rater")}
    later = RatingEvent.objects.filter(**same, kind=Kind.ASK_AGAIN, pk__gt=OuterRef("pk"))
    counts = Rating.objects.filter(**same, set_aside_at=None)
    grade = Grade.objects.filter(collection=collection, value=OuterRef("undoes__value"))
    rows = events.filter(kind=Kind.ASK_AGAIN, rater__left_out_at=None)
    return rows.filter(~Exists(later), ~Exists(counts), Exists(grade) | Q(undoes__value=None))


@transaction.atomic
def ask_again(ratings: QuerySet, *, by, of_others: bool, now: datetime | None = None) -> int:
    """Want these ratings of one collection anew: by other raters, or by anybody. Returns how many were asked."""
    now = now or timezone.now()
    # Locked, so that nobody changes a rating meanwhile, and so that the ids of a rater's events ascend.
    lock_all(Rater.objects.filter(pk__in=ratings.order_by().values("rater")))
    rows = list(askable(ratings, of_others=of_others).order_by("pk"))
    for chunk in chunks(rows):
        _record(chunk, by, now)
        _want_anew(chunk, now if of_others else None)
    return len(rows)


@transaction.atomic
def take_back_asking(collection: Collection, events: QuerySet, *, by, now: datetime | None = None) -> int:
    """Make ratings count again as they were before they were asked again. Returns how many.

    `by`: the account of the admin who does it. `events`: among them, `asked_again` finds the acts of asking again
    whose raters have not rated the pair anew. Such an event `undoes` the event of the former rating. A grade fills
    an assignment again (one wanted rating of the pair), if one is free. If others rate or rated the pair in its
    place and none is free, the grade fills none, and counts all the same: see `sync_assignments`.
    """
    now = now or timezone.now()
    askings = asked_again(collection, events).order_by("rater", "pk").select_related("undoes", "pair")
    grades = {grade.value: grade for grade in collection.grades.all()}
    me = None  # the rater of the last asking: they are sorted by rater, so that each is locked once
    restored = 0
    for asking in askings:
        if me is None or me.pk != asking.rater_id:
            me = lock(asking.rater)
        if Rating.objects.filter(pair=asking.pair_id, rater=me, set_aside_at=None).exists():
            continue  # the rater rated the pair again before the lock
        _restore_rating(me, asking.pair, asking.undoes, grades, by, now)
        restored += 1
    return restored


def _restore_rating(
    me: Rater, pair: Pair, former: RatingEvent, grades: dict[Decimal, Grade], by, now: datetime
) -> None:
    """Write the rating as the event `former` had it, and an event by the admin (`by`). `grades`: by value.

    The scale still has the grade of `former`: `asked_again` leaves out the others.
    """
    fields = {
        "grade": None if former.value is None else grades[former.value],
        "reason": former.reason,
        "comment": former.comment,
        "changed_at": former.created_at,
        "set_aside_at": None,
    }
    # A rating that was set aside is stored and gets the fields. One that was removed is made anew.
    rating, _ = Rating.objects.update_or_create(
        pair=pair, rater=me, defaults=fields, create_defaults=fields | {"created_at": former.created_at}
    )
    RatingEvent.objects.create(
        **_later_event_fields(former, Kind.CANNOT if former.value is None else Kind.GRADE, by, now),
        value=former.value,
        reason=former.reason,
        comment=former.comment,
    )
    sync_assignments(me, pair, assignment_of(pair, me).first(), rating, now)


def _record(ratings: Sequence[Rating], by, now: datetime) -> None:
    """Write that each standing event of these ratings was asked again. The history of a pair shows it."""
    keys = _keys(ratings)
    pairs, raters = {pair for pair, _ in keys}, {rater for _, rater in keys}
    events = RatingEvent.objects.standing().filter(pair__in=pairs, rater__in=raters, kind__in=RATING_KINDS)
    asked = [event for event in events.order_by("pk") if (event.pair_id, event.rater_id) in keys]
    rows = [RatingEvent(**_later_event_fields(event, Kind.ASK_AGAIN, by, now), undoes=event) for event in asked]
    RatingEvent.objects.bulk_create(rows, batch_size=ROWS_PER_STATEMENT)


def _later_event_fields(event: RatingEvent, kind: str, by, now: datetime) -> dict:
    """The fields of a new event by an admin (`by`), about the same rating and of the same versions as `event`."""
    return {
        "pair_id": event.pair_id,
        "rater_id": event.rater_id,
        "kind": kind,
        "actor": by,
        "scale_version": event.scale_version,
        "guidelines_version": event.guidelines_version,
        "presentation_version": event.presentation_version,
        "created_at": now,
    }


def _want_anew(ratings: Sequence[Rating], set_aside_at: datetime | None) -> None:
    """Set the ratings aside, or remove them if `set_aside_at` is None, and open an assignment for each grade.

    The assignment that a grade fills is opened. For a surplus grade, such as an imported one, a new assignment is
    made: the number of grades that are wanted of its pair is raised.
    """
    pairs = {rating.pair_id for rating in ratings}
    # Not `extra` ones, beyond the number wanted: `askable` leaves out the ratings that fill them.
    done = Assignment.objects.filter(pair__in=pairs, state=State.DONE, extra=False)
    # (pair id, rater id) → id of the assignment that the rater's grade fills
    assignment_by_key = {(pair, rater): pk for pk, pair, rater in done.values_list("pk", "pair", "rater")}
    filled_ids = [assignment_by_key[key] for key in _keys(ratings) if key in assignment_by_key]
    # The pairs of the surplus grades. A reason in place of a grade fills no assignment either, but needs no new
    # one: the assignment that its rater had was given back when they sent the reason.
    graded = [rating for rating in ratings if rating.grade_id]
    surplus_pairs = {rating.pair_id for rating in graded if _key(rating) not in assignment_by_key}
    # All surplus grades, also those of other raters: `want` below fills its new assignments with surplus grades
    # that stay before it leaves any open. With one assignment for each surplus grade that there was before these
    # ratings go, as many are left open as grades went.
    surplus_before = Counter(surplus_grades().filter(pair__in=surplus_pairs).values_list("pair", flat=True))
    stored = Rating.objects.filter(pk__in=[rating.pk for rating in ratings])
    if set_aside_at:
        stored.update(set_aside_at=set_aside_at)
    else:
        stored.delete()
    Assignment.objects.filter(pk__in=filled_ids).update(state=State.OPEN, rater=None)
    pairs_by_wanted: dict[int, list[int]] = {}  # new number of wanted grades → pair ids, for few calls of `want`
    for pair, wanted in Pair.objects.filter(pk__in=surplus_pairs).order_by("pk").values_list("pk", "wanted"):
        pairs_by_wanted.setdefault(wanted + surplus_before[pair], []).append(pair)
    for wanted, pair_ids in pairs_by_wanted.items():
        want(pair_ids, wanted)


def _key(rating: Rating) -> tuple[int, int]:
    """(pair id, rater id)."""
    return rating.pair_id, rating.rater_id


def _keys(ratings: Sequence[Rating]) -> set[tuple[int, int]]:
    return {_key(rating) for rating in ratings}

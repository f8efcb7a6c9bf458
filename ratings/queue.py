"""Claim, save, put off, undo: the only writer of assignments and ratings.

Each act of a rater runs in one transaction that begins by locking the rater's row, so that two tabs of one person
take turns; on SQLite every transaction is a writer from its start. What several raters could do to one pair is
settled by conditional updates and unique indexes, never by reading first and writing later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from .models import UNRANKED, Assignment, Grade, Pair, Rater, Rating, RatingEvent
from .order import next_pair

LEASE = timedelta(minutes=30)
COUNTED = 500  # beyond this a rater is told "more": to count a million pairs would take a second of each page

Kind = RatingEvent.Kind
State = Assignment.State


class Conflict(Exception):
    """The rating was changed elsewhere since the form was shown. `current` is what is stored (None: withdrawn)."""

    def __init__(self, current: Rating | None) -> None:
        self.current = current
        super().__init__("This rating was changed in another window.")


@dataclass(frozen=True)
class Outlook:
    """What a rater has done and what is left."""

    done: int
    left: int  # pairs that this rater could rate now, at most COUNTED
    more: bool  # whether there are more than that
    held_by_others: int  # pairs that come back when somebody else's lease runs out
    next_return: datetime | None


@dataclass(frozen=True)
class ImportedRating:
    query_id: int
    document_id: int
    grade: Grade | None
    reason: str = ""
    comment: str = ""
    seconds: float | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class ImportedRatings:
    new: int
    changed: int
    unchanged: int


# What a rater does


@transaction.atomic
def claim(rater: Rater, *, now: datetime | None = None) -> Pair | None:
    """The pair that `rater` should rate now, leased to them. None when there is nothing for them at the moment.

    A pair once claimed stays theirs until they rate it, put it off or stop, or until the lease runs out and
    somebody else takes it. The collection says in which order pairs come; what a rater put off comes after
    everything else, the longest put off first.
    """
    now = now or timezone.now()
    _lock(rater)
    held = held_by(rater)
    # The update tells whether the lease is still theirs: another rater may have taken it since the look.
    if held and _row_of(held, rater).filter(state=State.LEASED).update(leased_until=now + LEASE):
        return held
    _count_late(rater, now)
    lost: list[int] = []
    while pair_id := _next(rater, now, lost):
        if _take(rater, pair_id, State.LEASED, now):
            return Pair.objects.select_related("query", "document").get(pk=pair_id)
        lost.append(pair_id)
    return None


def held_by(rater: Rater) -> Pair | None:
    """The pair that is leased to `rater`. An expired lease holds until somebody else takes the pair."""
    leased = Pair.objects.filter(assignments__rater=rater, assignments__state=State.LEASED)
    return leased.select_related("query", "document").order_by("pk").first()


@transaction.atomic
def save(
    rater: Rater,
    pair: Pair,
    *,
    grade: Grade | None = None,
    reason: str = "",
    comment: str = "",
    base_revision: int = 0,
    client_key: UUID | None = None,
    seconds: float | None = None,
    now: datetime | None = None,
) -> Rating | None:
    """Record a grade, or why the pair cannot be judged. The same `client_key` again is the same save.

    `base_revision` is the revision of the rating that the rater saw, 0 for none. Raises Conflict when it is no
    longer the stored one, ValueError for a grade or pair of another collection or for both or neither of grade
    and reason. Late work, after the lease was lost, is kept.
    """
    now = now or timezone.now()
    if (grade is None) == (reason == ""):
        raise ValueError("A rating is a grade or a reason why the pair cannot be judged.")
    if rater.collection_id != pair.query.collection_id or (grade and grade.collection_id != rater.collection_id):
        raise ValueError("The grade, the pair and the rater must belong to one collection.")
    _lock(rater)
    current = Rating.objects.select_related("grade").filter(pair=pair, rater=rater).first()
    sent = _sent_before(rater, client_key)
    if sent:
        # The back button can bring back a form that was sent: another rating from it is no retry.
        if (sent.value, sent.reason, sent.comment) != (grade.value if grade else None, reason, comment):
            raise Conflict(current)
        return current
    if (current.revision if current else 0) != base_revision:
        raise Conflict(current)
    rating = current or Rating(pair=pair, rater=rater, revision=0, created_at=now)
    _write(rating, grade=grade, reason=reason, comment=comment, now=now)
    _event(
        rater,
        pair,
        Kind.GRADE if grade else Kind.CANNOT,
        now,
        value=grade.value if grade else None,
        reason=reason,
        comment=comment,
        seconds=seconds,
        client_key=client_key,
    )
    _settle(rating, now)
    rater.collection.touch([pair.query_id])
    return rating


@transaction.atomic
def skip(rater: Rater, pair: Pair, *, client_key: UUID | None = None, now: datetime | None = None) -> None:
    """Put the pair off: it goes back to the pool and comes to this rater again after everything else."""
    now = now or timezone.now()
    _lock(rater)
    if _sent_before(rater, client_key):
        return
    _release(rater, pair)
    _event(rater, pair, Kind.SKIP, now, client_key=client_key)


@transaction.atomic
def stop(rater: Rater) -> None:
    """Give back whatever is leased to `rater`."""
    _lock(rater)
    _release(rater)


@transaction.atomic
def undo(rater: Rater, *, client_key: UUID | None = None, now: datetime | None = None) -> Pair | None:
    """Take back the rater's last act that is not taken back yet, and hand them its pair. None: nothing to undo."""
    now = now or timezone.now()
    _lock(rater)
    if _sent_before(rater, client_key):
        return held_by(rater)
    last = last_act(rater)
    if last is None:
        return None
    pair = last.pair
    if last.kind != Kind.SKIP:
        _restore(rater, pair, _before(last), now)
        rater.collection.touch([pair.query_id])
    _event(rater, pair, Kind.UNDO, now, undoes=last, client_key=client_key)
    _release(rater)
    if not Rating.objects.filter(pair=pair, rater=rater).exists():
        _lease_again(rater, pair, now)
    return pair


def last_act(rater: Rater) -> RatingEvent | None:
    """The act that undo would take back."""
    acts = RatingEvent.objects.filter(
        rater=rater, kind__in=[Kind.GRADE, Kind.CANNOT, Kind.SKIP], undone_by__isnull=True
    )
    return acts.select_related("pair__query", "pair__document").order_by("-pk").first()


def last_comment(rater: Rater, pair: Pair) -> str:
    """What the rater wrote last about a pair, so that it is still there after an undo."""
    said = RatingEvent.objects.filter(rater=rater, pair=pair, kind__in=[Kind.GRADE, Kind.CANNOT])
    return said.order_by("-pk").values_list("comment", flat=True).first() or ""


def outlook(rater: Rater, *, now: datetime | None = None) -> Outlook:
    """Counts for the rater's own progress. Three queries, none of which tells what others did."""
    now = now or timezone.now()
    left = _count_left(rater, now)
    others = _unrated_by(rater).filter(leased_until__isnull=False, leased_until__gte=now).exclude(rater=rater)
    returns = list(others.order_by("leased_until").values_list("pair", "leased_until"))
    return Outlook(
        done=Rating.objects.filter(rater=rater).count(),
        left=min(left, COUNTED),
        more=left > COUNTED,
        held_by_others=len({pair for pair, _ in returns}),
        next_return=returns[0][1] if returns else None,
    )


# What an admin does


@transaction.atomic
def want(pair_ids: Sequence[int], wanted: int, *, depths: Mapping[int, int] | None = None) -> int:
    """Ask for `wanted` grades of each pair, and say how many are newly to give. Never asks for fewer.

    Grades that fill no assignment yet, as imported ones, fill the first of the new.
    `depths`: pair id -> the best place that a system gives its document, from 1. A worse place than one known
    from before changes nothing.
    """
    filled, added = [], []
    for start in range(0, len(pair_ids), 5_000):
        chunk = pair_ids[start : start + 5_000]
        pairs = Pair.objects.filter(pk__in=chunk)
        # First, because it locks the pairs: of two who ask at once, the second counts what the first has added.
        pairs.filter(wanted__lt=wanted).update(wanted=wanted)
        known = pairs.annotate(n=Count("assignments"), depth=Min("assignments__depth"))
        late: dict[int, list[int]] = {}
        for pair_id, rater_id in _uncounted().filter(pair__in=chunk).order_by("pk").values_list("pair", "rater"):
            late.setdefault(pair_id, []).append(rater_id)
        better: dict[int, list[int]] = {}
        rows = known.values_list("pk", "query", "query__collection", "n", "depth")
        for pk, query_id, collection_id, n, known_depth in rows:
            depth = min((depths or {}).get(pk, UNRANKED), UNRANKED if known_depth is None else known_depth)
            if n and depth < known_depth:
                better.setdefault(depth, []).append(pk)
            facts = {"pair_id": pk, "query_id": query_id, "collection_id": collection_id, "depth": depth}
            given = late.get(pk, [])[: max(0, wanted - n)]
            filled += [Assignment(**facts, rater_id=rater_id, state=State.DONE) for rater_id in given]
            added += [Assignment(**facts) for _ in range(wanted - n - len(given))]
        for depth, improved in better.items():
            Assignment.objects.filter(pair__in=improved).update(depth=depth)
    # A grade that another act has counted meanwhile is no reason to refuse the rest.
    Assignment.objects.bulk_create(filled, batch_size=5_000, ignore_conflicts=True)
    Assignment.objects.bulk_create(added, batch_size=5_000)
    return len(added)


@transaction.atomic
def record_imported(
    rater: Rater, rows: Iterable[ImportedRating], *, actor=None, at: datetime | None = None
) -> ImportedRatings:
    """Record ratings that were made elsewhere. The same rating again changes nothing. Call in batches."""
    at = at or timezone.now()
    rows = list(rows)
    if any((row.grade is None) == (row.reason == "") for row in rows):
        raise ValueError("A rating is a grade or a reason why the pair cannot be judged.")
    pairs = pairs_for([(row.query_id, row.document_id) for row in rows])
    stored = {r.pair_id: r for r in Rating.objects.filter(rater=rater, pair__in=pairs.values())}
    new, changed, events = [], [], []
    for row in rows:
        pair_id = pairs[row.query_id, row.document_id]
        grade_id = row.grade.pk if row.grade else None
        rating = stored.get(pair_id)
        if rating and (rating.grade_id, rating.reason, rating.comment) == (grade_id, row.reason, row.comment):
            continue
        moment = row.at or at
        if rating and rating.pk:
            changed.append(rating)
            rating.revision += 1
        elif rating:
            raise ValueError(f"Two ratings by {rater} of one pair in one batch: {rating.pair}")
        else:
            rating = stored[pair_id] = Rating(pair_id=pair_id, rater=rater, created_at=moment)
            new.append(rating)
        rating.grade, rating.reason, rating.comment = row.grade, row.reason, row.comment
        rating.changed_at = moment
        events.append(
            RatingEvent(
                pair_id=pair_id,
                rater=rater,
                kind=Kind.IMPORT,
                value=row.grade.value if row.grade else None,
                reason=row.reason,
                comment=row.comment,
                seconds=row.seconds,
                actor=actor,
                scale_version=rater.collection.scale_version,
                created_at=moment,
            )
        )
    Rating.objects.bulk_create(new, batch_size=5_000)
    Rating.objects.bulk_update(changed, ["grade", "reason", "comment", "revision", "changed_at"], batch_size=500)
    RatingEvent.objects.bulk_create(events, batch_size=5_000)
    _fill_open([r.pair_id for r in new if r.grade_id], rater)
    return ImportedRatings(len(new), len(changed), len(rows) - len(new) - len(changed))


def pairs_for(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """(query id, document id) -> pair id, making the pairs that are missing."""
    known = _known_pairs(wanted)
    missing = [Pair(query_id=q, document_id=d) for q, d in dict.fromkeys(wanted) if (q, d) not in known]
    if not missing:
        return known
    Pair.objects.bulk_create(missing, batch_size=5_000, ignore_conflicts=True)
    return _known_pairs(wanted)


# The parts


def _lock(rater: Rater) -> None:
    Rater.objects.select_for_update(no_key=True).get(pk=rater.pk)


def _sent_before(rater: Rater, client_key: UUID | None) -> RatingEvent | None:
    """The act that came with this key already: a retry, or a page that the back button brought back."""
    return RatingEvent.objects.filter(rater=rater, client_key=client_key).first() if client_key else None


def _free(now: datetime) -> Q:
    """An assignment that anybody may take. No sweeper: a lease that ran out is free by itself."""
    return Q(state=State.OPEN) | Q(state=State.LEASED, leased_until__lt=now)


def _row_of(pair, rater):
    return Assignment.objects.filter(pair=pair, rater=rater)


def _unrated_by(rater: Rater) -> QuerySet:
    rated = Rating.objects.filter(rater=rater, pair=OuterRef("pair"))
    return Assignment.objects.filter(collection=rater.collection_id).filter(~Exists(rated))


def _count_left(rater: Rater, now: datetime) -> int:
    """Pairs that the rater could rate now, counted up to one more than COUNTED."""
    could = _free(now) | Q(rater=rater, state=State.LEASED)
    earlier = Assignment.objects.filter(could, pair=OuterRef("pair"), pk__lt=OuterRef("pk"))
    one_a_pair = _unrated_by(rater).waiting().filter(could).filter(~Exists(earlier))
    # Neither DISTINCT nor no order: PostgreSQL would then read far more rows than it counts.
    return one_a_pair.order_by("lot")[: COUNTED + 1].count()


def _next(rater: Rater, now: datetime, lost: Sequence[int]) -> int | None:
    """Id of the pair that `rater` should try to take: one that is free for them, and not among `lost`."""
    free = _unrated_by(rater).waiting().filter(_free(now))
    if lost:
        free = free.exclude(pair__in=lost)
    put_off = RatingEvent.objects.filter(rater=rater, kind=Kind.SKIP, undone_by__isnull=True)
    skipped = put_off.filter(pair=OuterRef("pair"))
    at = RatingEvent.objects.filter(rater=rater).order_by("-pk").values_list("pair", "pair__query").first()
    fresh = free.filter(~Exists(skipped))
    found = next_pair(rater.collection.order, fresh, rater_id=rater.pk, at=at)
    if found:
        return found
    again = put_off.filter(Exists(free.filter(pair=OuterRef("pair")))).values("pair").annotate(last=Max("pk"))
    return again.order_by("last").values_list("pair", flat=True).first()


def _take(rater: Rater, pair_id: int, state: str, now: datetime) -> bool:
    """Give one free assignment of the pair to `rater`, if there still is one."""
    lease = now + LEASE if state == State.LEASED else None
    for pk in Assignment.objects.filter(_free(now), pair=pair_id).values_list("pk", flat=True):
        # The condition is checked again by the update itself: of two raters, one gets the row.
        if _given(Assignment.objects.filter(_free(now), pk=pk), rater.pk, state, lease):
            return True
    return False


def _given(row: QuerySet, rater_id: int, state: str, leased_until: datetime | None = None) -> bool:
    """Whether the assignment is the rater's now: it was as `row` says, and they had no other of its pair."""
    try:
        with transaction.atomic():
            return row.update(rater=rater_id, state=state, leased_until=leased_until) == 1
    except IntegrityError:
        return False


def _lease_again(rater: Rater, pair: Pair, now: datetime) -> None:
    done = _row_of(pair, rater).filter(state=State.DONE)
    if not done.update(state=State.LEASED, leased_until=now + LEASE):
        _take(rater, pair.pk, State.LEASED, now)


def _release(rater: Rater, pair: Pair | None = None) -> None:
    leased = Assignment.objects.filter(rater=rater, state=State.LEASED)
    _give_back(leased.filter(pair=pair) if pair else leased)


def _write(rating: Rating, *, grade: Grade | None, reason: str, comment: str, now: datetime) -> None:
    rating.grade, rating.reason, rating.comment = grade, reason, comment
    rating.revision += 1
    rating.changed_at = now
    rating.save()


def _event(rater: Rater, pair: Pair, kind: str, now: datetime, **facts) -> None:
    guidelines = rater.collection.latest_guidelines()
    RatingEvent.objects.create(
        rater=rater,
        pair=pair,
        kind=kind,
        actor_id=rater.user_id,
        scale_version=rater.collection.scale_version,
        guidelines_version=guidelines.version if guidelines else 0,
        created_at=now,
        **facts,
    )


def _settle(rating: Rating, now: datetime) -> None:
    """Make the assignments agree with the rating: a grade fills one, "cannot judge" gives it back."""
    own = _row_of(rating.pair_id, rating.rater_id)
    if not rating.grade_id:
        _give_back(own)
    elif not own.update(state=State.DONE, leased_until=None):
        _take(rating.rater, rating.pair_id, State.DONE, now)


def _give_back(rows: QuerySet) -> None:
    """Free assignments, or let each count a grade that came when all of its pair were taken."""
    for row in rows:
        as_seen = {"pk": row.pk, "rater": row.rater_id, "state": row.state, "leased_until": row.leased_until}
        still = Assignment.objects.filter(**as_seen)
        late = _uncounted().filter(pair=row.pair_id).exclude(rater=row.rater_id).first()
        if not (late and _given(still, late.rater_id, State.DONE)):
            still.update(rater=None, state=State.OPEN, leased_until=None)


def _count_late(rater: Rater, now: datetime) -> None:
    """Let grades that came while others held their pair fill it, where those leases have run out since."""
    expired = Assignment.objects.filter(
        collection=rater.collection_id, leased_until__isnull=False, leased_until__lt=now
    )
    _give_back(expired.filter(Exists(_uncounted().filter(pair=OuterRef("pair")))))


def _uncounted() -> QuerySet:
    """Grades that fill no assignment: imported, or later than their lease."""
    return Rating.objects.filter(grade__isnull=False).filter(~Exists(_row_of(OuterRef("pair"), OuterRef("rater"))))


def _before(event: RatingEvent) -> RatingEvent | None:
    """The event that set what the rater's rating of this pair was before `event`."""
    return (
        RatingEvent.objects.filter(
            pair=event.pair_id,
            rater=event.rater_id,
            kind__in=[Kind.GRADE, Kind.CANNOT, Kind.IMPORT],
            undone_by__isnull=True,
            pk__lt=event.pk,
        )
        .order_by("-pk")
        .first()
    )


def _restore(rater: Rater, pair: Pair, earlier: RatingEvent | None, now: datetime) -> None:
    rating = Rating.objects.filter(pair=pair, rater=rater).first()
    grade = None
    if earlier and earlier.value is not None:
        grade = Grade.objects.filter(collection=rater.collection_id, value=earlier.value).first()
    # A step that the scale no longer has cannot be gone back to: then the pair is unrated again.
    if earlier is None or (earlier.value is not None and grade is None):
        Rating.objects.filter(pair=pair, rater=rater).delete()
        return
    rating = rating or Rating(pair=pair, rater=rater, revision=0, created_at=now)
    _write(rating, grade=grade, reason=earlier.reason, comment=earlier.comment, now=now)
    _settle(rating, now)


def _fill_open(pair_ids: list[int], rater: Rater) -> None:
    """Let imported grades fill open assignments of their pairs."""
    for start in range(0, len(pair_ids), 5_000):
        rows = Assignment.objects.filter(pair__in=pair_ids[start : start + 5_000], state=State.OPEN)
        first = dict(rows.order_by("-pk").values_list("pair", "pk"))
        Assignment.objects.filter(pk__in=first.values(), state=State.OPEN).update(rater=rater, state=State.DONE)


def _known_pairs(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """One database query for each search query among `wanted`."""
    known = {}
    by_query: dict[int, set[int]] = {}
    for query_id, document_id in wanted:
        by_query.setdefault(query_id, set()).add(document_id)
    for query_id, documents in by_query.items():
        rows = Pair.objects.filter(query=query_id).values_list("document_id", "pk")
        known |= {(query_id, d): pk for d, pk in rows if d in documents}
    return known

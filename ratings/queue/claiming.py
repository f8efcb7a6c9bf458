"""Make a rater hold what they should rate next."""

from datetime import datetime
from functools import cache

from django.db.models import Case, F, Q, When
from django.utils import timezone

from ..models import Assignment, Rater, Rating
from ..prepared import Blank, Prepared, PreparedUpdate
from .acts import lock, locking, transacted
from .choosing import Line, choose, looking
from .leases import LEASE, NOW, RATER, State, free, lost, release_all
from .mixing import Again, Extra, hold_extras, mixed, put_before, to_warm_up, warm_up
from .tasks import REPEAT, Task, held, held_assignments, in_turn, open_checks

MOST_HELD = 20


@transacted
def claim(rater: Rater, count: int = 1, *, now: datetime | None = None) -> list[Task]:
    """Make `rater` hold up to `count` tasks, those held already among them; all that they hold, in order.

    What is held stays theirs until they rate it, put it off or stop, or until the lease, which is renewed by each
    claim, runs out and somebody else takes it. The collection says in which order pairs come; what a rater put
    off comes after everything else, the longest put off first. Who is to warm up gets nothing else before, but
    what they take back.
    Near the end a rater gets no more than their share of what is left. Four queries, where the query at hand
    has enough and nothing is mixed in.
    """
    now, count = now or timezone.now(), min(count, MOST_HELD)
    me = _look(rater=rater.pk)[0]
    if not me.active:
        release_all(me)
        return []
    if me.to_warm_up and to_warm_up(me).exists():
        warm_up(me, count, now)
        return held(me)
    missed: set[int] = set()
    rows: list[Assignment] = []
    while True:
        own, chosen = choose(me, count, now, missed)
        items = mixed(me, chosen, own.tasks, now)
        if not own.tasks and not items:
            return []
        turns = {item: own.turn + place for place, item in enumerate(items, 1)}
        lines = {line: turn for line, turn in turns.items() if isinstance(line, Line)}
        rows = _hold(me, turns, lines, now, wait=not (missed and rows))
        got = {row.pk for row in rows}
        lost((line.rater, line.pair) for line in lines if line.pk in got)
        # The others went to somebody who was quicker: look again without them.
        missed |= {line.pk for line in lines} - got
        if missed.isdisjoint(line.pk for line in lines):
            return in_turn(me, rows, open_checks(rater=me.pk) if own.checks or len(lines) < len(turns) else ())


_look = Prepared(lambda: locking(looking().filter(pk=Blank("rater", Rating, "rater"))))


@transacted
def stop(rater: Rater) -> None:
    """Give back whatever `rater` holds."""
    release_all(lock(rater))


def _hold(me: Rater, turns: dict, lines: dict[Line, int], now: datetime, *, wait: bool) -> list[Assignment]:
    """Make `me` hold these at these turns; what is then leased to them. Two queries, where all are lines."""
    _lease(me, lines, now, wait=wait)
    if len(lines) < len(turns):
        hold_extras(me, {item: turn for item, turn in turns.items() if isinstance(item, Extra)}, now)
        again = {item.pair: turn for item, turn in turns.items() if isinstance(item, Again)}
        put_before(me, REPEAT, again, now)
    return held_assignments(rater=me.pk)


def _lease(me: Rater, lines: dict[Line, int], now: datetime, *, wait: bool) -> None:
    """Lease to `me` what is still free of `lines`, and renew what they hold. One query.

    Whoever is slower waits and then sees that the row is gone. Rows are locked in one order, so that no two wait
    for each other; who has locked some and looks again must not wait.
    """
    chosen = {f"line{place}": line.pk for place, line in enumerate(lines)}
    turns = {f"turn{place}": turn for place, turn in enumerate(lines.values())}
    _leasing(len(lines), wait)(rater=me.pk, now=now, until=now + LEASE, **chosen, **turns)


@cache
def _leasing(lines: int, wait: bool) -> PreparedUpdate:
    chosen = [Blank(f"line{place}", Assignment, "id") for place in range(lines)]
    turns = [Blank(f"turn{place}", Assignment, "turn") for place in range(lines)]
    wanted = Q(rater=RATER, state=State.LEASED)
    if chosen:
        wanted |= Q(free(NOW), pk__in=chosen)
    locked = Assignment.objects.filter(wanted).order_by("pk").select_for_update(no_key=True, skip_locked=not wait)
    cases = (When(pk=pk, then=turn) for pk, turn in zip(chosen, turns, strict=True))
    return PreparedUpdate(
        lambda: Assignment.objects.filter(pk__in=locked.values("pk")),
        rater=RATER,
        state=State.LEASED,
        leased_until=Blank("until", Assignment, "leased_until"),
        turn=Case(*cases, default=F("turn")),
    )

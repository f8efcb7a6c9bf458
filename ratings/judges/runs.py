"""Runs: started, paused, cancelled, resumed, and done by a worker.

A row for each pair waits in the database before the first call, so a kill loses only what was under way. Calls are
counted before they are made: no kill lets a run make more than its cap.
"""

import heapq
import logging
import random
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from .. import audit
from ..audit import Act, note
from ..formats.refusal import as_sentence
from ..models import JudgeRun, JudgeVersion, MachineGrade, Probe
from ..models.judge import LEASE, Answer
from . import choosing, gate, probes, wire
from .asking import Outcome, Telling, asked

log = logging.getLogger(__name__)

State = JudgeRun.State
Row = MachineGrade.State
LOOK_EVERY = 2.0  # seconds: a worker looks for runs
MOST_AT_ONCE = 64  # calls
TRIES = 5  # of one pair
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries of a pair
STORE_EVERY = 0.25  # seconds
BEAT = LEASE.total_seconds() / 6  # between two heartbeats
PIECE = 200  # rows that are read at a time
AHEAD = 2  # calls that are counted before they are made, for each that is made at the same time
MOST_FAILURES = 50  # one after the other: then the server is at fault, and the run stops
FIELDS = [
    "state", "value", "problem", "detail", "answer", "model", "tokens_in", "tokens_out", "cost", "seconds",
    "tries", "at",
]  # fmt: skip


# Requests of people


@dataclass(frozen=True)
class Limits:
    """The limits of a run."""

    calls: int
    cost: Decimal | None = None
    concurrency: int = 4
    per_minute: int = 0


def start(version: JudgeVersion, choice: str, options: dict, limits: Limits, by=None) -> JudgeRun:
    """A new run that waits for a worker. Raises ValueError with the cure, also where the gate is shut."""
    _refuse(version, choice, limits)
    asks = choosing.asks_of(version, choice, options)
    return _begin(version, choice, options, limits, by, lambda run: choosing.rows_of(run, asks), set(asks))


def start_probes(version: JudgeVersion, queries: int, seed: int, limits: Limits, by=None) -> JudgeRun:
    """A new run that asks about probes for so many queries, drawn at random. Raises ValueError with the cure."""
    _refuse(version, JudgeRun.Choice.PROBES, limits)
    chosen = probes.queries_of(version, queries, seed)
    options, wanted = (
        {"queries": queries, "seed": seed},
        {(query, kind) for query in chosen for kind in Probe.Kind},
    )
    return _begin(
        version, JudgeRun.Choice.PROBES, options, limits, by, lambda run: [probes.rows_of(run, chosen)], wanted
    )


def _begin(
    version: JudgeVersion,
    choice: str,
    options: dict,
    limits: Limits,
    by,
    rows: Callable[[JudgeRun], Iterable[list]],
    wanted: set[tuple],
) -> JudgeRun:
    with transaction.atomic():
        facts = {"version": version, "by": by, "choice": choice, "options": options}
        caps = {"most_calls": limits.calls, "most_cost": limits.cost}
        pace = {"concurrency": limits.concurrency, "per_minute": limits.per_minute}
        run = JudgeRun.objects.create(**facts, **caps, **pace)
        _enter(run, rows(run), wanted)
        if not run.pairs:
            raise ValueError("All of these are answered or waiting already, so there is nothing to ask")
        about = f"{version.judge.name}, version {version.number}"
        note(Act.JUDGE_RUN, version.judge.collection, about=about, run=run.pk, choice=choice, pairs=run.pairs)
    return run


def _refuse(version: JudgeVersion, choice: str, limits: Limits) -> None:
    if not version.endpoint:
        raise ValueError("This version was made elsewhere and has no address to ask. Make a version with one")
    if problem := gate.refusal(version.judge, choice):
        raise ValueError(problem)
    if limits.calls < 1 or not 1 <= limits.concurrency <= MOST_AT_ONCE:
        raise ValueError(f"A run makes at least one call, and 1 to {MOST_AT_ONCE} at the same time")
    wire.Endpoint.of(version.endpoint)


def _enter(run: JudgeRun, rows: Iterable[list], wanted: set[tuple]) -> None:
    """Write the rows of the run, but for what the version answered already or another run has.

    wanted: what identifies them besides the version.
    """
    model = run.answers.model
    key = ("query", "kind") if model is Probe else ("query", "document", "repeat")
    of_version = model.objects.filter(version=run.version)
    of_version.filter(state=Row.WAITING, run__state=State.CANCELLED).delete()
    for some in rows:
        model.objects.bulk_create(some, ignore_conflicts=True)
    again = of_version.filter(
        state=Row.UNGRADED, problem__in=choosing.UNANSWERED, run__state__in=[State.DONE, State.CANCELLED]
    )
    pks = [pk for pk, *each in again.values_list("pk", *key).iterator() if tuple(each) in wanted]
    for start in range(0, len(pks), choosing.AT_ONCE):
        some = model.objects.filter(pk__in=pks[start : start + choosing.AT_ONCE])
        some.update(run=run, state=Row.WAITING, problem="", detail="", answer="", tries=0)
    run.pairs = run.answers.count()
    run.save(update_fields=["pairs"])


def pause(run: JudgeRun) -> bool:
    """Pause it: calls that are under way end, and are stored. False where it does not wait or run."""
    return _change(run, [State.QUEUED, State.RUNNING], State.PAUSED)


def cancel(run: JudgeRun) -> bool:
    """Cancel it: what was answered stays. False where it is over."""
    open_ones = [State.QUEUED, State.RUNNING, State.PAUSED, State.CAPPED, State.FAILED]
    return _change(run, open_ones, State.CANCELLED, ended_at=timezone.now())


def resume(run: JudgeRun, *, calls: int | None = None, cost: Decimal | None = None) -> bool:
    """Let a worker go on, with higher caps if they are given. False where it is over or at work.

    Raises ValueError for a cap that is reached already.
    """
    caps = {}
    if calls is not None:
        if calls <= run.calls:
            raise ValueError(f"The run made {run.calls} calls already. Give a higher cap")
        caps["most_calls"] = calls
    if cost is not None:
        caps["most_cost"] = cost
    return _change(run, [State.PAUSED, State.CAPPED, State.FAILED], State.QUEUED, message="", **caps)


@transaction.atomic
def _change(run: JudgeRun, states: list[str], to: str, **facts) -> bool:
    if not JudgeRun.objects.filter(pk=run.pk, state__in=states).update(state=to, **facts):
        return False
    run.refresh_from_db()
    judge = run.version.judge
    note(Act.JUDGE_RUN_CHANGED, judge.collection, about=judge.name, run=run.pk, state=str(to))
    return True


# The worker


class Superseded(Exception):
    """Another worker has taken the run up."""


def work_due() -> None:
    """Take up one run that waits, or whose worker died, and work on it until it stops."""
    silent = JudgeRun.objects.filter(state=State.RUNNING, beat_at__lt=timezone.now() - LEASE)
    run = silent.first() or JudgeRun.objects.filter(state=State.QUEUED).order_by("pk").first()
    if run and run.take_up():
        work_on(run)


def work_on(run: JudgeRun) -> None:
    """Work on a run that this worker has taken up. Failures are stored in it."""
    with audit.acting_for(run.by):
        try:
            _Work(run).go()
        except Superseded:
            return
        except (ValueError, OSError) as error:
            _end(run, State.FAILED, as_sentence(error))
        except Exception:
            log.exception("Run %s of a judge failed", run.pk)
            _end(run, State.FAILED, "Idealist made a mistake here. Its log tells more.")


def _end(run: JudgeRun, state: str, message: str = "") -> None:
    run.mine().update(state=state, message=message[:300], ended_at=timezone.now())


class _Item(NamedTuple):
    """A pair that is to be asked, when, and with which try."""

    at: float
    place: int  # so that items can be compared
    row: Answer
    prompt: str
    number: int


@dataclass
class _Work:
    """One worker's turn at a run. Threads only make calls; the database is of this one."""

    run: JudgeRun
    done: list[Answer] = field(default_factory=list)  # not stored yet
    due: list[_Item] = field(default_factory=list)  # a heap, of pairs that are tried again
    failures: int = 0  # one after the other
    stop: tuple[str, str] | None = None  # the state and why

    def go(self) -> None:
        version = self.run.version
        self.endpoint, self.telling = wire.Endpoint.of(version.endpoint), Telling(version)
        self.rows = self._waiting()
        self.read: _Item | None = None  # the next pair, already read
        self.allowed = 0  # calls that are counted and not made
        self.risk: dict[Future, tuple[_Item, Decimal]] = {}  # calls under way, and what each can cost at most
        self.spent = self.run.cost
        self.next_at = self.quiet_until = self.stored_at = self.beat_at = time.monotonic()
        with ThreadPoolExecutor(self.run.concurrency) as lines:
            try:
                while self._on():
                    self._send(lines)
                    self._take()
                    self._store()
            finally:
                lines.shutdown(cancel_futures=True)
        self._store(last=True)
        state, why = self.stop or (State.DONE, "")
        if state:
            _end(self.run, state, why)

    def _on(self) -> bool:
        """Whether work is left: calls under way, or pairs and no reason to stop."""
        return bool(self.risk) or (self.stop is None and self._next() is not None)

    # What is asked next

    def _waiting(self):
        """The pairs that wait, some at a time, with their prompts."""
        last = 0
        rows = self.run.answers.filter(state=Row.WAITING).order_by("pk")
        rows = rows.select_related("query") if rows.model is Probe else rows.select_related("query", "document")
        while some := list(rows.filter(pk__gt=last)[:PIECE]):
            for row in some:
                last = row.pk
                try:
                    prompt = self.telling.prompt(row.query, probes.document_of(row, self.telling))
                except ValueError as error:
                    self._keep(row, Outcome(0.0, _unasked(error)), 0)
                    continue
                row._state.fields_cache.clear()  # query and document: their texts are in the prompt
                yield _Item(0.0, row.pk, row, prompt, 1)

    def _next(self) -> _Item | None:
        """The next pair: one that is to be tried again, if its time has come; else one that was not asked yet."""
        if self.read is None:
            self.read = next(self.rows, None)
        if self.due and (self.due[0].at <= time.monotonic() or self.read is None):
            return self.due[0]
        return self.read

    def _send(self, lines: ThreadPoolExecutor) -> None:
        """Begin calls, as many as limits and caps allow now."""
        while self.stop is None and len(self.risk) < self.run.concurrency and (item := self._next()):
            now = time.monotonic()
            if max(item.at, self.quiet_until, self.next_at) > now:
                return
            most = self.telling.most_cost(item.prompt)
            if not self._may_cost(most):
                return
            if not self.allowed and not self._allow():
                return
            if self.due and item is self.due[0]:
                heapq.heappop(self.due)
            else:
                self.read = None
            self.allowed -= 1
            if self.run.per_minute:
                self.next_at = max(now, self.next_at) + 60 / self.run.per_minute
            self.risk[lines.submit(asked, self.endpoint, self.telling, item.prompt)] = item, most

    def _may_cost(self, most: Decimal) -> bool:
        cap = self.run.most_cost
        if cap is None or self.spent + sum(cost for _, cost in self.risk.values()) + most <= cap:
            return True
        if not self.risk:
            self.stop = State.CAPPED, "One more call could cost more than the cap."
        return False

    def _allow(self) -> bool:
        """Count some calls ahead in the database. False where the cap is reached or the run was stopped."""
        mine = JudgeRun.objects.filter(pk=self.run.pk, attempt=self.run.attempt)
        with transaction.atomic():
            run = mine.select_for_update().first()
            if run is None:
                raise Superseded
            if run.state != State.RUNNING:
                self.stop = "", ""
                return False
            more = min(AHEAD * run.concurrency, run.most_calls - run.calls)
            if more <= 0:
                if not self.risk:
                    self.stop = State.CAPPED, "It made as many calls as it may."
                return False
            mine.update(calls=F("calls") + more)
        self.allowed = more
        return True

    # What came of it

    def _take(self) -> None:
        """Take the calls that ended, after a short wait for one."""
        if not self.risk:
            if self.stop is None and (item := self._next()):
                till = max(item.at, self.quiet_until, self.next_at) - time.monotonic()
                time.sleep(min(max(till, 0.0), STORE_EVERY))
            return
        ended, _ = wait(self.risk, timeout=STORE_EVERY, return_when=FIRST_COMPLETED)
        for future in ended:
            item, _ = self.risk.pop(future)
            self._heard(item, future.result())

    def _heard(self, item: _Item, outcome: Outcome) -> None:
        failed = outcome.failed
        if failed is None:
            self.failures = 0
            self.spent += outcome.fields["cost"]
            self._keep(item.row, outcome, item.number)
            return
        self.failures += 1
        if failed.wrong:  # no other pair will do better, so this one waits, too
            self.stop = State.FAILED, f"{as_sentence(failed.detail)} Check address, model, key and parameters."
        elif failed.again and item.number < TRIES:
            self._try_again(item, failed)
        else:
            self._keep(item.row, outcome, item.number)
        if self.failures >= MOST_FAILURES and self.stop is None:
            self.stop = State.FAILED, f"{MOST_FAILURES} calls failed one after the other: {failed.detail}"

    def _try_again(self, item: _Item, failed: wire.Failed) -> None:
        now = time.monotonic()
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (item.number - 1)) * random.uniform(0.5, 1.0)
        if failed.after is not None:
            self.quiet_until = max(self.quiet_until, now + failed.after)
            pause = failed.after + random.uniform(0.0, min(pause, 1.0))
        heapq.heappush(self.due, item._replace(at=now + pause, number=item.number + 1))

    def _keep(self, row: Answer, outcome: Outcome, tries: int) -> None:
        for name, value in outcome.fields.items():
            setattr(row, name, value)
        row.seconds, row.tries, row.at = round(outcome.seconds, 6), tries, timezone.now()
        self.done.append(row)

    def _store(self, *, last: bool = False) -> None:
        """Store what was answered, at most four times a second. Sees whether somebody stopped the run."""
        if not last and time.monotonic() - self.stored_at < STORE_EVERY:
            return
        rows, self.done, self.stored_at = self.done, [], time.monotonic()
        if rows or last or self.stored_at - self.beat_at > BEAT:
            self.beat_at = self.stored_at
            self._write(rows, last)
        if self.stop is None and not self.run.mine().exists():
            self.stop = "", ""  # paused or cancelled: what is under way ends

    def _write(self, rows: list[Answer], last: bool) -> None:
        graded = sum(row.state == Row.GRADED for row in rows)
        sums = {name: sum(getattr(row, name) or 0 for row in rows) for name in ("tokens_in", "tokens_out")}
        sums |= {
            "graded": graded,
            "ungraded": len(rows) - graded,
            "cost": sum((r.cost or 0 for r in rows), Decimal(0)),
        }
        if last:
            sums["calls"], self.allowed = -self.allowed, 0
        changes = {name: F(name) + number for name, number in sums.items() if number}
        mine = JudgeRun.objects.filter(pk=self.run.pk, attempt=self.run.attempt)
        with transaction.atomic():
            if not mine.update(beat_at=timezone.now(), **changes):
                raise Superseded
            for start in range(0, len(rows), PIECE):
                # As an upsert one statement writes many rows.
                some = rows[start : start + PIECE]
                written = {"update_conflicts": True, "unique_fields": ["id"], "update_fields": FIELDS}
                self.run.answers.model.objects.bulk_create(some, **written)


def _unasked(error: ValueError) -> dict:
    return {"state": Row.UNGRADED, "problem": MachineGrade.Problem.UNKNOWN, "detail": str(error)[:300]}

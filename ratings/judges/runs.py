"""Runs of judges: start, pause, cancel and resume them, and do them in a worker.

The rows of all pairs are in the database before the first call, so a kill loses only the calls under way. Calls
are counted before they are made, so that even a killed run never exceeds its cap.
"""

import heapq
import logging
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from typing import NamedTuple

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Least
from django.utils import timezone

from ..models import Collection, JudgeRun, JudgeVersion, MachineGrade, Probe
from ..models.judge import LEASE, MOST_MONEY, Answer
from ..people.audit import Act, note
from ..words import as_sentence
from . import choosing, gate, probes, wire
from .asking import CallBuilder, Outcome, call_once, problem_fields

log = logging.getLogger(__name__)

State = JudgeRun.State
Row = MachineGrade.State
MOST_AT_ONCE = 64  # calls
MOST_CALLS, MOST_PER_MINUTE = 2**31 - 1, 1_000_000
TRIES = 5  # of one pair
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries of a pair
STORE_EVERY = 0.25  # seconds
LOOK = 1.0  # seconds between two looks for further runs, while one is at work
BEAT = LEASE.total_seconds() / 6  # between two heartbeats
PIECE = 200  # rows that are read at a time
AHEAD = 2  # calls that are counted in advance, for each call that may be under way at the same time
MOST_REFUSED = 5  # calls before the first answer; then the parameters are at fault, and the run stops
MOST_FAILURES = 50  # in a row; then the server is at fault, and the run stops
MOST_UNGRADED = 20  # answers before the first grade; then prompt or parameters are at fault, and the run pauses
OVER = object()  # in place of a turn
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
    """A new run that waits for a worker. Raises ValueError with the cure, also if the gate refuses it."""
    _check(version, choice, limits)
    asks = choosing.asks_of(version, choice, options)
    facts = {"version": version, "choice": choice, "options": options, "by": by}
    return _begin(facts, limits, lambda run: choosing.rows_of(run, asks), set(asks))


def start_probes(version: JudgeVersion, queries: int, seed: int, limits: Limits, by=None) -> JudgeRun:
    """A new run that asks about probes for so many queries, drawn at random. Raises ValueError with the cure."""
    _check(version, JudgeRun.Choice.PROBES, limits)
    chosen = probes.queries_of(version, queries, seed)
    facts = {"version": version, "choice": JudgeRun.Choice.PROBES, "by": by}
    facts["options"] = {"queries": queries, "seed": seed}
    return _begin(facts, limits, lambda run: [probes.rows_of(run, chosen)], set(product(chosen, Probe.Kind)))


def _begin(facts: dict, limits: Limits, rows: Callable[[JudgeRun], Iterable], wanted: set[tuple]) -> JudgeRun:
    """A new run with these facts and its rows, as `_enter` writes them."""
    with transaction.atomic():
        caps = {"most_calls": limits.calls, "most_cost": limits.cost}
        pace = {"concurrency": limits.concurrency, "per_minute": limits.per_minute}
        run = JudgeRun.objects.create(**facts, **caps, **pace)
        _enter(run, rows(run), wanted)
        version, told = run.version, {"run": run.pk, "choice": run.choice, "pairs": run.pairs}
        about = f"{version.judge.name}, version {version.number}"
        note(Act.JUDGE_RUN, version.judge.collection, about=about, **told)
    return run


def _check(version: JudgeVersion, choice: str, limits: Limits) -> None:
    if not version.endpoint:
        raise ValueError("This version was made elsewhere and has no address to ask. Make a version with one")
    if problem := gate.refusal(version.judge, choice):
        raise ValueError(problem)
    if limits.calls < 1 or not 1 <= limits.concurrency <= MOST_AT_ONCE:
        raise ValueError(f"A run makes at least one call, and 1 to {MOST_AT_ONCE} at the same time")
    if limits.calls > MOST_CALLS or not 0 <= limits.per_minute <= MOST_PER_MINUTE:
        raise ValueError(f"A run makes at most {MOST_CALLS:,} calls, and 0 to {MOST_PER_MINUTE:,} a minute")
    wire.Endpoint.of(version.endpoint)


def _enter(run: JudgeRun, rows: Iterable[list], wanted: set[tuple]) -> None:
    """Write the rows of the run, except those that the version has answered or another run holds.

    `wanted`: the keys of the rows, without the version. Raises ValueError if the run would ask nothing.
    """
    model, version = run.answers.model, run.version
    # Nobody resumes a run meanwhile, whose rows are taken over here.
    list(version.runs.select_for_update().filter(state__in=choosing.ENDED).values_list("pk"))
    asks = choosing.to_ask(version, wanted, model)
    if not asks:
        raise ValueError(_nothing_to_ask(version, wanted, model))
    left = choosing.left(version, model).values_list("pk", *choosing.KEYS[model])
    pks = [pk for pk, *each in left.iterator() if tuple(each) in asks]
    for some in rows:
        model.objects.bulk_create(some, ignore_conflicts=True)
    for start in range(0, len(pks), choosing.AT_ONCE):
        some = model.objects.filter(pk__in=pks[start : start + choosing.AT_ONCE])
        some.update(run=run, state=Row.WAITING, problem="", detail="", answer="", tries=0)
    run.pairs = run.answers.count()
    run.save(update_fields=["pairs"])


def _nothing_to_ask(version: JudgeVersion, wanted: set[tuple], model: type[Answer]) -> str:
    """Why a run would ask nothing, with the cure if other runs hold the pairs."""
    waiting = model.objects.filter(version=version, state=Row.WAITING).exclude(run__state__in=choosing.ENDED)
    rows = waiting.values_list("run", *choosing.KEYS[model])
    held = sorted({run for run, *each in rows.iterator() if tuple(each) in wanted})
    if not held:
        return "All of these are answered already, so there is nothing to ask"
    names = " and ".join(f"run {run}" for run in held)
    return f"There is nothing to ask: what has no answer yet waits in {names}. Continue or cancel it on its page"


def pause(run: JudgeRun) -> bool:
    """Whether the run is paused now; calls under way end and are stored. False if it neither waits nor runs."""
    return _change(run, [State.QUEUED, State.RUNNING], State.PAUSED)


def pause_all(collection: Collection) -> None:
    """Pause the runs of a collection that is deleted or put away."""
    live = JudgeRun.objects.filter(state__in=[State.QUEUED, State.RUNNING])
    for run in live.filter(version__judge__collection=collection):
        pause(run)


def cancel(run: JudgeRun) -> bool:
    """Whether the run is cancelled now; its answers stay. False if it is over."""
    open_ones = [State.QUEUED, State.RUNNING, State.PAUSED, State.CAPPED, State.FAILED]
    return _change(run, open_ones, State.CANCELLED, ended_at=timezone.now())


def resume(run: JudgeRun, *, calls: int | None = None, cost: Decimal | None = None) -> bool:
    """Whether a worker may continue the run now, with new caps if given. False if it is over or at work.

    Raises ValueError for a cap of calls that is reached already. A cap of cost is not compared: the worker knows
    what a call may cost, and stops the run before one that would exceed it.
    """
    caps: dict[str, int | Decimal] = {}
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
    """Work on the runs that wait, or whose worker died, until none is left: one of each collection, in turns.

    So a run of one call a minute holds up only the others of its collection.
    """
    at_work: dict[int, Iterator[None]] = {}  # by collection
    looked = -math.inf
    while True:
        if time.monotonic() - looked >= LOOK:
            looked = time.monotonic()
            for run in _due():
                collection = run.version.judge.collection_id
                if collection not in at_work and run.take_up():
                    at_work[collection] = work_on(run, at_work)
        for collection in [each for each, turns in at_work.items() if next(turns, OVER) is OVER]:
            del at_work[collection]
        if not at_work:
            return


def _due() -> list[JudgeRun]:
    in_use = JudgeRun.objects.in_use().select_related("version__judge").order_by("pk")
    silent = in_use.filter(state=State.RUNNING, beat_at__lt=timezone.now() - LEASE)
    return [*silent, *in_use.filter(state=State.QUEUED)]


def work_on(run: JudgeRun, beside: Sized = ()) -> Iterator[None]:
    """Work on a run that this worker has taken up, a short turn at each step. Failures are stored in the run.

    `beside`: the runs that take turns with it, itself among them.
    """
    try:
        yield from _Work(run, beside).turns()
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
    """A pair to ask about: when, its row and prompt, and the number of the try."""

    at: float
    place: int  # so that items can be compared
    row: Answer
    prompt: str
    number: int


@dataclass
class _Work:
    """One worker's turn at a run. The threads only make calls; only the main thread uses the database."""

    run: JudgeRun
    beside: Sized = ()
    done: list[Answer] = field(default_factory=list)  # not stored yet
    due: list[_Item] = field(default_factory=list)  # a heap, of pairs that are tried again
    failures: int = 0  # in a row
    refusals: list[str] = field(default_factory=list)  # what the server said, before its first answer
    last_failure: str = ""
    ungraded: list[dict] = field(default_factory=list)  # the fields of the answers before the first grade
    stop: tuple[str, str] | None = None  # the state and why

    def turns(self) -> Iterator[None]:
        version = self.run.version
        self.endpoint, self.builder = wire.Endpoint.of(version.endpoint), CallBuilder(version)
        self.rows = self._waiting()
        self.read: _Item | None = None  # the next pair, already read
        self.allowed = 0  # calls that are counted and not made
        self.under_way: dict[Future, tuple[_Item, Decimal]] = {}  # calls under way, and what each can cost at most
        self.spent = self.run.cost
        # A failed call has no cost.
        of_version = self.run.answers.model.objects.filter(version=version)
        self.answered = of_version.filter(cost__isnull=False).exists()  # whether the server ever answered
        self.graded = self.run.graded > 0
        self.next_at = self.quiet_until = self.stored_at = self.beat_at = time.monotonic()
        with ThreadPoolExecutor(self.run.concurrency) as threads:
            try:
                # Calls are under way, or there are pairs and no reason to stop.
                while self.under_way or (self.stop is None and self._next() is not None):
                    self._send(threads)
                    self._collect()
                    self._store()
                    yield
            finally:
                threads.shutdown(cancel_futures=True)
        self._store(last=True)
        state, why = self.stop or self._refused() or (State.DONE, "")
        if state:
            _end(self.run, state, why)

    # The next calls

    def _waiting(self):
        """The items of the waiting pairs, read in pieces."""
        last = 0
        rows = self.run.answers.filter(state=Row.WAITING).order_by("pk")
        rows = rows.select_related("query") if rows.model is Probe else rows.select_related("query", "document")
        while some := list(rows.filter(pk__gt=last)[:PIECE]):
            for row in some:
                last = row.pk
                try:
                    prompt = self.builder.prompt(row.query, probes.document_of(row, self.builder))
                except ValueError as error:
                    self._keep(row, Outcome(0.0, problem_fields(MachineGrade.Problem.UNKNOWN, str(error))), 0)
                    continue
                row._state.fields_cache.clear()  # query and document: their texts are in the prompt
                yield _Item(0.0, row.pk, row, prompt, 1)

    def _next(self) -> _Item | None:
        """The next pair: one to try again, if its time has come; else one that was not asked about yet."""
        if self.read is None:
            self.read = next(self.rows, None)
        if self.due and (self.due[0].at <= time.monotonic() or self.read is None):
            return self.due[0]
        return self.read

    def _send(self, threads: ThreadPoolExecutor) -> None:
        """Start as many calls as limits and caps allow now."""
        while self.stop is None and len(self.under_way) < self.run.concurrency and (item := self._next()):
            now = time.monotonic()
            if max(item.at, self.quiet_until, self.next_at) > now:
                return
            most = self.builder.most_cost(item.prompt)
            if not self._may_go_on() or not self._may_cost(most):
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
            self.under_way[threads.submit(call_once, self.endpoint, self.builder, item.prompt)] = item, most

    def _may_go_on(self) -> bool:
        """Whether the server has answered before, or has not refused too many calls without that.

        Answers under way are waited for, as a refusal comes faster.
        """
        if len(self.refusals) < MOST_REFUSED:
            return True
        if not self.under_way:
            self.stop = self._refused()
        return False

    def _refused(self) -> tuple[str, str] | None:
        """The end of a run whose calls were refused before any was answered."""
        if not self.refusals:
            return None
        problem = f"The server refuses every call: {self.refusals[-1]}."
        return State.FAILED, f"{problem} Check key, model and parameters."

    def _may_cost(self, most: Decimal) -> bool:
        cap = self.run.most_cost
        if cap is None or self.spent + sum(cost for _, cost in self.under_way.values()) + most <= cap:
            return True
        if not self.under_way:
            self._stop_at_cap("One more call could cost more than the cap.")
        return False

    def _allow(self) -> bool:
        """Whether further calls were counted in the database. False at the cap, or if the run was stopped."""
        mine = JudgeRun.objects.filter(pk=self.run.pk, attempt=self.run.attempt)
        with transaction.atomic():
            run = mine.select_for_update().first()
            if run is None:
                raise Superseded
            if run.state != State.RUNNING:
                self.stop = "", ""
                return False
            if not JudgeRun.objects.in_use().filter(pk=run.pk).exists():
                self.stop = State.PAUSED, "The collection was deleted or put away."
                return False
            more = min(AHEAD * run.concurrency, run.most_calls - run.calls)
            if more <= 0:
                if not self.under_way:
                    self._stop_at_cap("It made as many calls as it may.")
                return False
            mine.update(calls=F("calls") + more)
        self.allowed = more
        return True

    def _stop_at_cap(self, why: str) -> None:
        failed = f" The last call that failed: {as_sentence(self.last_failure)}" if self.last_failure else ""
        self.stop = State.CAPPED, why + failed

    # Their outcomes

    def _collect(self) -> None:
        """Record the calls that have ended, after a short wait for one."""
        patience = STORE_EVERY / max(len(self.beside), 1)
        if not self.under_way:
            if self.stop is None and (item := self._next()):
                till = max(item.at, self.quiet_until, self.next_at) - time.monotonic()
                time.sleep(min(max(till, 0.0), patience))
            return
        ended, _ = wait(self.under_way, timeout=patience, return_when=FIRST_COMPLETED)
        for future in ended:
            item, _ = self.under_way.pop(future)
            self._record(item, future.result())

    def _record(self, item: _Item, outcome: Outcome) -> None:
        failed = outcome.failed
        if failed is None:
            self.failures, self.answered = 0, True
            self.refusals.clear()
            self.spent += outcome.fields["cost"]
            self._keep(item.row, outcome, item.number)
            self._count_ungraded(outcome.fields)
            return
        self.failures += 1
        self.last_failure = failed.detail
        if failed.refused and not self.answered:
            self.refusals.append(failed.detail)
        if failed.wrong:  # the calls about all other pairs would fail, too; this pair stays waiting like them
            self.stop = State.FAILED, f"{as_sentence(failed.detail)} Check address, model, key and parameters."
        elif failed.again and item.number < TRIES:
            self._try_again(item, failed)
        else:
            self._keep(item.row, outcome, item.number)
        if self.failures >= MOST_FAILURES and self.stop is None:
            self.stop = State.FAILED, f"{MOST_FAILURES} calls in a row failed: {failed.detail}"

    def _count_ungraded(self, fields: dict) -> None:
        """Pause a run that would only pay for answers without a grade."""
        self.graded = self.graded or fields["state"] == Row.GRADED
        if self.graded:
            return
        self.ungraded.append(fields)
        if len(self.ungraded) == MOST_UNGRADED and self.stop is None:
            self.stop = State.PAUSED, _why_ungraded(self.ungraded, self.builder.version)

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
        """Store the answers, at most four times a second, and notice if somebody stopped the run."""
        if not last and time.monotonic() - self.stored_at < STORE_EVERY:
            return
        rows, self.done, self.stored_at = self.done, [], time.monotonic()
        if rows or last or self.stored_at - self.beat_at > BEAT:
            self.beat_at = self.stored_at
            self._write(rows, last)
        if self.stop is None and not self.run.mine().exists():
            self.stop = "", ""  # paused or cancelled: the calls under way end

    def _write(self, rows: list[Answer], last: bool) -> None:
        graded = sum(row.state == Row.GRADED for row in rows)
        sums = {name: sum(getattr(row, name) or 0 for row in rows) for name in ("tokens_in", "tokens_out", "cost")}
        sums |= {"graded": graded, "ungraded": len(rows) - graded}
        if last:
            sums["calls"], self.allowed = -self.allowed, 0
        changes = {name: F(name) + number for name, number in sums.items() if number}
        if "cost" in changes:
            changes["cost"] = Least(changes["cost"], MOST_MONEY, output_field=JudgeRun._meta.get_field("cost"))
        mine = JudgeRun.objects.filter(pk=self.run.pk, attempt=self.run.attempt)
        with transaction.atomic():
            if not mine.update(beat_at=timezone.now(), **changes):
                raise Superseded
            for start in range(0, len(rows), PIECE):
                # An upsert, so that one statement writes many rows.
                some = rows[start : start + PIECE]
                written = {"update_conflicts": True, "unique_fields": ["id"], "update_fields": FIELDS}
                self.run.answers.model.objects.bulk_create(some, **written)


def _why_ungraded(answers: list[dict], version: JudgeVersion) -> str:
    """The most frequent reason why these answers have no grade, with an example and the cure."""
    problem, often = Counter(fields["problem"] for fields in answers).most_common(1)[0]
    detail = next((fields["detail"] for fields in answers if fields["problem"] == problem), "")
    why = f"{MachineGrade.Problem(problem).label}{f' ({detail[:100]})' if detail else ''}"
    schema = "" if version.structured else " and sends the schema of the answer"
    cure = f"Make a version that has other parameters or another prompt{schema}, or continue"
    return f"None of the first {len(answers)} answers has a grade; {often} times {why}. {cure}."

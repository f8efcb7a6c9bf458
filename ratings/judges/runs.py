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
from collections.abc import Iterator, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from decimal import Decimal
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
TRIES = 5  # of one pair
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries of a pair
STORE_EVERY = 0.25  # seconds
LOOK = 1.0  # seconds between two looks for further runs, while one is at work
BEAT = LEASE.total_seconds() / 6  # between two heartbeats
PIECE = 200  # rows that are read at a time
AHEAD = 2  # calls that are counted in advance, for each call that may be under way at the same time
MOST_FAILURES = 50  # in a row; then the server is at fault, and the run stops
MOST_UNGRADED = 20  # pairs before the first grade; then key, prompt or parameters are at fault, and the run pauses
OVER = object()  # in place of a turn
BY_SOMEBODY = "", ""  # in place of state and message, which whoever stopped the run has stored
FIELDS = [
    "state", "value", "problem", "detail", "answer", "model", "tokens_in", "tokens_out", "cost", "seconds",
    "tries", "at",
]  # fmt: skip


# Requests of people


def start(version: JudgeVersion, choice: str, options: dict, limits: dict, by=None) -> JudgeRun:
    """A new run that waits for a worker. Raises ValueError with the cure, also if the gate refuses it.

    `options` are those of the choice, and `limits` are fields of JudgeRun: at least `most_calls`.
    """
    if not version.endpoint:
        raise ValueError("This version was made elsewhere and has no address to ask. Make a version with one")
    if problem := gate.refusal(version.judge, choice):
        raise ValueError(problem)
    wire.Endpoint.of(version.endpoint)
    asks = choosing.asks_of(version, choice, options)
    with transaction.atomic():
        run = JudgeRun.objects.create(version=version, choice=choice, options=options, by=by, **limits)
        _enter(run, asks)
        told = {"run": run.pk, "choice": run.choice, "pairs": run.pairs}
        about = f"{version.judge.name}, version {version.number}"
        note(Act.JUDGE_RUN, version.judge.collection, about=about, **told)
    return run


def _enter(run: JudgeRun, asks: Sequence[tuple]) -> None:
    """Write the rows of the run, except those that the version has answered or another run holds.

    Rows without an answer in runs that have ended become rows of this run. Raises ValueError if the run would ask
    nothing.
    """
    version, model = run.version, run.answers.model
    # Nobody resumes a run meanwhile, whose rows are taken over here.
    list(version.runs.select_for_update().filter(state__in=choosing.ENDED).values_list("pk"))
    wanted = choosing.to_ask(version, asks, model)
    if not wanted:
        raise ValueError(_nothing_to_ask(version, set(asks), model))
    rows = choosing.left(version, model).values_list("pk", *choosing.KEYS[model])
    left = {tuple(key): pk for pk, *key in rows.iterator() if tuple(key) in wanted}
    new = [ask for ask in asks if ask in wanted and ask not in left]
    facts = {"run": run, "version_id": version.pk}
    for start in range(0, len(new), choosing.AT_ONCE):
        some = (dict(zip(choosing.KEYS[model], ask, strict=True)) for ask in new[start : start + choosing.AT_ONCE])
        model.objects.bulk_create([model(**key, **facts) for key in some], ignore_conflicts=True)
    taken_over = list(left.values())
    for start in range(0, len(taken_over), choosing.AT_ONCE):
        some = model.objects.filter(pk__in=taken_over[start : start + choosing.AT_ONCE])
        some.update(run=run, state=Row.WAITING, problem="", detail="", answer="", tries=0)
    run.pairs = run.answers.count()
    run.save(update_fields=["pairs"])


def _nothing_to_ask(version: JudgeVersion, wanted: set[tuple], model: type[Answer]) -> str:
    """Why a run would ask nothing, with the cure if other runs hold the pairs."""
    waiting = model.objects.filter(version=version, state=Row.WAITING).exclude(run__state__in=choosing.ENDED)
    rows = waiting.values_list("run", *choosing.KEYS[model])
    held = sorted({run for run, *key in rows.iterator() if tuple(key) in wanted})
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

    Raises ValueError for a cap of calls or cost that is reached already.
    """
    if run.is_over:
        return False
    most_calls = run.most_calls if calls is None else calls
    most_cost = run.most_cost if cost is None else cost
    if most_calls <= run.calls:
        raise ValueError(f"The run made {run.calls:,} calls already. Give a higher cap of calls")
    if most_cost is not None and run.cost and most_cost <= run.cost:
        raise ValueError(f"The answers of the run cost {run.cost:f} already. Give a higher cap of cost")
    caps = {"most_calls": most_calls, "most_cost": most_cost}
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


class _Work:
    """One worker's turn at a run. The threads only make calls; only the main thread uses the database."""

    def __init__(self, run: JudgeRun, beside: Sized) -> None:
        """Raises ValueError if requests may not go to the address of the version."""
        self.run, self.beside = run, beside
        self.endpoint, self.builder = wire.Endpoint.of(run.version.endpoint), CallBuilder(run.version)
        self.rows = self._waiting()
        self.read: _Item | None = None  # the next pair, already read
        self.due: list[_Item] = []  # a heap, of pairs that are tried again
        self.allowed = 0  # calls that are counted and not made
        self.under_way: dict[Future, tuple[_Item, Decimal]] = {}  # calls under way, and what each can cost at most
        self.done: list[Answer] = []  # not stored yet
        self.spent = run.cost
        self.failures = 0  # in a row
        self.last_failure = ""
        self.has_graded = run.graded > 0
        self.ungraded: list[Answer] = []  # before the first grade
        self.stop: tuple[str, str] | None = None  # the state and why
        self.next_at = self.quiet_until = self.stored_at = self.beat_at = time.monotonic()

    def turns(self) -> Iterator[None]:
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
        state, why = self.stop or (State.DONE, "")
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
            self.under_way[threads.submit(call_once, self.endpoint, self.builder, item.prompt)] = item, most

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
                self.stop = BY_SOMEBODY
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
            self.failures = 0
            self.spent += outcome.fields["cost"]
            self._keep(item.row, outcome, item.number)
            return
        self.failures += 1
        self.last_failure = failed.detail
        if failed.wrong:  # the calls about all other pairs would fail, too; this pair stays waiting like them
            self.stop = State.FAILED, f"{as_sentence(failed.detail)} Check address, model, key and parameters."
        elif failed.again and item.number < TRIES:
            self._try_again(item, failed)
        else:
            self._keep(item.row, outcome, item.number)
        if self.failures >= MOST_FAILURES and self.stop is None:
            self.stop = State.FAILED, f"{MOST_FAILURES} calls in a row failed: {failed.detail}"

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
        self.has_graded = self.has_graded or row.state == Row.GRADED
        if not self.has_graded:
            self.ungraded.append(row)
            # The run would only pay for answers without a grade.
            if len(self.ungraded) == MOST_UNGRADED and self.stop is None:
                self.stop = State.PAUSED, _why_ungraded(self.ungraded, self.builder.version)

    def _store(self, *, last: bool = False) -> None:
        """Store the answers, at most four times a second, and notice if somebody stopped the run."""
        if not last and time.monotonic() - self.stored_at < STORE_EVERY:
            return
        rows, self.done, self.stored_at = self.done, [], time.monotonic()
        if rows or last or self.stored_at - self.beat_at > BEAT:
            self.beat_at = self.stored_at
            self._write(rows, last)
        if self.stop is None and not self.run.mine().exists():
            self.stop = BY_SOMEBODY  # the calls under way end

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


def _why_ungraded(rows: list[Answer], version: JudgeVersion) -> str:
    """The most frequent reason why these rows have no grade, with an example and the cure."""
    problem, times = Counter(row.problem for row in rows).most_common(1)[0]
    detail = next(row.detail for row in rows if row.problem == problem)
    why = f"{MachineGrade.Problem(problem).label}{f' ({detail[:100]})' if detail else ''}"
    schema = "" if version.structured else " and sends the schema of the answer"
    cure = f"Check the key, or make a version that has other parameters or another prompt{schema}, or continue"
    return f"None of the first {len(rows)} pairs has a grade; {times} times {why}. {cure}."

"""Runs of judges: start, pause, cancel and resume them, and do them in a worker.

The rows of all pairs are in the database before the first call, so a kill loses only the calls under way. Calls
are counted before they are made, so that even a killed run never exceeds its cap.
"""

import heapq
import logging
import math
import random
import time
from collections.abc import Iterator, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Least
from django.utils import timezone

from ..importing.intake.publishing import Superseded
from ..importing.intake.stage import batched
from ..models import Collection, JudgeRun, JudgeVersion, MachineGrade, Probe
from ..models.job import LEASE
from ..models.judge import MOST_MONEY, Answer
from ..people.audit import Act, note
from ..words import as_sentence
from . import choosing, gate, probes, wire
from .asking import CallBuilder, Outcome, call_once, problem_fields

log = logging.getLogger(__name__)

State = JudgeRun.State
RowState = MachineGrade.State
MOST_TRIES = 5  # of one pair
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries of a pair
SECONDS_BETWEEN_STORES = 0.25
SECONDS_BETWEEN_LOOKS = 1.0  # for further runs, while one is at work
SECONDS_BETWEEN_BEATS = LEASE.total_seconds() / 6
PIECE_ROWS = 200  # that are read or written at a time
CALLS_RESERVED_AT_ONCE = 2  # calls that are counted in the database before they are made, for each thread
MOST_FAILURES = 50  # in a row; then the server is at fault, and the run stops
MOST_UNGRADED = 20  # pairs before the first grade; then key, prompt or parameters are at fault, and the run pauses
NONE_GRADED = (
    f"None of the first {MOST_UNGRADED} pairs has a grade. Look below for the reasons. Check the key, or make a"
    " version that has other parameters or another prompt, or continue."
)
STOPPED_BY_SOMEBODY = "", ""  # in place of state and message, which whoever stopped the run has stored
ROW_FIELDS = [field.name for field in Answer._meta.fields]


# Requests of people


def start(version: JudgeVersion, choice: str, options: dict, limits: dict, by=None) -> JudgeRun:
    """A new run that waits for a worker. Raises ValueError with the cure.

    `choice`: which pairs it asks about, of JudgeRun.Choice; `options`: of the choice, such as its size. `limits`:
    fields of JudgeRun, at least `most_calls`. The gate refuses most choices until the judge is measured.
    """
    if not version.endpoint:
        raise ValueError("This version was made elsewhere and has no address to ask. Make a version with one")
    if problem := gate.refusal(version.judge, choice):
        raise ValueError(problem)
    wire.Endpoint.of(version.endpoint)  # only to raise ValueError where its host may not be asked
    asks = choosing.asks_of(version, choice, options)  # (query id, document id, repeat) of each call
    with transaction.atomic():
        run = JudgeRun.objects.create(version=version, choice=choice, options=options, by=by, **limits)
        _add_rows(run, asks)
        about = f"{version.judge.name}, version {version.number}"
        note(Act.JUDGE_RUN, version.judge.collection, about=about, run=run.pk, choice=choice, pairs=run.pairs)
    return run


def _add_rows(run: JudgeRun, asks: Sequence[tuple]) -> None:
    """Write a waiting row for each of `asks` that the version has not answered and no other run holds.

    An ask has the fields that identify a row, from `choosing.asks_of`. Raises ValueError if none is left.
    """
    version = run.version
    model = run.answers.model  # MachineGrade, or Probe in a run of probes
    # Locked, so that nobody resumes one of these runs while its rows are taken over.
    list(version.runs.select_for_update().filter(state__in=choosing.ENDED_STATES).values_list("pk"))
    wanted_asks = choosing.to_ask(version, asks, model)
    if not wanted_asks:
        raise ValueError(
            "There is nothing to ask: all of these are answered, or wait in another run of this version. Continue"
            " or cancel that one on its page"
        )
    key_fields = choosing.KEY_FIELDS[model]  # the names of the fields of an ask
    new_asks = wanted_asks - _take_over_rows(run, wanted_asks)
    # In the order of `asks`: pairs are asked about in the order of their rows.
    for piece in batched((ask for ask in asks if ask in new_asks), choosing.ROWS_PER_STATEMENT):
        keys = (dict(zip(key_fields, ask, strict=True)) for ask in piece)
        rows = [model(run=run, version_id=version.pk, **key) for key in keys]
        # Another run may have written some of these rows meanwhile: they stay in that one.
        model.objects.bulk_create(rows, ignore_conflicts=True)
    run.pairs = run.answers.count()
    run.save(update_fields=["pairs"])


def _take_over_rows(run: JudgeRun, wanted_asks: set[tuple]) -> set[tuple]:
    """Move rows without an answer from runs that have ended into this run. Returns the asks of these rows."""
    model = run.answers.model
    rows = choosing.unanswered_rows(run.version, model).values_list("pk", *choosing.KEY_FIELDS[model])
    pk_by_ask = {ask: pk for pk, *fields in rows.iterator() if (ask := tuple(fields)) in wanted_asks}
    for pks in batched(pk_by_ask.values(), choosing.ROWS_PER_STATEMENT):
        rows = model.objects.filter(pk__in=pks)
        rows.update(run=run, state=RowState.WAITING, problem="", detail="", answer="", tries=0)
    return set(pk_by_ask)


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
    open_states = [State.QUEUED, State.RUNNING, State.PAUSED, State.CAPPED, State.FAILED]
    return _change(run, open_states, State.CANCELLED, ended_at=timezone.now())


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
def _change(run: JudgeRun, old_states: list[str], new_state: str, **fields) -> bool:
    """Whether the run was in one of the old states, so that it got the new one, and these fields. It is noted."""
    if not JudgeRun.objects.filter(pk=run.pk, state__in=old_states).update(state=new_state, **fields):
        return False
    run.refresh_from_db()
    judge = run.version.judge
    note(Act.JUDGE_RUN_CHANGED, judge.collection, about=judge.name, run=run.pk, state=str(new_state))
    return True


# The worker


def work_due() -> None:
    """Work on the runs that wait, or whose worker died: one of each collection, in turns.

    So a slow run, such as one of one call a minute, holds up only other runs of its collection. Returns when no
    run is at work any more. The worker calls this again every few seconds, which finds the runs that still wait.
    """
    turns_of_collections: dict[int, Iterator[None]] = {}  # each step does a short turn of the collection's run
    looked_at = -math.inf
    while True:
        if time.monotonic() - looked_at >= SECONDS_BETWEEN_LOOKS:
            looked_at = time.monotonic()
            for run in _due():
                collection = run.version.judge.collection_id
                if collection not in turns_of_collections and run.take_up():
                    # The more collections take turns, the shorter is a turn: the run reads the size of the dict.
                    turns_of_collections[collection] = work_on(run, turns_of_collections)
        for collection, turns in list(turns_of_collections.items()):
            has_ended = next(turns, True)  # a turn yields None
            if has_ended:
                del turns_of_collections[collection]
        if not turns_of_collections:
            return


def _due() -> list[JudgeRun]:
    """The runs whose worker died, then those that wait, of collections in use."""
    runs = JudgeRun.objects.in_use().select_related("version__judge").order_by("pk")
    abandoned_runs = runs.filter(state=State.RUNNING, beat_at__lt=timezone.now() - LEASE)
    return [*abandoned_runs, *runs.filter(state=State.QUEUED)]


def work_on(run: JudgeRun, turn_takers: Sized = ()) -> Iterator[None]:
    """Work on a run that this worker has taken up, a short turn at each step. Failures are stored in the run.

    `turn_takers`: the runs that take turns in this worker, this one among them. Only their number is used.
    """
    try:
        yield from _Work(run, turn_takers).turns()
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
    """A pair to ask about."""

    not_before: float  # a moment of time.monotonic; 0.0: at once
    row_id: int  # so that the heap can compare items of the same moment
    row: Answer
    prompt: str
    try_number: int  # from 1


class _Work:
    """One worker's work on a run, in short turns. Threads only make the calls; the main one uses the database."""

    def __init__(self, run: JudgeRun, turn_takers: Sized) -> None:
        """Raises ValueError if requests may not go to the address of the version.

        `turn_takers`: the runs that take turns in this worker. The more they are, the shorter each waits for a
        call to end.
        """
        self.run = run
        self.turn_takers = turn_takers
        self.endpoint = wire.Endpoint.of(run.version.endpoint)
        self.builder = CallBuilder(run.version)
        self.items = self._waiting_items()  # an iterator: pairs are read when they are needed
        self.next_unasked: _Item | None = None  # the next of the items, if it is read already
        self.retries: list[_Item] = []  # a heap by `not_before`
        self.reserved_calls = 0  # calls that are counted in the database and not made yet
        self.under_way: dict[Future, tuple[_Item, Decimal]] = {}  # calls, with what each can cost at most
        self.unstored: list[Answer] = []  # rows that are filled and not in the database yet
        self.spent = run.cost
        self.failures = 0  # of calls, in a row
        self.last_failure = ""  # the message of the last one
        self.has_graded = run.graded > 0  # whether any pair of the run has a grade
        self.ungraded = 0  # pairs that ended without a grade, while none has one: at MOST_UNGRADED the run pauses
        self.stop: tuple[str, str] | None = None  # the state in which the run is to end, and why
        now = time.monotonic()
        self.next_at = now  # no call before, by the limit of calls a minute
        self.quiet_until = now  # no call before, as the server asked for a pause
        self.stored_at = now  # when `_store` last looked whether there is something to write
        self.beat_at = now  # when the row of the run was written last, which shows that its worker lives

    def turns(self) -> Iterator[None]:
        """Do the run, a short turn at each step, and end it."""
        with ThreadPoolExecutor(self.run.concurrency) as threads:
            try:
                # While calls are under way, or there are pairs and no reason to stop.
                while self.under_way or (self.stop is None and self._item_to_ask() is not None):
                    self._send(threads)
                    self._collect()
                    self._store()
                    yield
            finally:
                threads.shutdown(cancel_futures=True)
        self._store(last=True)
        state, why = self.stop or (State.DONE, "")
        if state:  # "" if somebody else has stored it
            _end(self.run, state, why)

    # The next calls

    def _waiting_items(self) -> Iterator[_Item]:
        """The items of the waiting rows, read in pieces. A row that gets no prompt is kept without a grade."""
        last_pk = 0
        answers = self.run.answers
        relations = ["query"] if answers.model is Probe else ["query", "document"]
        rows = answers.filter(state=RowState.WAITING).select_related(*relations).order_by("pk")
        while chunk := list(rows.filter(pk__gt=last_pk)[:PIECE_ROWS]):
            for row in chunk:
                last_pk = row.pk
                try:
                    prompt = self.builder.prompt(row.query, probes.document_of(row, self.builder))
                except ValueError as error:
                    fields = problem_fields(MachineGrade.Problem.UNKNOWN, str(error))
                    self._keep(row, Outcome(seconds=0.0, fields=fields), tries=0)
                    continue
                row._state.fields_cache.clear()  # frees query and document, whose texts are in the prompt
                yield _Item(not_before=0.0, row_id=row.pk, row=row, prompt=prompt, try_number=1)

    def _item_to_ask(self) -> _Item | None:
        """The next pair, left in its place: one to try again, if its time has come; else an unasked one."""
        if self.next_unasked is None:
            self.next_unasked = next(self.items, None)
        if self.retries and (self.retries[0].not_before <= time.monotonic() or self.next_unasked is None):
            return self.retries[0]
        return self.next_unasked

    def _send(self, threads: ThreadPoolExecutor) -> None:
        """Start as many calls as limits and caps allow now.

        Calls are reserved some at a time: they are counted in the run's row before they are made, so that even a
        killed run stays below its cap.
        """
        while self.stop is None and len(self.under_way) < self.run.concurrency:
            item = self._item_to_ask()
            if item is None or self._seconds_until(item) > 0:
                return
            most_cost = self.builder.most_cost(item.prompt)
            if not self._may_cost(most_cost):
                return
            if not self.reserved_calls and not self._reserve_calls():
                return
            self.reserved_calls -= 1
            # Take the item out of where `_item_to_ask` found it.
            if item is self.next_unasked:
                self.next_unasked = None
            else:
                heapq.heappop(self.retries)
            if self.run.per_minute:
                self.next_at = max(time.monotonic(), self.next_at) + 60 / self.run.per_minute
            future = threads.submit(call_once, self.endpoint, self.builder, item.prompt)
            self.under_way[future] = item, most_cost

    def _seconds_until(self, item: _Item) -> float:
        """The seconds until the pair may be asked about; 0 or less if it may be now."""
        return max(item.not_before, self.quiet_until, self.next_at) - time.monotonic()

    def _may_cost(self, most_cost: Decimal) -> bool:
        """Whether one more call of that cost stays below the cap. If not, and none is under way, the run stops."""
        cap = self.run.most_cost
        most_cost_under_way = sum(cost for _, cost in self.under_way.values())
        if cap is None or self.spent + most_cost_under_way + most_cost <= cap:
            return True
        if not self.under_way:
            self._stop_at_cap("One more call could cost more than the cap.")
        return False

    def _reserve_calls(self) -> bool:
        """Count calls in the run's row before they are made. False at the cap, or if the run was stopped."""
        # Without a row once another worker has taken up the run, which raises `attempt`.
        still_ours = JudgeRun.objects.filter(pk=self.run.pk, attempt=self.run.attempt)
        with transaction.atomic():
            run = still_ours.select_for_update().first()
            if run is None:
                raise Superseded
            if run.state != State.RUNNING:
                self.stop = STOPPED_BY_SOMEBODY
                return False
            if not JudgeRun.objects.in_use().filter(pk=run.pk).exists():
                self.stop = State.PAUSED, "The collection was deleted or put away."
                return False
            further_calls = min(CALLS_RESERVED_AT_ONCE * run.concurrency, run.most_calls - run.calls)
            if further_calls <= 0:
                if not self.under_way:  # else it stops when these have ended
                    self._stop_at_cap("It made as many calls as it may.")
                return False
            still_ours.update(calls=F("calls") + further_calls)
        self.reserved_calls = further_calls
        return True

    def _stop_at_cap(self, why: str) -> None:
        failed = f" The last call that failed: {as_sentence(self.last_failure)}" if self.last_failure else ""
        self.stop = State.CAPPED, why + failed

    # Their outcomes

    def _collect(self) -> None:
        """Record the calls that have ended, after a short wait for one."""
        longest_wait = SECONDS_BETWEEN_STORES / max(len(self.turn_takers), 1)
        if self.under_way:
            ended_calls, _ = wait(self.under_way, timeout=longest_wait, return_when=FIRST_COMPLETED)
            for future in ended_calls:
                item, _ = self.under_way.pop(future)
                self._record(item, future.result())
        elif self.stop is None and (next_item := self._item_to_ask()):
            time.sleep(min(max(self._seconds_until(next_item), 0.0), longest_wait))

    def _record(self, item: _Item, outcome: Outcome) -> None:
        """Keep the outcome, try the pair again later, or stop the run."""
        failure = outcome.failure
        if failure is None:
            self.failures = 0
            self.spent += outcome.fields["cost"]
            self._keep(item.row, outcome, item.try_number)
            return
        self.failures += 1
        self.last_failure = failure.detail
        if failure.hopeless:  # the calls about all other pairs would fail, too; this pair stays waiting like them
            self.stop = State.FAILED, f"{as_sentence(failure.detail)} Check address, model, key and parameters."
        elif failure.retry and item.try_number < MOST_TRIES:
            self._try_again(item, failure)
        else:
            self._keep(item.row, outcome, item.try_number)
        if self.failures >= MOST_FAILURES and self.stop is None:
            self.stop = State.FAILED, f"{MOST_FAILURES} calls in a row failed: {failure.detail}"

    def _try_again(self, item: _Item, failure: wire.Failed) -> None:
        now = time.monotonic()
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (item.try_number - 1)) * random.uniform(0.5, 1.0)
        if failure.pause is not None:
            self.quiet_until = max(self.quiet_until, now + failure.pause)
            pause = failure.pause + random.uniform(0.0, min(pause, 1.0))
        heapq.heappush(self.retries, item._replace(not_before=now + pause, try_number=item.try_number + 1))

    def _keep(self, row: Answer, outcome: Outcome, tries: int) -> None:
        """Fill the row, which is stored soon. Pause the run if none of its first pairs has a grade."""
        for name, value in outcome.fields.items():
            setattr(row, name, value)
        row.seconds = round(outcome.seconds, 6)
        row.tries = tries
        row.at = timezone.now()
        self.unstored.append(row)
        self.has_graded = self.has_graded or row.state == RowState.GRADED
        if not self.has_graded:
            self.ungraded += 1
            # The run would only pay for answers without a grade.
            if self.ungraded == MOST_UNGRADED and self.stop is None:
                self.stop = State.PAUSED, NONE_GRADED

    def _store(self, *, last: bool = False) -> None:
        """Store the answers, at most four times a second, and notice if somebody stopped the run."""
        if not last and time.monotonic() - self.stored_at < SECONDS_BETWEEN_STORES:
            return
        self.stored_at = time.monotonic()
        if self.unstored or last or self.stored_at - self.beat_at > SECONDS_BETWEEN_BEATS:
            self.beat_at = self.stored_at
            self._write(self.unstored, last)
            self.unstored = []
        if self.stop is None and not self.run.mine().exists():
            self.stop = STOPPED_BY_SOMEBODY  # the calls under way end

    def _write(self, rows: list[Answer], last: bool) -> None:
        """Write the rows and add them up in the run, with a heartbeat. `last`: reserved calls are given back."""
        graded = sum(row.state == RowState.GRADED for row in rows)
        sums = {"graded": graded, "ungraded": len(rows) - graded}
        for name in ("tokens_in", "tokens_out", "cost"):
            sums[name] = sum(getattr(row, name) or 0 for row in rows)  # None: unknown
        if last:
            sums["calls"] = -self.reserved_calls
            self.reserved_calls = 0
        changes: dict[str, Any] = {name: F(name) + number for name, number in sums.items() if number}
        if "cost" in changes:
            # The column holds no more than MOST_MONEY. The cap of the run is not meant: `_may_cost` heeds that.
            changes["cost"] = Least(changes["cost"], MOST_MONEY, output_field=JudgeRun._meta.get_field("cost"))
        # Without a row once another worker has taken up the run, which raises `attempt`.
        still_ours = JudgeRun.objects.filter(pk=self.run.pk, attempt=self.run.attempt)
        with transaction.atomic():
            if not still_ours.update(beat_at=timezone.now(), **changes):
                raise Superseded
            # An upsert, so that one statement writes many rows.
            self.run.answers.model.objects.bulk_create(
                rows, batch_size=PIECE_ROWS, update_conflicts=True, unique_fields=["id"], update_fields=ROW_FIELDS
            )

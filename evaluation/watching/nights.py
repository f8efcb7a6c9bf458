"""Nights of a watch: begun when they are due, asked by the worker, and stored with each ranking once.

A worker that begins a night moves the time of the next one in the same transaction, so two workers never begin the
same night. It is asked by a job, which another worker takes up where one dies.
"""

import io
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b
from itertools import chain

import numpy as np
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from ratings.formats.source import Source
from ratings.importing import jobs
from ratings.importing.intake.publishing import land
from ratings.importing.intake.stage import Progress, batched
from ratings.importing.pull import brought, turns
from ratings.importing.pull.engines import connection_to, why_closed
from ratings.importing.pull.turns import PullReport
from ratings.models import EngineAnswer, Job, Query, Ranking, System

from ..models import Night, NightRanking, Watch
from .timetable import following

State = Night.State
RANKINGS_AT_ONCE = 200  # that one statement reads, writes or deletes
LONGEST_PROBLEM = 300  # characters
LATE_AFTER = timedelta(hours=1)  # a night that begins so much later than planned has the time of its beginning
STATES_WITHOUT_ANSWER = [Job.State.REFUSED, Job.State.FAILED, Job.State.CANCELLED]


def queries_of(watch: Watch) -> QuerySet[Query]:
    """The queries that the watch asks for."""
    queries = watch.collection.queries.order_by("pk")
    if not watch.tag:
        return queries
    tagged = [pk for pk, tags in queries.values_list("pk", "tags") if watch.tag in (tags or [])]
    return queries.filter(pk__in=tagged)


def plan(watch: Watch, now: datetime) -> None:
    """Set, without saving it, when the watch looks next: never, where it waits for calls or is paused."""
    watch.next_at = None
    if watch.engine_id and watch.at and watch.days and not watch.paused:
        from_day = watch.holiday_until and watch.holiday_until + timedelta(days=1)
        watch.next_at = following(now, watch.at, watch.days, watch.zone, from_day)


# Beginning


def begin_due() -> int:
    """How many nights were begun because they are due."""
    in_use = {"collection__put_away_at": None, "collection__slug__isnull": False}
    due = Watch.objects.filter(next_at__lte=timezone.now(), **in_use)
    rows = due.select_related("collection", "engine")
    return sum(_begin_if_due(watch, watch.next_at) for watch in rows if watch.next_at)


def _begin_if_due(watch: Watch, due_at: datetime) -> bool:
    """Begin the night and plan the next one, unless another worker did. Returns whether this worker has begun it.

    Nights that passed while no worker ran are not made up for. A night that begins much later than planned gets
    the time of its beginning, since its scores are of then.
    """
    now = timezone.now()
    plan(watch, now)  # saves nothing: the update below does
    with transaction.atomic():
        # The worker that moves `next_at` begins the night: for any other one no row has this `due_at` any more.
        if not Watch.objects.filter(pk=watch.pk, next_at=due_at).update(next_at=watch.next_at):
            return False
        if watch.nights.filter(due_at=due_at).exists():  # it was planned again, by a machine whose clock is behind
            return False
        begin(watch, due_at if now - due_at < LATE_AFTER else now)
    return True


def begin(watch: Watch, due_at: datetime) -> Night:
    """A new night, whose engine a worker asks. It is a gap at once where the engine cannot be asked."""
    night = Night(watch=watch, due_at=due_at)
    problem = why_closed(watch.engine) if watch.engine else "The engine of this watch was removed."
    if not problem and not queries_of(watch).exists():
        problem = "The watch has no queries."
    if problem:
        return as_gap(night, problem)
    night.save()
    ask(night)
    return night


def ask(night: Night) -> None:
    """Queue the job in which a worker asks the engine, for the first answers of the night or for second ones."""
    watch = night.watch
    settings = {"depth": watch.depth, "pause": 0.0, "keep_first": False, "twice": night.state == State.ASKING}
    options = {"engine": watch.engine_id, "of": watch.name, "night": night.pk, **settings}
    files = [{"name": watch.name}]
    job = Job(collection=watch.collection, kind=Job.Kind.NIGHT, files=files, options=options, by=None)
    night.job = jobs.store_queued(job)
    night.save(update_fields=["job"])


def night_of_system(watch: Watch, system: str, due_at: datetime) -> Night:
    """A new night with the rankings of a system that was imported, in place of the answers of an engine.

    system: its name; due_at: the time that the night gets. ValueError where the system does not exist, or has a
    ranking for none of the queries of the watch.
    """
    imported = System.objects.filter(collection=watch.collection, name=system).first()
    keys = dict(queries_of(watch).values_list("pk", "key"))
    rankings = Ranking.objects.filter(system=imported, query__in=keys)
    lists = dict(rankings.values_list("query", "documents"))
    if imported is None or not lists:
        raise ValueError(f"{system} is no system of {watch.collection} with a ranking for a query of this watch")
    with transaction.atomic():
        lock_rankings(watch)
        night = Night(watch=watch, due_at=due_at, system=system, state=State.FETCHED)
        ranking_ids = store(watch, lists.items())
        set_rankings(night, list(keys), ranking_ids)
        # In a complete system a query without a ranking has an empty list, not a gap.
        missing = [key for pk, key in keys.items() if pk not in ranking_ids] if imported.gaps else []
        night.failed = dict.fromkeys(missing, f"{system} has no ranking for it.")
        night.save()
    return night


# The job of a worker


def work(job: Job, progress: Progress) -> PullReport:
    """Ask the engine for a night in one turn of its job, and after the last turn store all answers in the night.

    A job has turns of SECONDS_PER_TURN, so that other jobs get theirs. Returns the report of the job after its
    last turn, and raises Unfinished after any other. Raises ValueError where the watch has no engine any more; the
    night then becomes a gap. With the option "twice" some queries are asked a second time at once, which tells how
    far the engine differs from itself.
    """
    night = Night.objects.select_related("watch__engine").filter(pk=job.options["night"], job=job).first()
    if night is None or night.watch.engine is None:
        raise ValueError("The watch or its engine was removed meanwhile")
    connection = connection_to(night.watch.engine)
    end = time.monotonic() + turns.SECONDS_PER_TURN
    # Each asks the queries that have no answer from a former turn. It raises Unfinished if some are left at `end`.
    turns.ask(job, queries_of(night.watch), connection, progress, end)
    if job.options["twice"]:
        turns.ask(job, turns.drawn_twice(job), connection, progress, end, again=True)
    report = PullReport()
    # Its name is that of the import in a refusal. It is empty: `_write` reads the answers from the database.
    source = Source("the answers", io.BytesIO())
    # In one transaction `land` calls `_write` and, if that changed something, `_complete`.
    write, complete = partial(_write, night, report, progress), partial(_complete, report, job)
    land(job.destination, [source], report, job.kind, job, write, complete)
    return report


def _write(night: Night, report: PullReport, progress: Progress, job: Job) -> None:
    """Write the documents and rankings of the job's answers, and set in the night which ranking each query got.

    The first job of a night sets its rankings, its failed queries and its noise: how far the engine's answers
    differ when it is asked twice at once. The second job, which confirms an alarm, sets only `night.again`.
    """
    lock_rankings(night.watch)
    # A query that the job asked twice has a second answer, with again=True. It only tells the noise.
    answers = job.answers.filter(again=False).order_by("query").select_related("query")
    ranking_ids = _write_rankings(night.watch, job, answers, report, progress)
    if night.state == State.AGAIN:  # this is the second job
        night.again = _in_order(night.queries.tolist(), ranking_ids)
    else:
        failed = answers.exclude(problem="")
        night.failed = {answer.query.key: answer.problem[:LONGEST_PROBLEM] for answer in failed}
        night.noise = turns.difference(job)
        set_rankings(night, [answer.query_id for answer in answers], ranking_ids)
    night.state = State.FETCHED
    night.save()


def _write_rankings(
    watch: Watch, job: Job, answers: QuerySet[EngineAnswer], report: PullReport, progress: Progress
) -> dict[int, int]:
    """Write the documents and rankings of the answers without a problem. Returns the ranking's id by query."""
    ranking_ids: dict[int, int] = {}
    answered = answers.filter(problem="")
    answer_count = answered.count()
    texts = brought.BroughtTexts.of(job, answered)
    for batch in batched(answered.iterator(RANKINGS_AT_ONCE), RANKINGS_AT_ONCE):
        hits = {answer.query_id: brought.hits_of(answer) for answer in batch}
        hit_by_document = {hit.document: hit for hit in chain.from_iterable(hits.values())}
        ids = brought.write_documents(job, hit_by_document, report, texts)  # pks by key of the document
        lists = {query: [ids[hit.document] for hit in hits_of_query] for query, hits_of_query in hits.items()}
        ranking_ids |= store(watch, lists.items())
        report.counts["new"] += len(batch)
        progress("writing", report.counts["new"] / answer_count, report.counts["new"])
    texts.tell(report)  # how many documents keep what is stored though the engine has something else, and why
    return ranking_ids


def _complete(report: PullReport, job: Job) -> None:
    """Add to the report how many rankings came, and delete the answers, which are stored as rankings now."""
    report.facts.append(f"{report.counts['new']:,} rankings of {job.options['of']}.")
    job.answers.all().delete()


def store(watch: Watch, lists: Iterable[tuple[int, Iterable[int]]]) -> dict[int, int]:
    """Store those rankings that the watch does not have yet. Returns the id of each ranking, new or old, by query.

    lists: (query, its documents, best first) for each ranking, all pks.
    """
    rankings = []
    for query, documents in lists:
        packed = np.asarray(list(documents), np.uint32)
        digest = blake2b(packed.tobytes(), digest_size=16).hexdigest()
        rankings.append(NightRanking(watch=watch, query_id=query, digest=digest, documents=packed))
    NightRanking.objects.bulk_create(rankings, ignore_conflicts=True, batch_size=RANKINGS_AT_ONCE)
    digests = {ranking.query_id: ranking.digest for ranking in rankings}
    # `bulk_create` gives no ids of rows that existed, so all are read.
    ids: dict[int, int] = {}
    for queries in batched(digests, RANKINGS_AT_ONCE):
        rows = NightRanking.objects.filter(watch=watch, query__in=queries)
        found = rows.values_list("query", "digest", "pk")
        ids |= {query: pk for query, digest, pk in found if digests[query] == digest}
    return ids


def set_rankings(night: Night, queries: list[int], ranking_ids: dict[int, int]) -> None:
    """Set the queries of the night and the ranking of each; 0 for none. ranking_ids: as `store` returns them."""
    night.queries = np.array(queries, np.int64)
    night.rankings = _in_order(queries, ranking_ids)


def _in_order(queries: list[int], ranking_ids: dict[int, int]) -> np.ndarray:
    """The id of the ranking of each of the queries, int64[queries]; 0 for a query without one."""
    return np.array([ranking_ids.get(pk, 0) for pk in queries], np.int64)


# Gaps and old nights


def mark_gaps() -> int:
    """End the wait of nights whose job ended without an answer. Returns how many there were.

    A night without first answers becomes a gap. One whose engine gave no answer only when it was asked again keeps
    its first answers, and is scored with empty second ones.
    """
    ended = Q(job=None) | Q(job__state__in=STATES_WITHOUT_ANSWER)
    waiting = Night.objects.filter(ended, state__in=[State.ASKING, State.AGAIN])
    nights = list(waiting.select_related("job", "watch"))
    for night in nights:
        problem = (night.job and night.job.message) or "The worker did not finish it."
        if night.state == State.ASKING:
            as_gap(night, problem)
        else:
            # Only while it still waits: another worker may have brought its second answers meanwhile.
            no_rankings = np.zeros(len(night.queries), np.int64)  # no ranking has the id 0
            Night.objects.filter(pk=night.pk, state=State.AGAIN).update(state=State.FETCHED, again=no_rankings)
    return len(nights)


def as_gap(night: Night, problem: str) -> Night:
    """The night, stored as a gap for this reason, unless it was told or deleted meanwhile."""
    night.state, night.problem, night.ended_at = State.GAP, problem[:LONGEST_PROBLEM], timezone.now()
    if night.pk is None:
        night.save()
    else:
        Night.objects.filter(pk=night.pk).exclude(state=State.TOLD).update(
            state=night.state, problem=night.problem, ended_at=night.ended_at
        )
    return night


def forget_old() -> None:
    """Delete the nights that are older than their watch keeps them, and rankings that no night has.

    The next night continues from the last told night, one that is scored and has its verdicts, and from the last
    one with a verdict against each kind of baseline. So these stay, however old they are.
    """
    for watch in Watch.objects.all():
        oldest_kept = timezone.now() - timedelta(days=watch.keep_days)
        last = watch.nights.filter(state=State.TOLD).order_by("-due_at").values_list("pk", flat=True)[:1]
        with_last_verdict = [verdict.night_id for verdict in watch.last_verdicts().values()]
        old = watch.nights.filter(due_at__lt=oldest_kept).exclude(pk__in=[*last, *with_last_verdict])
        if not old.exists():
            continue
        with transaction.atomic():
            lock_rankings(watch)
            old.delete()
            in_use = {pk for night in watch.nights.exclude(rankings=None).iterator() for pk in ids_in(night)}
            unused = [pk for pk in watch.rankings.values_list("pk", flat=True) if pk not in in_use]
            for batch in batched(unused, RANKINGS_AT_ONCE):
                watch.rankings.filter(pk__in=batch).delete()


def lock_rankings(watch: Watch) -> None:
    """Keep others from storing and deleting rankings of the watch until the transaction ends."""
    list(Watch.objects.select_for_update().filter(pk=watch.pk).values_list("pk"))


def ids_in(night: Night) -> Iterator[int]:
    """The ids of all rankings of the night."""
    for column in (night.rankings, night.again):
        yield from () if column is None else column[column > 0].tolist()

"""Fetch a system from an engine: ask it for all queries in turns, then import the answers in one transaction.

Each answer is stored at once, so a worker that dies loses none, and other jobs have their turn in between.
"""

import io
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Length

from ...formats import values
from ...formats.source import Source
from ...models import Collection, Engine, EngineAnswer, Job, Query, Ranking, Rating, System
from ...words import counted
from ..intake.publishing import land
from ..intake.report import Report
from ..intake.stage import Progress, batched
from ..pictures.fetching import Unfinished
from .asking import Connection
from .brought import ANSWERS_AT_ONCE, BroughtTexts, hits_of, write_documents
from .dialects import Hit
from .engines import connection_to, limits, parameters_of
from .fetching import Refused

SECONDS_PER_TURN = 10.0  # after which other jobs have their turn
FIRST_QUERIES = 10  # if these all fail, nothing more is asked
LEAST_TWICE = 10  # queries that are asked twice, at least; otherwise a tenth
TOP_PLACES = 10  # places at which two answers are compared
MOST_BYTES = 1_000_000_000  # of the answers of a job
MOST_FETCHES = 5  # fetches of a collection, for each takes turns with the imports of all others
LONGEST_PROBLEM = 500  # characters
MOST_HITS = 1_000  # results of a query


@dataclass
class PullReport(Report):
    """The report on a system that was fetched.

    `failed`: [query, problem] of the gaps. `twice`: of queries that were asked twice, how many, how many differ,
    and the mean share of the first TOP_PLACES documents that both answers have.
    """

    failed: list[list[str]] = field(default_factory=list)
    twice: dict[str, Any] = field(default_factory=dict)


def options(
    engine: Engine, system: str, *, depth: int, pause: float = 0.0, twice: bool = False, keep_first: bool = False
) -> dict[str, Any]:
    """The options of a job that fetches a system. Raises ValueError if it cannot be fetched with these options.

    `system`: its name. `depth`: results of each query. `pause`: seconds between queries. `twice`: ask for some
    queries a second time. `keep_first`: a document that an answer has twice keeps its better rank. A system with
    gaps, queries that the engine did not answer, can be fetched again.
    """
    system = values.system_name(system, "name of the system")
    if not 1 <= depth <= MOST_HITS:
        raise ValueError(f"The depth must be from 1 to {MOST_HITS:,}, not {depth}")
    stored = System.objects.filter(collection=engine.collection, name=system).first()
    if stored and not stored.gaps and stored.rankings.exists():
        raise ValueError(f"{system} has rankings already, and a ranking is never overwritten. Give it a new name")
    if not to_ask(engine.collection, system).exists():
        lacks = f"{system} has a ranking for every query" if stored else "The collection has no queries"
        raise ValueError(f"{lacks}, so there is nothing to ask")
    under_way = engine.collection.jobs.filter(
        kind=Job.Kind.ENGINE, state__in=[Job.State.QUEUED, Job.State.RUNNING]
    )
    if under_way.count() >= MOST_FETCHES:
        raise ValueError(f"{MOST_FETCHES} fetches of this collection are under way. Wait until one is over")
    choices = {"depth": depth, "pause": pause, "twice": twice, "keep_first": keep_first}
    # The name, "of", stays when the engine is removed.
    return {"engine": engine.pk, "of": engine.name, "system": system, **choices}


def to_ask(collection: Collection, system: str) -> QuerySet[Query]:
    """The queries without a ranking of the system."""
    ranked = Ranking.objects.filter(query=OuterRef("pk"), system__collection=collection, system__name=system)
    return collection.queries.filter(~Exists(ranked)).order_by("pk")


def work(job: Job, progress: Progress) -> Report:
    """The report of a job of a worker after its last turn. Raises Unfinished after any other."""
    engine = Engine.objects.filter(pk=job.options["engine"], collection=job.collection_id).first()
    if engine is None:
        raise ValueError("The engine was removed meanwhile. Nothing of it is in the record")
    return fetch(job, connection_to(engine), progress, seconds=SECONDS_PER_TURN)


def fetch(job: Job, connection: Connection, progress: Progress, seconds: float) -> PullReport:
    """The report after all queries were asked, and their answers imported. Raises Unfinished after `seconds`.

    A query whose answer fails becomes a gap, never an empty list. Raises Refused where the first ones all fail.
    """
    end = time.monotonic() + seconds
    if not job.options.get("enough"):  # until somebody asks for no more queries
        ask(job, to_ask(job.destination, job.options["system"]), connection, progress, end)
        if job.options["twice"]:
            ask(job, drawn_twice(job), connection, progress, end, again=True)
    return _import_answers(job, progress)


def drawn_twice(job: Job) -> QuerySet[Query]:
    """The queries that are asked twice: a tenth of those that were answered, drawn by the number of the job."""
    answered = job.answers.filter(again=False, problem="").order_by("query").values_list("query", flat=True)
    size = min(len(answered), max(LEAST_TWICE, len(answered) // 10))
    return Query.objects.filter(pk__in=random.Random(job.pk).sample(list(answered), size)).order_by("pk")


def ask(
    job: Job,
    queries: QuerySet[Query],
    connection: Connection,
    progress: Progress,
    end: float,
    *,
    again: bool = False,
) -> None:
    """Store the answers to those queries that have none.

    `end`: when the turn ends, as a time of time.monotonic. If queries are left then, Unfinished is raised, though
    never before one was asked. `again`: the answers are second ones, to queries that are asked twice. Raises
    Refused if the first answers all fail, and if all answers together are larger than MOST_BYTES while queries are
    left.
    """
    answered = set(job.answers.filter(again=again).values_list("query", flat=True))  # ids of queries
    total = queries.count()
    remaining = [query for query in queries if query.pk not in answered]
    stored_bytes = job.answers.aggregate(size=Sum(Length("hits"), default=0))["size"]
    for done, query in enumerate(remaining, start=len(answered)):
        progress("asking again" if again else "asking the engine", done / total, done)
        answer = _stored_answer(job, query, connection, again=again)
        stored_bytes += len(answer.hits)
        # `done + 1` queries were asked, in all turns.
        if answer.problem and not again and done + 1 >= min(FIRST_QUERIES, total):
            _refuse_if_hopeless(job, done + 1, answer.problem)
        if query is remaining[-1]:
            return  # nothing is left to ask, so neither MOST_BYTES nor the pause matters
        if stored_bytes > MOST_BYTES:
            raise Refused(f"The answers are larger than {MOST_BYTES / 1e6:,.0f} MB. Ask for less of each query")
        if time.monotonic() + job.options["pause"] > end:
            raise Unfinished(job.options["pause"])  # the seconds before the next turn may begin
        time.sleep(job.options["pause"])


def _stored_answer(job: Job, query: Query, connection: Connection, *, again: bool) -> EngineAnswer:
    """The answer to the query, with its hits, or with the problem if there is no usable one."""
    answer = EngineAnswer(job=job, query=query, again=again)
    parameters = parameters_of(query, job.options["depth"])
    try:
        hits = connection.hits(parameters, limits(), keep_first=job.options["keep_first"])
        answer.hits = json.dumps(hits).encode()
    except Refused as error:
        answer.problem = str(error)[:LONGEST_PROBLEM]
    answer.save()
    return answer


def _refuse_if_hopeless(job: Job, asked: int, problem: str) -> None:
    if not job.answers.filter(problem="").exists():
        many = f"the first {asked} queries" if asked > 1 else "the query"
        raise Refused(f"The engine gave no usable answer to {many}: {problem}")


# Import


def _import_answers(job: Job, progress: Progress) -> PullReport:
    """Make rankings and documents of the answers, all or none, and delete these. Returns the report."""
    report = PullReport()
    source = Source("the answers", io.BytesIO())  # which refusals name
    write, tell = partial(_write, report, progress), partial(_tell, job, report)
    land(job.destination, [source], report, job.kind, job, write, tell)
    return report


def _write(report: PullReport, progress: Progress, job: Job) -> None:
    """Write a ranking for each query that was answered, and the documents in it.

    `BroughtTexts` decides which stored documents get the text that the engine has.
    """
    named = {"collection": job.collection, "name": job.options["system"]}
    # With gaps: a query without a ranking was not answered, and does not count as one with an empty list.
    system, _ = System.objects.get_or_create(**named, defaults={"job": job, "gaps": True})
    answers = job.answers.filter(again=False, problem="").order_by("query")
    total = answers.count()
    texts = BroughtTexts.of(job, answers)
    for batch in batched(answers.iterator(ANSWERS_AT_ONCE), ANSWERS_AT_ONCE):
        hits_by_answer = [hits_of(answer) for answer in batch]
        hit_by_document = {hit.document: hit for hit in chain.from_iterable(hits_by_answer)}
        ids = write_documents(job, hit_by_document, report, texts)
        rankings = [
            _ranking(hits, ids, system=system, query_id=answer.query_id, job=job)
            for answer, hits in zip(batch, hits_by_answer, strict=True)
        ]
        Ranking.objects.bulk_create(rankings)
        report.counts["new"] += len(batch)
        progress("writing", report.counts["new"] / total, report.counts["new"])
    texts.tell(report)


def _ranking(hits: list[Hit], ids: dict[str, int], **facts) -> Ranking:
    """The ranking of these hits; without scores each gets 1 / rank. Without hits it is an empty one."""
    documents = np.array([ids[hit.document] for hit in hits], np.uint32)
    scores = [1 / rank if hit.score is None else hit.score for rank, hit in enumerate(hits, start=1)]
    return Ranking(documents=documents, scores=np.array(scores, np.float64), **facts)


# Report


def _tell(job: Job, report: PullReport) -> None:
    """Add to the report what was written, top results without a rating, gaps, and how second answers differ.

    The answers are then deleted.
    """
    counts = report.counts
    system = job.options["system"]
    rankings = f"{counted(counts['new'], 'ranking')} to a depth of {job.options['depth']:,}"
    documents = counted(counts["documents"], "new document")
    if counts["filled"]:
        documents += f", and {counts['filled']:,} stored before got a text or a newer one"
    report.facts.append(f"{system}: {rankings}; {documents}.")
    results_at_top, unrated = _count_unrated(job)
    if unrated:
        report.facts.append(
            f"Of {results_at_top:,} results in the first {TOP_PLACES} places, {unrated:,} have no rating."
        )
    failed = job.answers.filter(again=False).exclude(problem="").order_by("query").select_related("query")
    report.failed = [[answer.query.key, answer.problem] for answer in failed]
    if report.failed:
        gaps = counted(len(report.failed), "query is a gap", "queries are gaps")
        report.warnings.append(f"{gaps}: the engine gave no usable answer. Fetch again to ask for them alone.")
    # Gaps have no ranking either, but were asked.
    if unasked := to_ask(job.destination, system).count() - len(report.failed):
        report.warnings.append(f"{counted(unasked, 'query was', 'queries were')} not asked, since it was stopped.")
    if job.options["twice"]:
        report.twice = difference(job)
        report.facts.append(difference_told(report.twice))
    job.answers.all().delete()


def _count_unrated(job: Job) -> tuple[int, int]:
    """The number of results in the first TOP_PLACES of the rankings that the job wrote, and of those unrated."""
    rankings = Ranking.objects.filter(job=job)
    rated = set(Rating.objects.filter(query__in=rankings.values("query")).values_list("query", "document"))
    results: list[tuple[int, int]] = []  # query and document
    for ranking in rankings:
        results += [(ranking.query_id, document) for document in ranking.documents[:TOP_PLACES].tolist()]
    return len(results), sum(result not in rated for result in results)


def difference(job: Job) -> dict[str, Any]:
    """How far second answers differ from the first ones, in their first TOP_PLACES documents: PullReport.twice.

    `queries`: how many have two usable answers; `differ`: how many of these got other documents or another order;
    `shared`: the mean share of documents that both answers have, None without queries; `failed`: how many second
    answers are not usable. Only queries with a usable first answer are asked again (`drawn_twice`).
    """
    second_answers = {answer.query_id: answer for answer in job.answers.filter(again=True)}
    shares, differ, failed = [], 0, 0
    for first_answer in job.answers.filter(again=False, query__in=second_answers):
        second_answer = second_answers[first_answer.query_id]
        if second_answer.problem:
            failed += 1
            continue
        first = [hit.document for hit in hits_of(first_answer)[:TOP_PLACES]]
        second = [hit.document for hit in hits_of(second_answer)[:TOP_PLACES]]
        differ += first != second
        longer = max(len(first), len(second))
        shares.append(len(set(first) & set(second)) / longer if longer else 1.0)  # 1: both are empty
    mean_share = sum(shares) / len(shares) if shares else None
    return {"queries": len(shares), "differ": differ, "shared": mean_share, "failed": failed}


def difference_told(twice: Mapping[str, Any]) -> str:
    """How far an engine differs from itself, as a sentence."""
    if not twice["queries"]:
        return "No query was answered twice, so how far the engine differs from itself is unknown."
    asked = f"Asked twice: {counted(int(twice['queries']), 'query', 'queries')}"
    if not twice["differ"]:
        return f"{asked}; the first {TOP_PLACES} results were the same each time."
    return (
        f"{asked}; {twice['differ']:,} got other first {TOP_PLACES} results or another order."
        f" On average {twice['shared']:.1%} of the first {TOP_PLACES} documents were the same."
    )

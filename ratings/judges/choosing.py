"""Which pairs a run asks about, and what that would cost."""

import random
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import product
from typing import NamedTuple

from django.db.models import Avg, Max, Q, QuerySet

from ..models import UNANSWERED, Document, Judge, JudgeRun, JudgeVersion, MachineGrade, Pair, Probe, Query
from ..pool import pooling
from . import asking, probes

Choice = JudgeRun.Choice
SAMPLED = 50  # pairs from which the length of prompts is estimated
BYTES_A_TOKEN = 4
TOKENS_OUT = 12  # of an answer {"grade": n}
SECONDS = 1.0  # of a call, before any was timed
AT_ONCE = 2_000
# Runs that make no more calls, unless somebody resumes them.
ENDED = [JudgeRun.State.DONE, JudgeRun.State.CANCELLED, JudgeRun.State.CAPPED, JudgeRun.State.FAILED]
NO_ANSWER = Q(problem__in=UNANSWERED)
LEFT = Q(state=MachineGrade.State.WAITING) | Q(state=MachineGrade.State.UNGRADED) & NO_ANSWER
# The fields that are unique, with the version.
KEYS = {MachineGrade: ("query_id", "document_id", "repeat"), Probe: ("query_id", "kind")}
# The options that a choice has.
OPTIONS = {
    Choice.RANDOM: ("size", "seed"),
    Choice.AGAIN: ("size", "seed"),
    Choice.HOLES: ("depth",),
    Choice.PROBES: ("queries", "seed"),
}

PairIds = tuple[int, int]  # of query and document


class Estimate(NamedTuple):
    """The estimated size and cost of a run. Tokens are estimated from the bytes of some prompts."""

    pairs: int
    calls: int  # without tries again
    answered: int  # of these pairs, or waiting in another run: they are not asked again
    tokens_in: int
    tokens_out: int
    cost: Decimal
    seconds: float


def asks_of(version: JudgeVersion, choice: str, options: dict) -> list[tuple]:
    """What a run of this choice asks about, as KEYS of its rows, in a fixed order. Raises ValueError.

    An ordinary run asks about a pair for the first time: repeat 1. Only `again` repeats answered pairs.
    """
    if choice == Choice.PROBES:
        return list(product(probes.queries_of(version, **options), Probe.Kind))
    if choice != Choice.AGAIN:
        return [(*pair, 1) for pair in pairs_of(version.judge, choice, options)]
    answered = version.grades.exclude(state=MachineGrade.State.WAITING).exclude(NO_ANSWER)
    times = answered.order_by("query", "document").values_list("query", "document").annotate(n=Max("repeat"))
    graded = version.grades.filter(state=MachineGrade.State.GRADED, repeat=1).values_list("query", "document")
    first = set(graded)
    every = [(query, document, n + 1) for query, document, n in times if (query, document) in first]
    if not every:
        raise ValueError("This version has graded no pair yet, so there is none to ask about again")
    return _random_sample(every, options)


def _random_sample(every: list, options: dict) -> list:
    """A random sample, sorted, of at most `size` items (100 by default)."""
    return sorted(random.Random(options.get("seed", 1)).sample(every, min(options.get("size", 100), len(every))))


def pairs_of(judge: Judge, choice: str, options: dict) -> list[PairIds]:
    """(query id, document id) of the pairs, in a fixed order. Raises ValueError.

    The last choice, which no condition names, is a random part of the pool.
    """
    collection = judge.collection
    pool = Pair.objects.filter(query__collection=collection, wanted__gt=0, retired_at__isnull=True)
    if choice == Choice.SAMPLE:
        sample = judge.samples.order_by("-pk").first()
        if sample is None:
            raise ValueError("The judge has no sample yet. Draw one, or take the pairs that people rated")
        return list(sample.pairs.order_by("pk").values_list("query", "document"))
    if choice == Choice.POOL:
        return list(pool.order_by("query", "document").values_list("query", "document"))
    if choice == Choice.RATED:
        return sorted(set(pooling.judged(collection)))
    if choice == Choice.HOLES:
        depth, found = options.get("depth", 10), set()
        for system in collection.systems.all():
            for of in pooling.holes(collection, system, depth):
                found.update((of.query.pk, hole.document.pk) for hole in of.holes)
        return sorted(found)
    return _random_sample(list(pool.order_by("query", "document").values_list("query", "document")), options)


def left(version: JudgeVersion, model: type[MachineGrade | Probe] = MachineGrade) -> QuerySet:
    """The rows without an answer in runs that have ended, which a new run takes over."""
    return model.objects.filter(LEFT, version=version, run__state__in=ENDED)


def to_ask(version: JudgeVersion, asks: Iterable[tuple], model: type[MachineGrade | Probe] = MachineGrade) -> set:
    """Those of the asks that a new run would make: all but the answered ones and those of another run."""
    held = model.objects.filter(version=version).exclude(LEFT, run__state__in=ENDED)
    return set(asks).difference(held.values_list(*KEYS[model]).iterator())


def estimate(version: JudgeVersion, choice: str, options: dict, concurrency: int) -> Estimate:
    """The estimate of a run. Raises ValueError."""
    asks = asks_of(version, choice, options)
    pairs = [(query, document) for query, document, _ in sorted(to_ask(version, asks))]
    calls = len(pairs)
    tokens_in = round(calls * _bytes(version, pairs) / BYTES_A_TOKEN)
    tokens_out = calls * TOKENS_OUT
    took = MachineGrade.objects.filter(version=version, seconds__isnull=False).aggregate(s=Avg("seconds"))["s"]
    cost = (tokens_in * version.price_in + tokens_out * version.price_out) / 1_000_000
    seconds = calls * (took or SECONDS) / concurrency
    return Estimate(len(asks), calls, len(asks) - calls, tokens_in, tokens_out, round(cost, 6), seconds)


def _bytes(version: JudgeVersion, pairs: Sequence[PairIds]) -> float:
    """The mean bytes of a prompt, from some pairs spread over all."""
    some = pairs[:: max(1, len(pairs) // SAMPLED)][:SAMPLED]
    if not some:
        return 0.0
    queries = Query.objects.in_bulk({query for query, _ in some})
    documents = Document.objects.in_bulk({document for _, document in some})
    builder = asking.CallBuilder(version)
    return sum(len(builder.prompt(queries[q], documents[d]).encode()) for q, d in some) / len(some)

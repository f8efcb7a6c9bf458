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
PROMPTS_SAMPLED = 50  # from which the length of all is estimated
BYTES_A_TOKEN = 4
TOKENS_OF_AN_ANSWER = 12  # {"grade": n}
SECONDS_OF_A_CALL = 1.0  # before any was timed
ROWS_PER_STATEMENT = 2_000
# Runs that make no more calls, unless somebody resumes them.
ENDED_STATES = [JudgeRun.State.DONE, JudgeRun.State.CANCELLED, JudgeRun.State.CAPPED, JudgeRun.State.FAILED]
# Rows that a new run asks about: still waiting, or the call brought no answer at all, such as a time-out.
NO_ANSWER = Q(problem__in=UNANSWERED)
STILL_TO_ASK = Q(state=MachineGrade.State.WAITING) | Q(state=MachineGrade.State.UNGRADED) & NO_ANSWER
# The fields that identify a row of a version.
KEY_FIELDS = {MachineGrade: ("query_id", "document_id", "repeat"), Probe: ("query_id", "kind")}
# The names of the options of each choice that has some.
OPTION_NAMES = {
    Choice.RANDOM: ("size", "seed"),
    Choice.AGAIN: ("size", "seed"),
    Choice.HOLES: ("depth",),
    Choice.PROBES: ("queries", "seed"),
}

PairIds = tuple[int, int]  # of query and document


class Estimate(NamedTuple):
    """The estimated size and cost of a run. Tokens are estimated from the bytes of some prompts."""

    pairs: int
    calls: int  # one for each pair to ask about; further tries are not counted
    answered: int  # pairs that have an answer or wait in another run: they are not asked about
    tokens_in: int
    tokens_out: int
    cost: Decimal
    seconds: float


def asks_of(version: JudgeVersion, choice: str, options: dict) -> list[tuple]:
    """(query id, document id, repeat) of each call of a run, or (query id, kind) of each probe, in a fixed order.

    `repeat` counts the times that the version was asked about a pair. It is 1, except for `again`, which draws
    from the graded pairs. Raises ValueError if there is nothing to ask about.
    """
    if choice == Choice.PROBES:
        return list(product(probes.queries_of(version, **options), Probe.Kind))
    if choice == Choice.AGAIN:
        return _random_sample(_next_repeats(version), **options)
    return [(*pair, 1) for pair in pairs_of(version.judge, choice, options)]


def _next_repeats(version: JudgeVersion) -> list[tuple[int, int, int]]:
    """(query id, document id, next repeat) of each pair that the version graded. Raises ValueError without any."""
    graded = version.grades.filter(state=MachineGrade.State.GRADED, repeat=1)
    graded_pairs = set(graded.values_list("query", "document"))
    if not graded_pairs:
        raise ValueError("This version has graded no pair yet, so there is none to ask about again")
    answered = version.grades.exclude(state=MachineGrade.State.WAITING).exclude(NO_ANSWER)
    pairs = answered.order_by("query", "document").values_list("query", "document").annotate(last=Max("repeat"))
    return [(query, document, last + 1) for query, document, last in pairs if (query, document) in graded_pairs]


def _random_sample(population: list, size: int = 100, seed: int = 1) -> list:
    """A random sample, sorted, of at most `size` items."""
    return sorted(random.Random(seed).sample(population, min(size, len(population))))


def pairs_of(judge: Judge, choice: str, options: dict) -> list[PairIds]:
    """(query id, document id) of the pairs of this `choice` (of JudgeRun.Choice), in a fixed order.

    The holes are the unjudged results of all systems in the first places, as many as the option "depth". Raises
    ValueError if the choice is the sample of the judge, and it has none.
    """
    collection = judge.collection
    if choice == Choice.SAMPLE:
        sample = judge.samples.order_by("-pk").first()
        if sample is None:
            raise ValueError("The judge has no sample yet. Draw one, or take the pairs that people rated")
        return list(sample.pairs.order_by("pk").values_list("query", "document"))
    if choice == Choice.RATED:
        return sorted(set(pooling.judged(collection)))
    if choice == Choice.HOLES:
        unjudged_pairs = set()
        for system in collection.systems.all():
            for ranking in pooling.holes(collection, system, options.get("depth", 10)):
                unjudged_pairs |= {(ranking.query.pk, hole.document.pk) for hole in ranking.holes}
        return sorted(unjudged_pairs)
    pool = Pair.objects.filter(query__collection=collection, wanted__gt=0, retired_at__isnull=True)
    pairs = list(pool.order_by("query", "document").values_list("query", "document"))
    # The choice is POOL, or else RANDOM, with the options size and seed.
    return pairs if choice == Choice.POOL else _random_sample(pairs, **options)


def unanswered_rows(version: JudgeVersion, model: type[MachineGrade | Probe] = MachineGrade) -> QuerySet:
    """The rows without an answer in runs that have ended, which a new run takes over."""
    return model.objects.filter(STILL_TO_ASK, version=version, run__state__in=ENDED_STATES)


def to_ask(version: JudgeVersion, asks: Iterable[tuple], model: type[MachineGrade | Probe] = MachineGrade) -> set:
    """The asks that a new run would make: not those that have an answer or belong to a run that has not ended."""
    answered_or_taken = model.objects.filter(version=version).exclude(STILL_TO_ASK, run__state__in=ENDED_STATES)
    return set(asks).difference(answered_or_taken.values_list(*KEY_FIELDS[model]).iterator())


def estimate(version: JudgeVersion, choice: str, options: dict, concurrency: int) -> Estimate:
    """The estimate of a run over this choice of pairs. Raises ValueError if `asks_of` does."""
    # (query id, document id, repeat): each pair once, with the number of this ask about it, from 1.
    asks = asks_of(version, choice, options)
    pairs = [(query, document) for query, document, _ in sorted(to_ask(version, asks))]  # that have no answer yet
    calls = len(pairs)
    builder = asking.CallBuilder(version)
    tokens_in = round(calls * _mean_prompt_bytes(builder, pairs) / BYTES_A_TOKEN)
    tokens_out = calls * TOKENS_OF_AN_ANSWER
    seconds_per_call = version.grades.aggregate(mean=Avg("seconds"))["mean"] or SECONDS_OF_A_CALL
    return Estimate(
        pairs=len(asks),
        calls=calls,
        answered=len(asks) - calls,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=builder.cost_of(tokens_in, tokens_out),
        seconds=calls * seconds_per_call / concurrency,
    )


def _mean_prompt_bytes(builder: asking.CallBuilder, pairs: Sequence[PairIds]) -> float:
    """The mean bytes of a prompt, from some pairs spread over all."""
    sampled = pairs[:: max(1, len(pairs) // PROMPTS_SAMPLED)][:PROMPTS_SAMPLED]
    if not sampled:
        return 0.0
    queries = Query.objects.in_bulk({query for query, _ in sampled})
    documents = Document.objects.in_bulk({document for _, document in sampled})
    return sum(len(builder.prompt(queries[q], documents[d]).encode()) for q, d in sampled) / len(sampled)

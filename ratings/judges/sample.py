"""The sample of a judge: pairs on which it is compared with people, and the chance with which each was drawn."""

import random
from collections import defaultdict
from collections.abc import Sequence

from django.db import transaction

from ..models import Judge, JudgeSample, Pair, SampledPair
from ..people.audit import Act, note
from ..pool import pooling

AT_ONCE = 2_000
SIZE = 200  # pairs that are proposed


@transaction.atomic
def draw(judge: Judge, size: int, seed: int, by=None) -> JudgeSample:
    """The new sample of about `size` pairs of the pool, drawn at random within each query, whether rated or not.

    Each query gets its share of the sample, and at least one pair. So the chance of a pair is known: the number of
    drawn pairs of its query divided by the number of all. Raters get the same pairs as before. Raises ValueError.
    """
    pool = Pair.objects.filter(query__collection=judge.collection, wanted__gt=0, retired_at__isnull=True)
    of_query = defaultdict(list)
    for query, key, document in pool.order_by("query", "document").values_list("query", "query__key", "document"):
        of_query[query, key].append(document)
    every = sum(map(len, of_query.values()))
    if not every:
        raise ValueError("The pool is empty. Pool the documents that people are to rate first")
    if size < 1:
        raise ValueError(f"A sample has at least one pair, not {size}")
    generator, rows = random.Random(seed), []
    sample = JudgeSample.objects.create(judge=judge, by=by, drawn=True, seed=seed, options={"size": size})
    for (query, key), documents in of_query.items():
        n = min(len(documents), max(1, round(size * len(documents) / every)))
        facts = {"sample": sample, "query_id": query, "stratum": key[:100], "probability": n / len(documents)}
        rows += [SampledPair(document_id=each, **facts) for each in sorted(generator.sample(documents, n))]
    return _stored(sample, rows)


@transaction.atomic
def take_rated(judge: Judge, by=None) -> JudgeSample:
    """The sample of all pairs that people rated, marked as not drawn. Raises ValueError if there are none."""
    pairs = sorted(set(pooling.judged(judge.collection)))
    if not pairs:
        raise ValueError("Nobody has rated a pair yet. Have some rated first")
    sample = JudgeSample.objects.create(judge=judge, by=by, drawn=False)
    return _stored(sample, [SampledPair(sample=sample, query_id=q, document_id=d) for q, d in pairs])


@transaction.atomic
def drop(judge: Judge) -> int:
    """How many samples of the judge were deleted: the present one, and those that it replaced.

    Ratings and the judge's grades stay. Without a sample the judge is not measured.
    """
    samples = list(judge.samples.values_list("pk", flat=True))
    if samples:
        SampledPair.objects.filter(sample__in=samples).delete()
        judge.samples.filter(pk__in=samples).delete()
        note(Act.JUDGE_SAMPLE_DROPPED, judge.collection, about=judge.name, samples=len(samples))
        judge.collection.touch()
    return len(samples)


def _stored(sample: JudgeSample, rows: Sequence[SampledPair]) -> JudgeSample:
    SampledPair.objects.bulk_create(rows, batch_size=AT_ONCE)
    facts = {"pairs": len(rows), "drawn": sample.drawn}
    note(Act.JUDGE_SAMPLE, sample.judge.collection, about=sample.judge.name, **facts)
    return sample

"""The sample of a judge: pairs on which it is compared with people, and the chance with which each was drawn."""

import random
from collections import defaultdict
from collections.abc import Sequence

from django.db import transaction

from ..models import Judge, JudgeSample, Pair, SampledPair
from ..people.audit import Act, note
from ..pool import pooling

ROWS_PER_STATEMENT = 2_000
PROPOSED_SIZE = 200  # pairs


@transaction.atomic
def draw(judge: Judge, size: int, seed: int, by=None) -> JudgeSample:
    """The new sample of about `size` pairs of the pool, drawn at random within each query, whether rated or not.

    Each query gets its share of the sample, and at least one pair. So the chance of a pair is known: the number of
    drawn pairs of its query divided by the number of all pairs of the query. What raters get to rate stays as it
    is. Raises ValueError for an empty pool.
    """
    # The pool: the pairs that ratings are wanted for, without those that were retired.
    pool = Pair.objects.filter(query__collection=judge.collection, wanted__gt=0, retired_at__isnull=True)
    documents_by_query = defaultdict(list)
    for query, key, document in pool.order_by("query", "document").values_list("query", "query__key", "document"):
        documents_by_query[query, key].append(document)
    pool_size = sum(map(len, documents_by_query.values()))
    if not pool_size:
        raise ValueError("The pool is empty. Pool the documents that people are to rate first")
    generator = random.Random(seed)
    rows = []
    sample = JudgeSample.objects.create(judge=judge, by=by, drawn=True, seed=seed, options={"size": size})
    for (query, key), documents in documents_by_query.items():
        share_of_size = round(size * len(documents) / pool_size)
        count = min(len(documents), max(1, share_of_size))
        chance = count / len(documents)
        for document in sorted(generator.sample(documents, count)):
            drawn_pair = {"query_id": query, "document_id": document, "stratum": key[:100]}
            rows.append(SampledPair(sample=sample, probability=chance, **drawn_pair))
    return _stored(sample, rows)


@transaction.atomic
def take_rated(judge: Judge, by=None) -> JudgeSample:
    """The sample of all pairs that people rated, marked as not drawn. Raises ValueError if there are none."""
    pairs = sorted(set(pooling.judged(judge.collection)))
    if not pairs:
        raise ValueError("Nobody has rated a pair yet. Have some rated first")
    sample = JudgeSample.objects.create(judge=judge, by=by, drawn=False)
    rows = [SampledPair(sample=sample, query_id=query, document_id=document) for query, document in pairs]
    return _stored(sample, rows)


@transaction.atomic
def drop(judge: Judge) -> int:
    """Delete all samples of the judge, and return how many there were.

    Ratings and the judge's grades stay. Without a sample the judge is not measured.
    """
    _, deleted = judge.samples.all().delete()  # name of a model -> its deleted rows: samples, and their pairs
    samples = deleted.get("ratings.JudgeSample", 0)
    if samples:
        note(Act.JUDGE_SAMPLE_DROPPED, judge.collection, about=judge.name, samples=samples)
        judge.collection.touch()
    return samples


def _stored(sample: JudgeSample, rows: Sequence[SampledPair]) -> JudgeSample:
    SampledPair.objects.bulk_create(rows, batch_size=ROWS_PER_STATEMENT)
    note(Act.JUDGE_SAMPLE, sample.judge.collection, about=sample.judge.name, pairs=len(rows), drawn=sample.drawn)
    return sample

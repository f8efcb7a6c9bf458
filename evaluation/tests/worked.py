"""A worked collection for tests: two queries, two systems, grades from -1 to 3, small enough to add up by hand."""

from collections.abc import Iterable
from decimal import Decimal
from math import log2

import numpy as np
import pandas as pd

from evaluation import frozen, scores
from evaluation.measures import Options
from evaluation.measures.options import DEFAULT
from evaluation.models import FrozenEvaluation
from evaluation.scores import Asked, Evaluation
from ratings.models import Collection, Rater
from ratings.tests.cast import Imported, make_collection, make_ranking, record_imported

SECOND = 1 / log2(3)  # the discount of rank 2

# q1 holds a=3 b=2 c=0, so its ideal list is a b; q2 holds a=1 d=-1, so its best list is a and its worst is d.
IDEAL = 3 + 2 * SECOND
KEYWORD_Q1 = (2 + 3 * SECOND) / IDEAL  # b a d, with d unjudged
KEYWORD_Q2 = ((-1 + SECOND) - -1) / (1 - -1)  # d a
HYBRID_Q1 = 1.0  # a b c
NEUTRAL_Q2 = (0 - -1) / (1 - -1)  # no ranking counts as an empty one


def worked_collection(slug: str = "hills") -> Collection:
    collection = make_collection(slug)
    rate(collection, "q1", a="3", b="2", c="0")
    rate(collection, "q2", a="1", d="-1")
    make_ranking(collection, "keyword", "q1", "bad")
    make_ranking(collection, "keyword", "q2", "da")
    make_ranking(collection, "hybrid", "q1", "abc")
    return collection


def rate(collection: Collection, query: str, rater: str = "expert", kind: str = "imported", **grades: str) -> None:
    """Grade documents as one rater: rate(c, "q1", a="3", b="unclear"); a word is why it cannot be judged."""
    who, _ = Rater.objects.get_or_create(collection=collection, name=rater, defaults={"kind": kind})
    documents = dict(collection.documents.values_list("key", "pk"))
    scale = {grade.value: grade for grade in collection.grades.all()}
    query_id = collection.queries.get(key=query).pk
    rows = [
        Imported(query_id, documents[key], None, reason=given)
        if given.isalpha()
        else Imported(query_id, documents[key], scale[Decimal(given)])
        for key, given in grades.items()
    ]
    record_imported(who, rows)
    collection.touch()


def evaluated(
    collection: Collection,
    measures: Iterable[str],
    options: Options = DEFAULT,
    systems: Iterable[str] | None = None,
    bounds: Iterable[str] = (),
    **judged: str,
) -> Evaluation:
    """The evaluation of these measures by these options. judged: rule and adjudications."""
    first, *others = measures
    chosen = None if systems is None else tuple(systems)
    asked = Asked(scores.measure_for(collection, first), options, systems=chosen, **judged)
    return scores.evaluate(collection, asked, others, bounds)


def summary_of(evaluation: Evaluation) -> pd.DataFrame:
    """The numbers of each standing, a row for each (system, measure), both text. nan = no value."""
    rows = [row.numbers for row in evaluation.by_column.values()]
    index = pd.MultiIndex.from_tuples(evaluation.by_column, names=["system", "measure"]) if rows else None
    return pd.DataFrame(rows, index).map(lambda value: np.nan if value is None else value)


def recomputed(stored: FrozenEvaluation) -> Evaluation:
    """The evaluation computed again from the stored files."""
    about = frozen.about(stored)
    settings, lines = frozen.settings_of(stored), frozen.lines_of(stored)
    return frozen.stored.computed(about.collection, settings, lines, about.profile)

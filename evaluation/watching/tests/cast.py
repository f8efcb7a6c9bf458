"""A watch and a night of it, as its worker would have stored them."""

from dataclasses import asdict

import numpy as np
from django.utils import timezone

from evaluation.models import Night, Verdict, Watch
from evaluation.watching.nights import store
from evaluation.watching.scoring import Means
from evaluation.watching.verdicts import Numbers
from ratings.models import Collection

ASKED = {"measure": "nDCG@10"}


def make_watch(collection: Collection, name: str = "Nightly", **facts) -> Watch:
    facts = {"asked": ASKED, "days": [0], "seed": 1, "created_at": timezone.now()} | facts
    return Watch.objects.create(collection=collection, name=name, **facts)


def make_night(watch: Watch, *, kind: str = "worse", **facts) -> Night:
    """A night in which the search returned the first documents for each query, and was told so of a baseline."""
    queries = list(watch.collection.queries.order_by("pk").values_list("pk", flat=True))
    documents = list(watch.collection.documents.order_by("pk").values_list("pk", flat=True)[:3])
    stored = store(watch, ((query, documents) for query in queries))
    mean = dict.fromkeys(Means.__dataclass_fields__, None)
    mean |= {"mean": 0.5, "low": 0.4, "high": 0.6, "judged": 0.1 + 0.2, "queries": len(queries), "gaps": 0}
    mean |= {
        "undefined": 0,
        "unjudged": 1,
        "results": 6,
        "label": "nDCG@10 lin log2",
        "judgments": 1,
        "judgments_version": "a1",
    }
    night = Night.objects.create(
        watch=watch,
        due_at=facts.pop("due_at", None) or timezone.now(),
        state="told",
        queries=queries,
        rankings=[stored[query] for query in queries],
        values=np.array([0.5, *[np.nan] * (len(queries) - 1)]),
        means=mean,
        terms={"scale": [1, []]},
        ended_at=timezone.now(),
        **facts,
    )
    numbers = dict.fromkeys(Numbers.__dataclass_fields__, None)
    numbers |= {"difference": -0.1, "low": -0.2, "high": -0.05, "queries": len(queries), "margin": watch.margin}
    numbers |= {
        "label": mean["label"],
        "without": "",
        "why": "",
        "unjudged": 1,
        "skewed": False,
        "unchanged": False,
        "is_minority": False,
    }
    system = watch.collection.systems.first()
    Verdict.objects.create(
        night=night,
        baseline="fixed",
        system=system,
        name=system.name if system else "gone",
        kind=kind,
        numbers=asdict(Numbers(**numbers)),
        differences=np.array([-0.1, *[np.nan] * (len(queries) - 1)]),
        path=1,
        spent_before=0.0,
        spent=0.1 + 0.2,
        crossed=np.array([129, 0, 255], np.uint8),
    )
    return night

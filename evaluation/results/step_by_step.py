"""Large pages step by step: at once what is computed, then the plain means, then the whole page.

Each step is a page of its own, which the browser shows while it waits for the next. It needs no script.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, wraps

from django.db.models import Count, Model, OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from ratings.models import Collection, Query, System
from ratings.people.access import View

from ..measures import mean
from ..page.address import evaluated, page
from ..scores import Asked

STEP, MEANS, ALL = "step", "means", "all"
AFTER = {"": MEANS, MEANS: ALL}  # the step that follows each
LARGE = 20_000  # rankings: the whole page of fewer takes about a second


@dataclass
class _Known:
    """What this process knows of a page since the last import. Ratings do not change it."""

    rankings: int
    drawn: bool = False  # then the next time only changed queries are computed


def step_by_step(section: str) -> Callable[[View], View]:
    """A decorator of view(request, collection, asked): where it takes long, the first steps come before it."""

    def decorated(view: View) -> View:
        @wraps(view)
        def answered(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
            known = _known(collection.pk, collection.created_at, collection.version, section, asked)
            step = request.GET.get(STEP, "")
            if known.rankings < LARGE or known.drawn or step not in AFTER or "chart" in request.GET:
                response = view(request, collection, asked)
                known.drawn = True
                return response
            return _first_steps(request, page(request, collection, section, asked), step)

        return answered

    return decorated


def rankings_of(collection: Collection) -> int:
    """How many rankings the collection has where each system ranks each query. One database query, or none."""
    systems, queries = _counts(collection.pk, collection.created_at, collection.version)
    return systems * queries


@lru_cache(maxsize=1_000)
def _known(pk: int, created_at: datetime, version: int, section: str, asked: Asked) -> _Known:
    """The same object for the same arguments. `created_at` tells collections apart whose pk was used again."""
    systems, queries = _counts(pk, created_at, version)
    return _Known(systems * queries)


@lru_cache(maxsize=1_000)
def _counts(pk: int, created_at: datetime, version: int) -> tuple[int, int]:
    """How many systems and queries the collection has."""
    numbers = (_count(model) for model in (System, Query))
    systems, queries = Collection.written.filter(pk=pk).order_by().values_list(*numbers).get()
    return systems or 0, queries or 0


def _count(model: type[Model]) -> Subquery:
    rows = model.objects.filter(collection=OuterRef("pk")).order_by().values("collection")
    return Subquery(rows.annotate(n=Count("pk")).values("n"))


def _first_steps(request: HttpRequest, context: dict, step: str) -> HttpResponse:
    collection, asked = context["collection"], context["asked"]
    systems, queries = _counts(collection.pk, collection.created_at, collection.version)
    others = [(name, value) for name in request.GET for value in request.GET.getlist(name) if name != STEP]
    context |= {
        "systems": systems,
        "queries": queries,
        "means": plain_means(collection, asked) if step == MEANS else None,
        "next": f"{request.path}?{urlencode([*others, (STEP, AFTER[step])])}",
    }
    return render(request, "evaluation/first_steps.html", context)


def plain_means(collection: Collection, asked: Asked) -> list[dict]:
    """The mean of each system with the number of queries behind it, the highest first, those without one last.

    Not those of `standings`, which have intervals: these take longest.
    """
    evaluation = evaluated(collection, asked)
    values, counted = evaluation.values(evaluation.systems), evaluation.counted(evaluation.systems)
    rows = [
        {"system": name, "mean": mean(column, counts) if counts.any() else None, "n": int(counts.sum())}
        for name, column, counts in zip(evaluation.systems, values.T, counted.T, strict=True)
    ]
    return sorted(rows, key=lambda row: (row["mean"] is None, -(row["mean"] or 0), row["system"]))

"""Large pages step by step: at once what is computed, then the plain means, then the whole page.

Each step is a page of its own, which the browser shows while it waits for the next. It needs no script.
"""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from ratings.models import Collection
from ratings.people.access import View

from .. import record
from ..measures import mean
from ..page.address import evaluated, page, parameters_without
from ..page.holdings import imported_counts
from ..record import Version, cache
from ..scores import Asked

STEP, MEANS, ALL = "step", "means", "all"
NEXT_STEP = {"": MEANS, MEANS: ALL}  # the step that follows each
LARGE_FROM_RANKINGS = 20_000  # rankings: the whole page of fewer takes about a second


def step_by_step(section: str) -> Callable[[View], View]:
    """A decorator of view(request, collection, asked): where it takes long, the first steps come before it."""

    def decorator(view: View) -> View:
        @wraps(view)
        def wrapper(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
            version = record.version(collection)
            # Once the page was drawn, only changed queries are computed again; an import begins anew. The set
            # stays in the cache, and is empty until then.
            steps_drawn = cache.count(collection, version.unrated, ("drawn", section, asked), set)
            step = request.GET.get(STEP, "")
            is_small = rankings_of(collection, version) < LARGE_FROM_RANKINGS
            # An address with ?chart= is that of a picture, which has no first steps.
            if is_small or steps_drawn or step not in NEXT_STEP or "chart" in request.GET:
                response = view(request, collection, asked)
                steps_drawn.add(ALL)
                return response
            context = page(request, collection, section, asked)
            return _first_steps(request, context | imported_counts(collection, version), step)

        return wrapper

    return decorator


def rankings_of(collection: Collection, version: Version) -> int:
    """How many rankings the collection has where each system ranks each query. Three database queries, or none."""
    counts = imported_counts(collection, version)
    return counts["systems"] * counts["queries"]


def _first_steps(request: HttpRequest, context: dict, step: str) -> HttpResponse:
    """The page with what is computed at once, at the step MEANS also with plain means, that leads to the next."""
    collection, asked = context["collection"], context["asked"]
    parameters = [*parameters_without(request, [STEP]), (STEP, NEXT_STEP[step])]
    context |= {
        "means": plain_means(collection, asked) if step == MEANS else None,
        "next": f"{request.path}?{urlencode(parameters)}",
    }
    return render(request, "evaluation/first_steps.html", context)


def plain_means(collection: Collection, asked: Asked) -> list[dict]:
    """The mean of each system with the number of queries behind it, the highest first, those without one last.

    Not those of `standings`, which have intervals: these take longest.
    """
    evaluation = evaluated(collection, asked)
    rows = []
    for name in evaluation.systems:
        values, counted = evaluation.values([name])[:, 0], evaluation.counted([name])[:, 0]
        plain_mean = mean(values, counted) if counted.any() else None
        rows.append({"system": name, "mean": plain_mean, "n": int(counted.sum())})
    return sorted(rows, key=lambda row: (row["mean"] is None, -(row["mean"] or 0), row["system"]))

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
from ..record import Version, cache
from ..scores import Asked
from .address import evaluated, page, parameters_without
from .holdings import imported_counts

STEP, MEANS, ALL = "step", "means", "all"
NEXT_STEP = {"": MEANS, MEANS: ALL}  # the step that follows each of the first steps
LARGE_FROM_RANKINGS = 20_000  # rankings: the whole page of fewer takes about a second


def step_by_step(section: str) -> Callable[[View], View]:
    """A decorator of view(request, collection, asked): where the view takes long, quick pages come before it.

    These are the first steps: each shows what is known so far, and leads the browser to the next by itself.
    section: of the navigation, for the first steps.
    """

    def decorator(view: View) -> View:
        @wraps(view)
        def wrapper(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
            return _respond(view, section, request, collection, asked)

        return wrapper

    return decorator


def _respond(view: View, section: str, request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The whole page, which the view makes, or one of the first steps that come before it.

    In a large collection the first steps come until the view has made the page once. After that it is quick, since
    ratings change single queries, and only these are computed again.
    """
    version = record.version(collection)
    # An import changes `version.unrated`, a rating does not: after an import the first steps come again.
    version_without_ratings, key = version.unrated, ("whole page made", section, asked)
    was_made = cache.has_small_value(collection, version_without_ratings, key)
    step = request.GET.get(STEP, "")  # "": the first of the first steps
    is_small = rankings_of(collection, version) < LARGE_FROM_RANKINGS
    # Only the first steps are in NEXT_STEP. An address with ?chart= is that of a picture.
    if is_small or was_made or step not in NEXT_STEP or "chart" in request.GET:
        # For a picture, too, the view computes the whole page, and then draws one chart of it.
        response = view(request, collection, asked)
        cache.small_value(collection, version_without_ratings, key, lambda: True)
        return response
    context = page(request, collection, section, asked)
    return _first_steps(request, context | imported_counts(collection, version), step)


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
    """A row for each system: its mean, and `n` queries behind it. The highest first, those without a mean last.

    Intervals take longest of all, so the rows have none, unlike `Evaluation.standings`.
    """
    evaluation = evaluated(collection, asked)
    rows = []
    for name in evaluation.systems:
        # By query: the values of this system, and whether each counts.
        values, counted = evaluation.values([name])[:, 0], evaluation.counted([name])[:, 0]
        plain_mean = mean(values, counted) if counted.any() else None
        rows.append({"system": name, "mean": plain_mean, "n": int(counted.sum())})
    return sorted(rows, key=lambda row: (row["mean"] is None, -(row["mean"] or 0), row["system"]))

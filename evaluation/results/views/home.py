"""The first page: an introduction for visitors, and the collections of a person who is signed in."""

from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ratings.desk import queue
from ratings.desk.figures import pace_of
from ratings.models import Collection, Deletion, Rater, Rating, Role
from ratings.people import visits
from ratings.people.access import may_make

from ... import record
from ...page.address import CannotAnswer, evaluated
from ...page.holdings import brought
from ...record import Version, cache
from ...scores import Asked
from ...scores.asked import MEASURE
from ..leader import highest
from ..step_by_step import rankings_of

AT_ONCE = 50_000  # rankings that a request reads for best systems: about a second. Others have a link meanwhile


@require_safe
@login_not_required
def home(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return welcome(request)
    stored = dict(request.user.memberships.values_list("collection", "role"))
    seen = Collection.objects.visible_to(request.user)
    roles = [(each, Role.ADMIN if request.user.is_superuser else stored[each.pk]) for each in seen]
    in_use = [(collection, role) for collection, role in roles if not collection.put_away_at]
    context = {
        "section": "home",
        "mine": mine(request.user, in_use),
        "away": [{"collection": collection, "role": role} for collection, role in roles if collection.put_away_at],
        "deleted": Deletion.objects.of_admin(request.user),
        "rates": any(role == Role.RATER for _, role in roles),
        "makes": may_make(request.user),
    }
    return render(request, "evaluation/home.html", context)


def welcome(request: HttpRequest) -> HttpResponse:
    """The introduction, with the ways into the sample on the machine that has it."""
    return render(request, "evaluation/welcome.html", {"sample": settings.DEMO and visits.is_local(request)})


def mine(user: User, roles: Sequence[tuple[Collection, str]]) -> list[dict]:
    """An entry for each of these collections: what the person does or reads in it. Raters see no systems."""
    rows, left = [], AT_ONCE
    for collection, role in roles:
        row = {"collection": collection, "role": role}
        rows.append(row)
        if role == Role.RATER:
            if rater := Rater.objects.filter(collection=collection, user=user).first():
                row |= {"outlook": queue.outlook(rater), "pace": pace_of(rater)}
            continue
        version = record.version(collection)
        row["leader"], read = leader_of(collection, version, left)
        left -= read
        raters = list(collection.raters.order_by().values_list("pk", flat=True))
        graded = Rating.objects.filter(rater__in=raters, grade__isnull=False)
        row |= {
            "label": Asked.of(collection).label if row["leader"] else "",
            "brought": brought(collection, version),
            "ratings": cache.count(collection, version, "ratings", graded.count),
        }
    return rows


def leader_of(collection: Collection, version: Version, most: int) -> tuple[dict | None, int]:
    """The facts on the system with the highest mean, and how many rankings were read for it.

    None where it has more than `most` rankings to read, unless this request has read none so far. Otherwise a
    large collection would never have a best system.
    """
    read = 0
    if not cache.is_counted(collection, version, "leader"):
        read = rankings_of(collection, version)
    if most < AT_ONCE and read > max(most, 0):
        return None, 0

    def best() -> dict | None:
        try:
            evaluation = evaluated(collection, Asked.of(collection))
        except CannotAnswer:
            return None
        if not evaluation.means:
            return None
        first, facts = evaluation.standings[0], highest(evaluation.means)
        facts |= {"measure": MEASURE, "queries": first.queries}
        # Systems that share the mean have intervals of their own.
        return facts | ({"low": first.low, "high": first.high} if len(facts["best"]) == 1 else {})

    return cache.count(collection, version, "leader", best), read

"""The first page: an introduction for visitors, and the collections of a person who is signed in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from ratings import queue
from ratings.models import Collection, Deletion, Rater, Rating, Role
from ratings.people import visits
from ratings.people.access import may_make
from ratings.progress.counts import pace_of
from ratings.progress.figures import Pace

from .. import cache, record
from ..analyses.standings import Standing
from ..measures import parse_measure
from ..pages.answer import Answer, Brought, brought
from ..pages.asked import MEASURE, PROFILE, Asked, CannotAnswer
from ..pages.step_by_step import rankings_of
from ..record import Version
from ..scores import options_for
from ..words import sentences

AT_ONCE = 50_000  # rankings that a request reads for best systems: about a second. Others have a link meanwhile


@require_safe
@login_not_required
def home(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return welcome(request)
    roles = roles_of(request.user)
    in_use = [(collection, role) for collection, role in roles if not collection.put_away_at]
    context = {
        "section": "home",
        "mine": mine(request.user, in_use),
        "away": [Mine(collection, role) for collection, role in roles if collection.put_away_at],
        "deleted": Deletion.objects.of_admin(request.user),
        "rates": any(role == Role.RATER for _, role in roles),
        "makes": may_make(request.user),
    }
    return render(request, "evaluation/home.html", context)


def welcome(request: HttpRequest) -> HttpResponse:
    """The introduction, with the ways into the sample on the machine that has it."""
    return render(request, "evaluation/welcome.html", {"sample": settings.DEMO and visits.is_local(request)})


@dataclass(frozen=True)
class Mine:
    """One collection of a person. For raters it has no systems and no results."""

    collection: Collection
    role: str
    outlook: queue.Outlook | None = None
    pace: Pace | None = None
    brought: Brought | None = None
    ratings: int = 0  # grades
    leader: Standing | None = None
    lead: str = ""  # the sentence on the highest mean, without its full stop
    label: str = ""


def roles_of(user: AbstractBaseUser) -> list[tuple[Collection, str]]:
    """The person's collections by name, with their role in each. Two queries."""
    roles = dict(user.memberships.values_list("collection", "role"))
    seen = Collection.objects.visible_to(user)
    return [(each, Role.ADMIN if user.is_superuser else roles[each.pk]) for each in seen]


def mine(user: AbstractBaseUser, roles: Sequence[tuple[Collection, str]]) -> list[Mine]:
    """An entry for each of these collections: what the person does or reads in it."""
    rows, left = [], AT_ONCE
    for collection, role in roles:
        if role == Role.RATER:
            rater = Rater.objects.filter(collection=collection, user=user).first()
            about = {"outlook": queue.outlook(rater), "pace": pace_of(rater)} if rater else {}
            rows.append(Mine(collection, role, **about))
            continue
        version = record.version(collection)
        (leader, lead), read = leader_of(collection, version, left)
        left -= read
        label = asked_of(collection).label if leader else ""
        facts = {"brought": brought(collection, version), "ratings": ratings_of(collection, version)}
        rows.append(Mine(collection, role, **facts, leader=leader, lead=lead, label=label))
    return rows


def ratings_of(collection: Collection, version: Version) -> int:
    """How many grades this version has."""

    def counted() -> int:
        raters = list(collection.raters.order_by().values_list("pk", flat=True))
        return Rating.objects.filter(rater__in=raters, grade__isnull=False).count()

    return cache.count(collection, version, "ratings", counted)


def leader_of(
    collection: Collection, version: Version, most: int
) -> tuple[tuple[Standing | None, SafeString | str], int]:
    """The system with the highest mean, the sentence on it, and how many rankings were read for it.

    None where it has more than `most` rankings to read, unless this request has read none so far. Otherwise a
    large collection would never have a best system.
    """
    read = 0
    if not cache.is_counted(collection, version, "leader"):
        read = rankings_of(collection)
    if most < AT_ONCE and read > max(most, 0):
        return (None, ""), 0

    def best() -> tuple[Standing | None, SafeString | str]:
        answer = answered(collection)
        means = {row.system.name: row.mean for row in answer.standings if row.mean is not None} if answer else {}
        if not means:
            return None, ""
        first, shared = answer.standings[0], len(sentences.at_top(means)) > 1
        # Systems that share the mean have intervals of their own.
        return replace(first, low=None, high=None) if shared else first, sentences.highest(means, MEASURE)

    return cache.count(collection, version, "leader", best), read


def asked_of(collection: Collection) -> Asked:
    """The default measure and options."""
    return Asked(parse_measure(MEASURE), PROFILE, (), options_for(collection, PROFILE))


def answered(collection: Collection) -> Answer | None:
    """The answer in the default measure and options. None without systems, or where it cannot be computed."""
    try:
        answer = Answer.of(collection, asked_of(collection))
    except CannotAnswer:
        return None
    return answer if answer.systems else None

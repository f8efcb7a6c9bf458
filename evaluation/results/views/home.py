"""The first page: an introduction for visitors, and the collections of a person who is signed in."""

from collections.abc import Sequence
from functools import partial

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ratings.desk import queue
from ratings.desk.figures import pace_of
from ratings.models import Assignment, Collection, Deletion, Rater, Rating, Role
from ratings.people import visits
from ratings.people.access import may_make
from ratings.web.language import in_english

from ... import record
from ...page.address import evaluated
from ...page.holdings import imported_counts
from ...page.step_by_step import rankings_of
from ...record import Version, cache
from ...scores import Asked, Evaluation
from ...scores.asked import by_default
from ..leader import highest
from ..trust import LOW_JUDGED_SHARE, by_judged_share, unevenly_judged

# Rankings that one request reads to find best systems: about a second. Other collections have a link meanwhile.
RANKINGS_AT_ONCE = 50_000
NIGHTS_OF_LINE = 30  # that the small line of a watch draws


@require_safe
@login_not_required
def home(request: HttpRequest) -> HttpResponse:
    """The introduction for visitors, or the collections of the person, each with what they do or read in it.

    rates: whether the person is a rater of any collection; makes: whether they may make collections.
    """
    if not request.user.is_authenticated:
        return welcome(request)
    role_in = dict(request.user.memberships.values_list("collection", "role"))
    is_superuser = request.user.is_superuser
    rows = [
        {"collection": collection, "role": Role.ADMIN if is_superuser else role_in[collection.pk]}
        for collection in Collection.objects.visible_to(request.user).with_left_out()
    ]
    roles = {row["role"] for row in rows}
    # Analysts and admins have their pages in English, those who only rate in their language.
    if roles - {Role.RATER} or may_make(request.user):
        in_english()
    # A collection that was put away can only be read.
    in_use = [row for row in rows if not row["collection"].put_away_at]
    add_facts(request.user, in_use)
    context = {
        "section": "home",
        "mine": in_use,
        "away": [row for row in rows if row["collection"].put_away_at],
        "deleted": Deletion.objects.of_admin(request.user),
        "rates": Role.RATER in roles,
        "makes": may_make(request.user),
    }
    return render(request, "evaluation/home.html", context)


def welcome(request: HttpRequest) -> HttpResponse:
    """The introduction, with the ways into the sample on the machine that has it."""
    in_english()
    return render(request, "evaluation/welcome.html", {"sample": settings.DEMO and visits.is_local(request)})


def add_facts(user: User, rows: Sequence[dict]) -> None:
    """Adds to each row, of a collection and a role, what the person does or reads in the collection.

    Raters get their own work, and see no systems. Others get counts, and as `leader` the facts on the best system:
    None where there is none, and where it takes this request too long to find it.
    """
    rankings_left = RANKINGS_AT_ONCE  # how many this request may still read
    for row in rows:
        collection = row["collection"]
        if row["role"] == Role.RATER:
            row |= work_of(collection, user)
            continue
        version = record.version(collection)
        row |= figures_of(collection, version) | {"leader": None}
        key = ("leader", *sorted(by_default(collection).items()))  # the leader depends on the default options
        is_cached = cache.has_small_value(collection, version, key)
        to_read = 0 if is_cached else rankings_of(collection, version)
        # The first collection to read is read whatever its size: else a large one would never be read.
        is_first = rankings_left == RANKINGS_AT_ONCE
        if not to_read or to_read <= rankings_left or is_first:
            row["leader"] = cache.small_value(collection, version, key, partial(leader_of, collection))
            rankings_left -= to_read


def work_of(collection: Collection, user: User) -> dict:
    """What waits for a rater, and their pace; nothing for a person without a rater."""
    rater = Rater.objects.filter(collection=collection, user=user).first()
    return {"outlook": queue.outlook(rater), "pace": pace_of(rater)} if rater else {}


def figures_of(collection: Collection, version: Version) -> dict:
    """What a collection holds, and how far its ratings are."""
    raters = list(collection.raters.order_by().values_list("pk", flat=True))
    graded = Rating.objects.counted().filter(rater__in=raters, grade__isnull=False)
    return {
        "brought": imported_counts(collection, version),
        "ratings": cache.small_value(collection, version, "ratings", graded.count),
        "progress": progress_of(collection, raters),
        "nights": nights_of(collection),
    }


def nights_of(collection: Collection) -> list[dict]:
    """A row for each watch that has a mean: its last mean, a gap after it, open alarms, and a small line of means.

    A night is "told" when it is done, and a "gap" where it has no scores.
    """
    rows = []
    for watch in collection.watches.all():
        latest_first = watch.nights.filter(state__in=["told", "gap"]).order_by("-due_at")
        nights = list(latest_first.only("state", "means", "due_at", "watch")[:NIGHTS_OF_LINE])
        nights.reverse()  # from here on the oldest first
        last_told = next((night for night in reversed(nights) if night.state == "told"), None)
        if nights and last_told is None:  # all of these are gaps
            last_told = latest_first.filter(state="told").only("means", "due_at", "watch").first()
        if last_told:
            last_night = nights[-1]
            row = {"watch": watch, "night": last_told, "mean": last_told.means["mean"]}
            row["gap"] = last_night if last_night.state == "gap" else None
            rows.append(row | {"alarms": watch.open_alarms(), "line": small_line(nights)})
    return rows


def small_line(nights: Sequence) -> dict | None:
    """The context of a small line of the means of these nights; None where fewer than two have a mean.

    lines: the points of the SVG polylines between gaps, in a box 100 wide and 20 high; nights: how many have a
    mean; least, most: the lowest and the highest mean. A gap is a night without scores.
    """
    mean_of_night = [night.means.get("mean") for night in nights]  # None: a gap
    means = [mean for mean in mean_of_night if mean is not None]
    if len(means) < 2:
        return None
    least, most = min(means), max(means)
    polylines: list[list[str]] = [[]]
    for place, mean in enumerate(mean_of_night):
        if mean is None:
            polylines.append([])  # the line begins again after the gap
        else:
            # From 0 for the lowest mean to 1. In SVG y grows downwards: from 18 to 2, with a margin of 2.
            height = (mean - least) / (most - least) if most > least else 0.5
            polylines[-1].append(f"{100 * place / (len(nights) - 1):.1f},{18 - 16 * height:.1f}")
    lines = [" ".join(points) for points in polylines if len(points) > 1]
    return {"lines": lines, "nights": len(means), "least": least, "most": most}


def progress_of(collection: Collection, raters: Sequence[int]) -> dict | None:
    """How many wanted ratings are given, and in percent; None where none is wanted. Two queries."""
    # By rater, as in `holdings`.
    done = Assignment.objects.filter(rater__in=raters, state=Assignment.State.DONE).count()
    wanted = done + Assignment.objects.filter(collection=collection).waiting().count()
    return {"done": done, "wanted": wanted, "percent": int(100 * done / wanted)} if wanted else None


def leader_of(collection: Collection) -> dict | None:
    """The facts on the system with the highest mean; None where no system has one, or the options do not fit.

    best: the systems that share the highest mean; low, high: the interval of the best, if it is one alone; label:
    the measure and options; judged: the name of the measure of the judged share; uneven, unjudged: as from
    `warning_of`.
    """
    try:
        evaluation = evaluated(collection, Asked.of(collection))
    except ValueError:  # the default options do not fit the collection any more
        return None
    if not evaluation.means:
        return None
    first = evaluation.standings[0]  # of the system with the highest mean
    facts = highest(evaluation.means)
    if len(facts["best"]) == 1:  # systems that share the mean have intervals of their own
        facts |= {"low": first.low, "high": first.high}
    return {
        **facts,
        **warning_of(evaluation, record.scale(collection)),
        "measure": str(evaluation.asked.measure),
        "queries": first.queries,
        "label": evaluation.label,
        "judged": str(evaluation.asked.judged),
    }


def warning_of(evaluation: Evaluation, scale: Sequence[float]) -> dict:
    """What most makes the means doubtful: `uneven`, or else `unjudged`, the least judged system, or nothing."""
    if most_and_least := unevenly_judged(evaluation, evaluation.names, min(scale, default=0.0)):
        return {"uneven": most_and_least}
    shares = by_judged_share(evaluation.standings)
    return {"unjudged": shares[min(shares)]} if shares and min(shares) < LOW_JUDGED_SHARE else {}

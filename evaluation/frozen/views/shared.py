"""The page of a frozen evaluation for people without an account, and the acts that open and end it.

It shows no names of people, no queries and no note. Its address contains the key: the page sends no path as
referrer, and `config.logs` keeps the key out of the log.
"""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from ratings.models import Collection
from ratings.people import audit, throttle
from ratings.people.access import READERS, of_collection
from ratings.people.sign_in.answers import without_referrer
from ratings.web.pages import too_many

from ... import frozen
from ...models import FrozenEvaluation, FrozenLink
from ...page import options, words
from ...page.charts import charted
from ...record import cache
from ...results.charts import means_caption, means_chart
from ...results.leader import leading
from ..bundle import file_name
from ..lookup import frozen_with

MOST_SYSTEMS = 12  # systems in chart and table, so that the page fits on one of paper


@login_not_required
@require_safe
@without_referrer
def shared(request: HttpRequest, key: str) -> HttpResponse:
    """The page. A revoked key and an unknown one both give 404, as does every key where links are switched off."""
    link = FrozenLink.objects.filter(key=key).select_related("frozen__collection").first()
    # A deleted collection has no slug.
    if not settings.SHARED_LINKS or link is None or link.frozen.collection.slug is None:
        raise Http404("No such link.")
    # ?chart= asks for a picture, which takes long to draw.
    if "chart" in request.GET and not throttle.allows_call(request, "drawing", throttle.DRAWINGS_PER_ADDRESS):
        return too_many(request, "Too many charts were drawn in a minute. Wait a minute.", throttle.MINUTE)
    collection, stored = link.frozen.collection, link.frozen
    context = cache.whole(collection, ("shared", stored.pk), lambda: content(stored))
    response = charted(request, "evaluation/shared.html", context | {"frozen": stored})
    response["X-Robots-Tag"] = "noindex"  # search engines must not list it
    return response


def content(stored: FrozenEvaluation) -> dict:
    """The context of the page: the verdict, the chart, the best systems, and how they were computed."""
    evaluation = frozen.evaluation_of(stored)
    measure, standings = evaluation.measures[0], evaluation.standings
    chart = means_chart(evaluation, MOST_SYSTEMS).titled(
        f"{stored.name}: mean {measure} of each system",
        means_caption(evaluation),
        file_name(stored).removesuffix(".zip"),
    )
    return {
        "about": frozen.about(stored),
        "measure": str(measure),
        "sampled": evaluation.sampled,
        "degree": words.degree(measure),  # best, or only highest
        # All systems are tested, also those that the page does not show: with fewer, a verdict could be another.
        "lead": leading(evaluation, len(standings)),
        "standings": standings[:MOST_SYSTEMS],
        "systems": len(standings),
        "queries": len(evaluation.table.record.queries),
        "label": evaluation.label,
        "described": options.in_force(frozen.settings_of(stored).asked),
        "charts": {"means": chart} if evaluation.means else {},  # without means it would be empty
    }


@require_POST
@of_collection(*READERS)
def share(request: HttpRequest, collection: Collection, sha: str) -> HttpResponse:
    """Makes the link. One that exists stays, since its address was given out."""
    if not settings.SHARED_LINKS:
        raise Http404("Links are switched off.")
    stored = frozen_with(collection, sha)
    with transaction.atomic():
        _, new = FrozenLink.objects.get_or_create(frozen=stored, defaults={"created_at": timezone.now()})
        if new:
            audit.note(audit.Act.SHARED, collection, about=stored.name, sha256=stored.hash)
    return to_link(collection, stored)


@require_POST
@of_collection(*READERS)
def stop_sharing(request: HttpRequest, collection: Collection, sha: str) -> HttpResponse:
    stored = frozen_with(collection, sha)
    with transaction.atomic():
        ended, _ = FrozenLink.objects.filter(frozen=stored).delete()
        if ended:
            audit.note(audit.Act.SHARED_NO_MORE, collection, about=stored.name, sha256=stored.hash)
    return to_link(collection, stored)


def to_link(collection: Collection, stored: FrozenEvaluation) -> HttpResponse:
    """Back to the link on the page of the frozen evaluation."""
    response = redirect("frozen_evaluation", collection.slug, stored.short)
    response["Location"] += "#share"
    return response

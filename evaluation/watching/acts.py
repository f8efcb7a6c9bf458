"""What people do with a watch: answer an alarm, make a night a release, ask raters for what nobody judged."""

import numpy as np
import pandas as pd
from django.db import transaction
from django.utils import timezone

from ratings.formats import values
from ratings.models import Baseline, Query, Ranking, System
from ratings.people.audit import Act, note
from ratings.pool import pooling

from ..models import Night, Verdict
from ..scores import read
from . import holes
from .scoring import asked_of, depth_of, documents_of, ranked, rankings_of


@transaction.atomic
def answer(verdict: Verdict, kind: str, reason: str, by, system: str = "") -> None:
    """Answer an alarm: it was a fault, or the night is a release to compare with from now on.

    kind: of `Verdict.Answer`; by: the account; system: for a release, the name of the new system that it becomes.
    The release replaces the last release as baseline, and also the baseline that the alarm is against: compared
    with that one, every night to come would tell the alarm again. All open alarms against replaced baselines are
    answered with it. ValueError for a name that a system has.
    """
    night, watch = verdict.night, verdict.night.watch
    answered = [verdict]
    if kind == Verdict.Answer.RELEASE:
        release = as_system(night, system)
        baselines = {verdict.baseline, Baseline.Kind.RELEASE.value}
        for baseline_kind in sorted(baselines):
            watch.collection.baselines.create(kind=baseline_kind, system=release, name=release.name, reason=reason)
            note(Act.BASELINE, watch.collection, about=release, kind=baseline_kind)
        answered = [alarm for alarm in watch.open_alarms() if alarm.baseline in baselines]
    Verdict.objects.filter(pk__in=[alarm.pk for alarm in answered]).update(
        answer=kind, reason=reason, answered_at=timezone.now(), answered_by=by
    )
    note(Act.ALARM_ANSWERED, watch.collection, about=watch, answer=kind)


def as_system(night: Night, name: str) -> System:
    """A new system with the rankings of the night. A query that was not answered is a gap.

    Documents that were deleted since are left out: a system names none. ValueError for a name that is wrong, or
    that a system has.
    """
    name, collection = values.system_name(name, "name of the system"), night.watch.collection
    if System.objects.filter(collection=collection, name=name).exists():
        raise ValueError(f"{name} is a system already. Choose another name")
    system = System.objects.create(collection=collection, name=name, gaps=True)
    existing = np.array(collection.documents.values_list("pk", flat=True), np.uint32)
    lists = {query: documents[np.isin(documents, existing)] for query, documents in lists_of(night).items()}
    # A night has ranks alone: the scores only keep the order.
    Ranking.objects.bulk_create(
        Ranking(system=system, query_id=query, documents=documents, scores=1 / np.arange(1, len(documents) + 1))
        for query, documents in lists.items()
    )
    collection.touch()
    return system


def lists_of(night: Night) -> dict[int, np.ndarray]:
    """The documents that the night returned, best first, by query. Queries that were deleted are left out."""
    ids = dict(zip(night.queries.tolist(), night.rankings.tolist(), strict=True))
    lists = documents_of(night.watch, [ranking for ranking in ids.values() if ranking])
    existing = set(Query.objects.filter(pk__in=list(ids)).values_list("pk", flat=True))
    return {query: lists[ranking] for query, ranking in ids.items() if ranking in lists and query in existing}


def unjudged(night: Night) -> dict[tuple[int, int], int]:
    """The unjudged documents on which the night's differences to its baselines rest: {(query, document): place}.

    query, document: pks; place: the document's best place, from 1, in the lists of the night and of its baselines.
    Of each comparison with a baseline these are the documents that only one of the two lists returns. If no query
    has one, they are those at different places in both. Without a baseline all unjudged documents of the night
    count.
    """
    watch = night.watch
    verdicts = night.verdicts.select_related("system")
    asked = asked_of(watch, [verdict.system.name for verdict in verdicts if verdict.system])
    data, judgments = read(watch.collection, asked)
    pks = data.queries["pk"].to_numpy()
    tonight = ranked(night, pks, night.rankings)
    # In place of a baseline: compared with an empty list for each query, all documents of the night are at another
    # place.
    empty_lists = rankings_of([np.empty(0, np.uint32)] * len(pks))
    baselines = list(data.rankings.values()) or [empty_lists]
    depth = depth_of(watch, asked)
    differing = [holes.ranked_differently(judgments, tonight, baseline, depth) for baseline in baselines]
    rows = pd.concat(map(holes.deciding, differing))
    # Nights keep the ids of documents that were deleted since: nobody can rate these.
    rows = rows[rows["document"].isin(list(watch.collection.documents.values_list("pk", flat=True)))]
    places = rows[["night", "baseline"]].min(axis=1).astype(int)  # at least one of the two is finite
    # A document can have a row for each baseline. The column "query" has places in `pks`.
    return places.groupby([pks[rows["query"]], rows["document"]]).min().to_dict()


def ask_raters(night: Night, wanted: int) -> int:
    """How many ratings are newly wanted of what `unjudged` has."""
    places = unjudged(night)
    return pooling.want_places(night.watch.collection, places, wanted, about=f"night of {night.watch}")

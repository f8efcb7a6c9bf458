"""Where notices come from. Each source looks at a collection and says what happened there lately.

A source says the same thing again as long as it is recent. The key makes it one notice. Apps add their sources to
`of_apps` when they are loaded.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, When, Window
from django.db.models.functions import RowNumber
from django.urls import reverse
from django.utils import timezone

from ..desk.figures import Share
from ..models import Assignment, Collection, Job, JudgeVersion, MachineGrade, Notice, Rating
from ..pool.progress.counts import gold_answers

Kind = Notice.Kind
# State of a job that ended → the kind of its notice, and the end of its sentence.
KIND_AND_END_BY_STATE: dict[str, tuple[Kind, str]] = {
    Job.State.PUBLISHED: (Kind.IMPORTED, "is done"),
    Job.State.REFUSED: (Kind.REFUSED, "was refused"),
    Job.State.FAILED: (Kind.REFUSED, "failed"),
}
# Jobs that are no imports.
KINDS_WITHOUT_NOTICE = (Job.Kind.NIGHT, Job.Kind.PICTURES, Job.Kind.COPY, Job.Kind.ARCHIVE)
# The name of the address of a job; "import_job" for all others.
PAGE_BY_JOB_KIND: dict[str, str] = {Job.Kind.ENGINE: "fetch", Job.Kind.LOG: "log_job"}
FEWEST_GRADES = 10  # known grades of a rater, or pairs that a judge was asked about again
# How many of the latest ones count: with all of them, a long good past would hide that somebody changed.
LATEST_OF_RATER, LATEST_OF_JUDGE = 20, 50
LEAST_SHARE_RIGHT, LEAST_SHARE_SAME = 0.6, 0.8  # shares below which a rater or a judge is told of


# What sources say as long as it holds. Were these notices forgotten, it would be noted as if it were new.
LASTING_KINDS = (Kind.WORSE, Kind.FINISHED, Kind.GOLD, Kind.JUDGE)


class Happened(NamedTuple):
    """One thing that happened in a collection."""

    kind: str
    key: str  # equal for the same thing
    text: str  # a sentence
    path: str  # of the page that shows it
    at: datetime


Source = Callable[[Collection, datetime], Iterator[Happened]]  # of a collection, since a moment
of_apps: list[Source] = []


def imports(collection: Collection, since: datetime) -> Iterator[Happened]:
    """Imports that ended: done, refused, or failed."""
    ended = collection.jobs.filter(ended_at__gte=since, state__in=KIND_AND_END_BY_STATE, checking=False)
    for job in ended.exclude(kind__in=KINDS_WITHOUT_NOTICE):
        if job.ended_at is None:  # for the type checker: the filter leaves none of these
            continue
        kind, end = KIND_AND_END_BY_STATE[job.state]
        text = f"The import of {job} {end}. {job.message}".strip()
        path = reverse(PAGE_BY_JOB_KIND.get(job.kind, "import_job"), args=[collection.slug, job.pk])
        yield Happened(kind, f"job {job.pk} {job.attempt} {job.state}", text, path, job.ended_at)


def rating(collection: Collection, since: datetime) -> Iterator[Happened]:
    """That all wanted ratings are given, once for each number of them."""
    if Assignment.objects.waiting().filter(collection=collection).exists():
        return
    done = Assignment.objects.filter(collection=collection, state=Assignment.State.DONE).count()
    if done:
        text, path = f"All {done:,} wanted ratings are given.", reverse("overview", args=[collection.slug])
        yield Happened(Kind.FINISHED, f"finished {done}", text, path, timezone.now())


def rounds(collection: Collection, since: datetime) -> Iterator[Happened]:
    """Rounds of pairs that were drawn to be rated."""
    path = reverse("overview", args=[collection.slug])
    for each in collection.rounds.filter(created_at__gte=since):
        text = f"Round {each.number} was drawn."
        yield Happened(Kind.ROUND, f"round {each.number}", text, path, each.created_at)


def low_shares(
    answers: QuerySet, giver: str, hit: Q, *, latest_first: list[str], latest: int, least_share: float
) -> Iterator[tuple[int, Share, int]]:
    """Yields (id, share of hits, answers given // 10) of each rater or version with too few hits. One query.

    `giver`: the field of an answer that names its rater or version. `hit`: the condition of answers that are hits,
    such as equal grades. The share is that of the `latest` last answers, at least FEWEST_GRADES, and lies below
    `least_share`. Callers put the third number into the key of a notice. So they tell of a giver again only after
    ten more answers.
    """
    rows = answers.annotate(
        is_hit=Case(When(hit, then=1), default=0),
        place=Window(RowNumber(), partition_by=F(giver), order_by=latest_first),  # 1: the latest of this giver
        answers_given=Window(Count("pk"), partition_by=F(giver)),
    )
    # By (giver, answers given // 10). Both are the same in all rows of a giver.
    shares: dict[tuple[int, int], Share] = defaultdict(Share)
    for pk, answers_given, is_hit in rows.filter(place__lte=latest).values_list(giver, "answers_given", "is_hit"):
        shares[pk, answers_given // 10] += Share(hits=is_hit, n=1)
    for (pk, tens), share in shares.items():
        if share.n >= FEWEST_GRADES and share.hits < least_share * share.n:
            yield pk, share, tens


def gold(collection: Collection, since: datetime) -> Iterator[Happened]:
    """Raters who gave too many of their latest gold pairs another grade than the known one.

    Gold pairs have a known grade, that of their anchor. The key has the number of the rater's answers // 10, so
    that the same rater is noted again only after ten more. `since`, which all sources get, does not matter: the
    latest answers count, however old they are.
    """
    names = dict(collection.raters.values_list("pk", "name"))
    answers = gold_answers(Rating.objects.filter(rater__in=names).order_by())
    is_right = Q(grade=F("pair__anchor__grade"))
    order = ["-changed_at", "-pk"]
    for pk, share, tens in low_shares(
        answers, "rater", is_right, latest_first=order, latest=LATEST_OF_RATER, least_share=LEAST_SHARE_RIGHT
    ):
        text = f"{names[pk]} has {share.hits} of the last {share.n} known grades right."
        path = reverse("rater", args=[collection.slug, pk])
        yield Happened(Kind.GOLD, f"gold {pk} {tens}", text, path, timezone.now())


def judges(collection: Collection, since: datetime) -> Iterator[Happened]:
    """Judges that give other grades when they are asked about the same pairs again.

    The answers of `low_shares` are the grades of repeated calls, and hits are those that equal the first grade of
    the pair. The key has the number of answers // 10, so that the same version is noted again only after ten more.
    `since`, which all sources get, does not matter: the latest answers count, however old they are.
    """
    versions = JudgeVersion.objects.filter(judge__collection=collection).select_related("judge").in_bulk()
    graded = MachineGrade.objects.filter(version__in=versions, state=MachineGrade.State.GRADED).order_by()
    first_grades = graded.filter(
        version=OuterRef("version"), query=OuterRef("query"), document=OuterRef("document"), repeat=1
    )
    repeats = graded.filter(repeat__gt=1).annotate(first=Subquery(first_grades.values("value")[:1]))
    answers = repeats.filter(first__isnull=False)
    is_same = Q(value=F("first"))
    for pk, share, tens in low_shares(
        answers, "version", is_same, latest_first=["-pk"], latest=LATEST_OF_JUDGE, least_share=LEAST_SHARE_SAME
    ):
        judge = versions[pk].judge
        text = f"{judge} gave the same grade again to {share.hits} of the last {share.n} pairs."
        path = reverse("judge", args=[collection.slug, judge.pk])
        yield Happened(Kind.JUDGE, f"judge {pk} {tens}", text, path, timezone.now())


BUILT_IN: tuple[Source, ...] = (imports, rating, rounds, gold, judges)

"""All rows of a collection that is to be removed: a deleted one, or one whose import did not end."""

from collections.abc import Callable, Iterator

from django.db.models import QuerySet

from ..models import (
    MAKERS,
    Adjudication,
    Anchor,
    ApiToken,
    Assignment,
    Check,
    Collection,
    Document,
    Drawn,
    Grade,
    Guidelines,
    Invitation,
    Job,
    Judge,
    JudgeRun,
    JudgeSample,
    JudgeUse,
    JudgeVersion,
    LostLease,
    MachineGrade,
    Membership,
    OtherText,
    Pair,
    Picture,
    Presentation,
    Probe,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    Receipt,
    Round,
    SampledPair,
    StagedRating,
    System,
)

# Functions of other apps that yield their rows of a collection, as `everything_of` does.
of_others: list[Callable[[Collection], Iterator[QuerySet]]] = []


def everything_of(collection: Collection) -> Iterator[QuerySet]:
    """The rows of each table, in an order in which they can be deleted: no remaining row refers to them."""
    for rows in of_others:
        yield from rows(collection)
    yield SampledPair.objects.filter(sample__judge__collection=collection)
    yield JudgeSample.objects.filter(judge__collection=collection)
    yield MachineGrade.objects.filter(version__judge__collection=collection)
    yield Probe.objects.filter(version__judge__collection=collection)
    yield JudgeRun.objects.filter(version__judge__collection=collection)
    yield JudgeUse.objects.filter(judge__collection=collection)
    yield JudgeVersion.objects.filter(judge__collection=collection)
    yield Judge.objects.filter(collection=collection)
    by_pair = {"pair__query__collection": collection}
    yield Check.objects.filter(rater__collection=collection)
    yield Drawn.objects.filter(round__collection=collection)
    yield Round.objects.filter(collection=collection)
    for model in (RatingEvent, Adjudication, Rating, Assignment, Anchor, LostLease):
        yield model.objects.filter(**by_pair)
    for model in (StagedRating, OtherText):
        yield model.objects.filter(job__collection=collection)
    yield Job.objects.filter(collection=collection).exclude(kind__in=MAKERS)
    yield Pair.objects.filter(query__collection=collection)
    yield Rater.queries.through.objects.filter(rater__collection=collection)
    yield Rater.objects.filter(collection=collection)
    yield Ranking.written.filter(system__collection=collection)
    yield System.written.filter(collection=collection)
    yield Document.written.filter(collection=collection)
    for model in (Query, Guidelines, Presentation, Picture, Grade, Receipt, ApiToken, Invitation, Membership):
        yield model.objects.filter(collection=collection)

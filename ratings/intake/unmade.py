"""All rows of a collection whose import from an archive did not end."""

from collections.abc import Iterator

from django.db.models import QuerySet

from ..models import (
    Adjudication,
    Anchor,
    Assignment,
    Check,
    Collection,
    Document,
    Grade,
    Guidelines,
    Job,
    Pair,
    Picture,
    Presentation,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    System,
)


def everything_of(collection: Collection) -> Iterator[QuerySet]:
    """The rows of each table, in an order in which they can be deleted: no remaining row refers to them."""
    by_pair = {"pair__query__collection": collection}
    yield Check.objects.filter(rater__collection=collection)
    for model in (RatingEvent, Adjudication, Rating, Assignment, Anchor):
        yield model.objects.filter(**by_pair)
    yield Job.objects.filter(collection=collection).exclude(kind=Job.Kind.ARCHIVE)
    yield Pair.objects.filter(query__collection=collection)
    yield Rater.queries.through.objects.filter(rater__collection=collection)
    yield Rater.objects.filter(collection=collection)
    yield Ranking.written.filter(system__collection=collection)
    yield System.written.filter(collection=collection)
    yield Document.written.filter(collection=collection)
    for model in (Query, Guidelines, Presentation, Picture, Grade):
        yield model.objects.filter(collection=collection)

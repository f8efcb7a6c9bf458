"""The members of documents and queries, which the paths of a presentation name."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django.db.models import QuerySet

from ..models import Collection, Document, Query
from .parts import allowed, is_missing, names_revealing, text_of

SAMPLE_SIZE = 200  # documents, or queries, that are read
MOST_PATHS = 60
EXAMPLE_CHARACTERS = 80  # of the first value


class Member(NamedTuple):
    path: str
    share: float  # of the documents that have it
    example: str


def source_of(document: Document) -> dict[str, Any]:
    """The members of a document by the names that paths begin with; its key is `id`, if no field has that name."""
    return {"id": document.key, **members_in(document)}


def members_in(document: Document) -> dict[str, Any]:
    """The members of a document without its key, which nobody shows unless somebody names it."""
    return {**document.fields, "title": document.title, "body": document.body, "url": document.url}


def source_of_query(query: Query) -> dict[str, Any]:
    return {**query.fields, "tags": query.tags}


def first_of(collection: Collection) -> QuerySet[Document]:
    """The first documents by key that have more than a key. The preview shows them, so their pictures are fetched.

    By key, since an index has the documents of a collection in that order.
    """
    return collection.documents.exclude(title="", body="", url="", fields={}).order_by("key")[:SAMPLE_SIZE]


def sample_of(collection: Collection) -> list[dict[str, Any]]:
    """The members of the first documents. One query."""
    return [members_in(document) for document in first_of(collection)]


def queries_of(collection: Collection) -> list[dict[str, Any]]:
    return [source_of_query(query) for query in collection.queries.order_by("pk")[:SAMPLE_SIZE]]


def members_of(sources: Iterable[Mapping[str, Any]]) -> list[Member]:
    """The paths that have a value, in the order of their first occurrence."""
    sources = list(sources)
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for source in sources:
        for path, value in _paths(source):
            counts[path] += 1
            examples.setdefault(path, text_of(value)[:EXAMPLE_CHARACTERS])
    return [Member(path, count / len(sources), examples[path]) for path, count in counts.items()][:MOST_PATHS]


def _paths(source: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """(path, value) of the members that parts may show, and of the members of those."""
    for name, value in source.items():
        if is_missing(value) or names_revealing(name):
            continue
        yield name, value
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", member) for inner, member in allowed(value) if not is_missing(member))

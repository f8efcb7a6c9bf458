"""Batches of queries, documents, rankings and ratings, by the same imports and rules as files.

A batch becomes lines of JSON, which `ratings.intake` reads like any other source. What it refuses is told with the
place in the batch, and then nothing of the batch was written.
"""

import io
import json
import re
import time
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from django.http import HttpRequest
from ninja import Header, Schema
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from .. import intake
from ..formats import values
from ..formats.refusal import counted
from ..formats.source import Source
from ..intake import Report
from ..intake.publishing import Busy
from ..models import Collection, Job, Reason, Scope
from .access import collection_in
from .problems import Problem
from .receipts import once
from .routes import router
from .shapes import DocumentKey, Number, QueryKey, RaterName, Sent, SystemName, text

NAME = "the batch"
MOST_RESULTS = 50_000  # of the rankings of one batch
WAIT, PAUSE, LATER = 3, 0.1, 5  # seconds: for another import, between two looks, until the caller tries again
UNDER_WAY = "Another import is under way in this collection. Nothing was written; send the same again later."
LOOKS = 3  # at the record, where somebody else wrote between a look and the writing
OWN_NAMES = {"id", "title", "body", "url"}  # members of a document that are no fields

IdempotencyKey = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")] | None,
    Header(
        None,
        alias="Idempotency-Key",
        description="Made by you for this batch. Sent again within 30 days with the same batch, it gets the same"
        " answer, and nothing is done twice.",
    ),
]


def without_own_names(fields: dict) -> dict:
    if taken := OWN_NAMES & fields.keys():
        raise ValueError(f"{' and '.join(sorted(taken))} cannot be fields, because documents have such members")
    return fields


class QueryIn(Sent):
    key: QueryKey
    text: text(values.QUERY_TEXT_LENGTH, least=1)
    need: text(20_000) | None = Field(None, description="null: it stays as it is.")
    tags: Annotated[list[text(100, least=1)], Field(max_length=100)] | None = Field(
        None, description="null: they stay as they are."
    )
    weight: Annotated[float, Field(ge=0, le=1e12)] | None = Field(
        None, description="In the weighted mean of all queries. null: it stays as it is, and is 1 at first."
    )


class QueriesIn(Sent):
    queries: Annotated[list[QueryIn], Field(min_length=1, max_length=5_000)]


class DocumentIn(Sent):
    key: DocumentKey
    title: text(10_000) = ""
    body: text(2_000_000) = ""
    url: text(10_000) = ""
    fields: Annotated[dict, AfterValidator(without_own_names)] = Field(
        {}, description="Whatever else you keep of it."
    )


class DocumentsIn(Sent):
    documents: Annotated[list[DocumentIn], Field(min_length=1, max_length=2_000)]


class RankingIn(Sent):
    query: QueryKey
    documents: Annotated[list[DocumentKey], Field(min_length=1, max_length=10_000)] = Field(
        description="Best first."
    )
    scores: list[Number] | None = Field(None, description="One for each document; without them 1 / rank is kept.")

    @model_validator(mode="after")
    def _as_many_scores(self) -> "RankingIn":
        if self.scores is not None and len(self.scores) != len(self.documents):
            raise ValueError(f"there are {len(self.documents)} documents and {len(self.scores)} scores")
        return self


class RankingsIn(Sent):
    system: SystemName = Field(
        description="A new version of a system is a new system: rankings are never changed."
    )
    rankings: Annotated[list[RankingIn], Field(min_length=1, max_length=5_000)]
    order: Literal["rank", "score"] | None = Field(
        None, description="What orders the documents, where scores contradict their places."
    )
    keep_first: bool = Field(False, description="A document that stands twice keeps its better place.")


class RatingIn(Sent):
    query: QueryKey
    document: DocumentKey
    rater: RaterName = Field(description="Nobody who rates here: an import speaks for no member.")
    grade: Number | None = None
    reason: Literal[tuple(Reason.values)] | None = Field(None, description="Why it cannot be judged.")
    comment: text(5_000) = ""
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    rated_at: Annotated[str, StringConstraints(max_length=40, pattern=r"^[0-9T:.+Z -]*$")] | None = Field(
        None, description="ISO 8601; UTC where it names no offset."
    )

    @model_validator(mode="after")
    def _grade_or_reason(self) -> "RatingIn":
        if (self.grade is None) == (self.reason is None):
            raise ValueError("a rating is a grade, or a reason why the pair cannot be judged")
        return self


class RatingsIn(Sent):
    ratings: Annotated[list[RatingIn], Field(min_length=1, max_length=5_000)]


class Imported(Schema):
    new: int
    changed: int
    unchanged: int
    facts: list[str] = Field(description="What was done, in words.")
    warnings: list[str]


@router.post("/collections/{slug:slug}/queries", response=Imported, tags=["import"], summary="Bring queries")
def bring_queries(request: HttpRequest, slug: str, sent: QueriesIn, idempotency_key: IdempotencyKey = None):
    """Adds queries and corrects those that are there."""
    batch = Batch(("queries", place) for place in range(len(sent.queries)))
    rows = (row.model_dump(exclude_none=True) for row in sent.queries)
    return brought(request, slug, idempotency_key, batch, rows, intake.import_queries)


@router.post("/collections/{slug:slug}/documents", response=Imported, tags=["import"], summary="Bring documents")
def bring_documents(request: HttpRequest, slug: str, sent: DocumentsIn, idempotency_key: IdempotencyKey = None):
    """Adds documents and replaces those that are there, with all that they hold."""
    batch = Batch(("documents", place) for place in range(len(sent.documents)))
    rows = (
        {**row.fields, "id": row.key, "title": row.title, "body": row.body, "url": row.url}
        for row in sent.documents
    )
    return brought(request, slug, idempotency_key, batch, rows, intake.import_documents)


@router.post(
    "/collections/{slug:slug}/rankings", response=Imported, tags=["import"], summary="Bring rankings of a system"
)
def bring_rankings(request: HttpRequest, slug: str, sent: RankingsIn, idempotency_key: IdempotencyKey = None):
    """A ranking is written once: the same again is unchanged, another one for its system and query is refused.

    Documents that are not known are made with their key alone. Rankings for queries outside the collection are
    passed over and counted in the facts; where there is no other, they are refused.
    """
    total = sum(len(ranking.documents) for ranking in sent.rankings)
    if total > MOST_RESULTS:
        detail = f"These are {total:,} results; send at most {MOST_RESULTS:,} at a time."
        raise Problem(413, detail, kind="too-many-results")
    batch = Batch(
        ("rankings", place, "documents", rank)
        for place, ranking in enumerate(sent.rankings)
        for rank in range(len(ranking.documents))
    )
    how = {"order": sent.order, "keep_first": sent.keep_first, "queries_by": "key"}
    return brought(request, slug, idempotency_key, batch, results(sent), intake.import_run, **how)


@router.post(
    "/collections/{slug:slug}/ratings", response=Imported, tags=["import"], summary="Bring ratings made elsewhere"
)
def bring_ratings(request: HttpRequest, slug: str, sent: RatingsIn, idempotency_key: IdempotencyKey = None):
    """Adds ratings and changes those that are there, by rater, query and document."""
    batch = Batch(("ratings", place) for place in range(len(sent.ratings)))
    rows = (row.model_dump(exclude_none=True) for row in sent.ratings)
    return brought(request, slug, idempotency_key, batch, rows, intake.import_ratings, queries_by="key")


def results(sent: RankingsIn) -> Iterable[dict]:
    for ranking in sent.rankings:
        for rank, document in enumerate(ranking.documents, 1):
            row = {"query": ranking.query, "document": document, "rank": rank, "system": sent.system}
            yield row if ranking.scores is None else row | {"score": ranking.scores[rank - 1]}


class Batch:
    """What was sent, line by line as the import sees it: the place of each in the body."""

    def __init__(self, places: Iterable[tuple]) -> None:
        self.places = list(places)

    def pointer(self, line: int) -> str:
        """The place of a line, counted from 1; that of the whole for line 0."""
        place = self.places[line - 1] if 1 <= line <= len(self.places) else ()
        return "".join(f"/{part}" for part in place)

    def entry(self, refusal) -> dict:
        place = {"pointer": self.pointer(refusal.line)}
        if refusal.line:
            place["index"] = self.places[refusal.line - 1][1]
        return place | {"detail": f"{self.said(refusal.problem)}.", "cure": self.said(refusal.cure)}

    def said(self, words: str) -> str:
        """Words about lines of a file and options of a command, as words about this batch."""
        words = re.sub(r"\bline ([1-9][0-9]*)\b", lambda found: self.pointer(int(found[1])) or found[0], words)
        return re.sub(r"--([a-z]+)-?([a-z]*)", lambda found: "_".join(filter(None, found.groups())), words)


def brought(
    request: HttpRequest,
    slug: str,
    key: str | None,
    batch: Batch,
    rows: Iterable[dict],
    take_in: Callable[..., Report],
    **how,
) -> dict:
    collection = collection_in(request, slug, Scope.IMPORT)
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return patiently(
        collection,
        lambda: once(request, collection, key, lambda: imported(collection, batch, lines, take_in, how)),
    )


def patiently(collection: Collection, act: Callable[[], dict]) -> dict:
    """What `act` answers, tried again for a while as long as another import is in its way.

    Between two tries no transaction is open: on SQLite neither that import nor raters could go on. Raises Problem.
    """
    end = time.monotonic() + WAIT
    while True:
        try:
            return act()
        except Busy:
            in_the_way = Job.objects.staging().filter(collection=collection)
            while time.monotonic() < end and in_the_way.exists():
                time.sleep(PAUSE)
            if time.monotonic() >= end:
                raise Problem(503, UNDER_WAY, kind="busy", headers={"Retry-After": f"{LATER}"}) from None


def imported(
    collection: Collection, batch: Batch, lines: bytes, take_in: Callable[..., Report], how: dict
) -> dict:
    """What the import did. Raises Problem with all that it refuses, and Busy."""
    try:
        for _ in range(LOOKS):
            report = take_in(collection, [Source(NAME, io.BytesIO(lines))], format="jsonl", **how)
            if not report.clashed:
                break
    except ValueError as error:
        raise Problem(422, f"{error}. Nothing was written.", kind="refused") from error
    if report.busy:
        raise Busy(None)
    if report.refused:
        detail = f"Nothing was written: {counted(report.refused, 'thing')} to correct."
        raise Problem(422, detail, kind="refused", errors=[batch.entry(each) for each in report.refusals])
    counts = {name: report.counts[name] for name in ("new", "changed", "unchanged")}
    return counts | {"facts": report.facts, "warnings": report.warnings}

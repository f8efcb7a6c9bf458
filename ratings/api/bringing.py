"""Imports by programs: batches of queries, documents, rankings and ratings, by the rules of files.

A batch becomes lines of JSON, which `ratings.importing.intake` reads like any source. A refusal has a pointer into
the batch, and nothing of that batch is written.
"""

import io
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from ninja import Header, Schema
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from ..formats import values
from ..formats.refusal import Option, Refusal
from ..formats.source import Source
from ..importing import intake
from ..importing.intake import Report
from ..models import Collection, Scope
from ..web.problems import Problem, refused
from .access import TokenRequest, collection_in
from .receipts import with_receipt
from .routes import router
from .shapes import DocumentKey, Number, QueryKey, RaterName, Said, Sent, SystemName, text

BATCH_NAME = "the batch"
RESULTS_PER_BATCH = 50_000  # at most, of all its rankings together
IMPORT_TRIES = 3  # at most, if somebody else wrote between its checks and its writing
DOCUMENT_MEMBERS = {"id", "title", "body", "url"}  # members of a document that are no fields

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
    if taken := DOCUMENT_MEMBERS & fields.keys():
        raise ValueError(f"{' and '.join(sorted(taken))} cannot be fields, because documents have such members")
    return fields


class QueryIn(Sent):
    key: QueryKey
    text: Annotated[str, text(values.QUERY_TEXT_LENGTH, least=1)]
    need: Annotated[str, text(20_000)] | None = Field(None, description="null: it stays as it is.")
    tags: Annotated[list[Annotated[str, text(100, least=1)]], Field(max_length=100)] | None = Field(
        None, description="null: they stay as they are."
    )
    weight: Annotated[float, Field(ge=0, le=1e12)] | None = Field(
        None, description="In the weighted mean of all queries. null: it stays as it is, and is 1 at first."
    )


class QueriesIn(Sent):
    queries: Annotated[list[QueryIn], Field(min_length=1, max_length=5_000)]


class DocumentIn(Sent):
    key: DocumentKey
    title: Annotated[str, text(10_000)] = ""
    body: Annotated[str, text(2_000_000)] = ""
    url: Annotated[str, text(10_000)] = ""
    fields: Annotated[dict, AfterValidator(without_own_names)] = Field(
        {}, description="Whatever else you keep of it. Empty: they stay as they are."
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


def of_different_queries(rankings: list[RankingIn]) -> list[RankingIn]:
    [(query, times)] = Counter(ranking.query for ranking in rankings).most_common(1)
    if times > 1:
        raise ValueError(f"query {query} has {times} rankings; send those of another system by themselves")
    return rankings


class RankingsIn(Sent):
    system: SystemName = Field(
        description="A new version of a system is a new system: rankings are never changed."
    )
    rankings: Annotated[
        list[RankingIn], Field(min_length=1, max_length=5_000), AfterValidator(of_different_queries)
    ]
    order: Literal["rank", "score"] | None = Field(
        None, description="What orders the documents, where scores contradict their places."
    )
    keep_first: bool = Field(False, description="A document that appears twice keeps its better place.")


class RatingIn(Said):
    query: QueryKey
    document: DocumentKey
    rater: RaterName = Field(description="Nobody who rates here: an import speaks for no member.")
    rated_at: Annotated[str, StringConstraints(max_length=40, pattern=r"^[0-9T:.+Z -]*$")] | None = Field(
        None, description="ISO 8601; UTC where it names no offset."
    )


class RatingsIn(Sent):
    ratings: Annotated[list[RatingIn], Field(min_length=1, max_length=5_000)]


class Imported(Schema):
    new: int
    changed: int
    unchanged: int
    facts: list[str] = Field(description="What was done, in words.")
    warnings: list[str]


@router.post("/collections/{slug:slug}/queries", response=Imported, tags=["import"], summary="Bring queries")
def import_queries(request: TokenRequest, slug: str, body: QueriesIn, idempotency_key: IdempotencyKey = None):
    """Adds queries and corrects those that are there."""
    rows = ((f"/queries/{place}", row.model_dump(exclude_none=True)) for place, row in enumerate(body.queries))
    return import_batch(request, slug, idempotency_key, body, rows, intake.import_queries)


@router.post("/collections/{slug:slug}/documents", response=Imported, tags=["import"], summary="Bring documents")
def import_documents(request: TokenRequest, slug: str, body: DocumentsIn, idempotency_key: IdempotencyKey = None):
    """Adds documents. Of those that are there, what is sent replaces what is stored.

    Texts that are left out, and fields that are empty, stay as they are.
    """
    texts = {"title", "body", "url"}  # a text that was not sent is left out, and then stays as it is
    rows = (
        (f"/documents/{n}", {**row.fields, "id": row.key, **row.model_dump(include=texts, exclude_unset=True)})
        for n, row in enumerate(body.documents)
    )
    return import_batch(request, slug, idempotency_key, body, rows, intake.import_documents)


@router.post(
    "/collections/{slug:slug}/rankings", response=Imported, tags=["import"], summary="Bring rankings of a system"
)
def import_rankings(request: TokenRequest, slug: str, body: RankingsIn, idempotency_key: IdempotencyKey = None):
    """A ranking is written once: the same again is unchanged, another one for its system and query is refused.

    Documents that are not known are made with their key alone. Rankings for queries outside the collection are
    skipped and counted in the facts; if there is no other, they are refused.
    """
    total = sum(len(ranking.documents) for ranking in body.rankings)
    if total > RESULTS_PER_BATCH:
        detail = f"These are {total:,} results; send at most {RESULTS_PER_BATCH:,} at a time."
        raise Problem(413, detail, kind="too-many-results")
    # The rows name their query by its key, and their system themselves, as the run tag in a file of TREC does.
    choices = {"order": body.order, "keep_first": body.keep_first, "queries_by": "key", "system_from": "tag"}
    return import_batch(request, slug, idempotency_key, body, result_rows(body), intake.import_run, **choices)


@router.post(
    "/collections/{slug:slug}/ratings", response=Imported, tags=["import"], summary="Bring ratings made elsewhere"
)
def import_ratings(request: TokenRequest, slug: str, body: RatingsIn, idempotency_key: IdempotencyKey = None):
    """Adds ratings and changes those that are there, by rater, query and document."""
    rows = ((f"/ratings/{place}", row.model_dump(exclude_none=True)) for place, row in enumerate(body.ratings))
    return import_batch(request, slug, idempotency_key, body, rows, intake.import_ratings, queries_by="key")


def result_rows(body: RankingsIn) -> Iterable[tuple[str, dict]]:
    """Yields a row for each document of each ranking, behind its JSON pointer."""
    for place, ranking in enumerate(body.rankings):
        for index, document in enumerate(ranking.documents):
            row = {"query": ranking.query, "document": document, "rank": index + 1, "system": body.system}
            if ranking.scores is not None:
                row["score"] = ranking.scores[index]
            yield f"/rankings/{place}/documents/{index}", row


def import_batch(
    request: TokenRequest,
    slug: str,
    idempotency_key: str | None,
    batch: Schema,
    rows: Iterable[tuple[str, dict]],
    run_import: Callable[..., Report],
    **choices,
) -> dict:
    """Import the rows of a batch, with the choices that `run_import` takes, and return the fields of `Imported`.

    `rows`: (JSON pointer into the batch, row). `idempotency_key`: see `receipts`; None: the client sent none.
    """
    collection = collection_in(request, slug, Scope.IMPORT)
    pointers, lines = [""], []  # the pointer of each line, counted from 1; of the whole body for line 0
    for pointer, row in rows:
        pointers.append(pointer)
        lines.append(json.dumps(row))
    content = "\n".join(lines).encode()

    def imported() -> dict:
        report = report_of(run_import, collection, content, choices)
        if report.refused:
            errors = [error_of(refusal, pointers, type(batch)) for refusal in report.refusals]
            raise Problem(422, f"Nothing was written: {report.to_correct}.", kind="refused", errors=errors)
        counts = {name: report.counts[name] for name in ("new", "changed", "unchanged")}
        return counts | {"facts": report.facts, "warnings": report.warnings}

    return with_receipt(request, collection, idempotency_key, imported)


def report_of(run_import: Callable[..., Report], collection: Collection, content: bytes, choices: dict) -> Report:
    """Import lines of JSON, and return the report. Raises Problem if they are refused as a whole.

    If somebody else wrote between the checks of the import and its writing, it is tried again. The report of the
    last try then is a refusal.
    """
    try:
        for _ in range(IMPORT_TRIES):
            source = Source(BATCH_NAME, io.BytesIO(content))  # each try reads the batch from its beginning
            report = run_import(collection, [source], format="jsonl", **choices)
            if not report.clashed:  # nobody else wrote meanwhile
                break
    except ValueError as error:
        raise refused(error, "Nothing was written.") from error
    return report


def error_of(refusal: Refusal, pointers: list[str], schema: type[Schema]) -> dict:
    """The refusal for a problem document: where it is, what is wrong, and the cure as members of the schema.

    `pointers`: the JSON pointer of each line of the file that the batch became.
    """
    place = {"pointer": pointers[refusal.line]}
    if refusal.line:
        place["index"] = int(place["pointer"].split("/")[2])  # the 3 of /queries/3
    other_place = f" at {pointers[refusal.other.line]}" if refusal.other else ""
    cure = refusal.cure_text(lambda option: words(option, schema))
    return place | {"detail": f"{refusal.problem}{other_place}.", "cure": cure}


def words(option: Option, schema: type[Schema]) -> str:
    """The option as an imperative for a batch of this schema; "" if it has no member of that name."""
    if option.name == "before":
        return f"send the {option.value} first"
    if option.name not in schema.model_fields:
        return ""
    value = "another name" if option.value is None else json.dumps(option.value)
    return f'send {value} as "{option.name}"'

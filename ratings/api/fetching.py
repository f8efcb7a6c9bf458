"""Systems fetched from connected search engines, by programs."""

from datetime import datetime
from typing import Annotated

from django.shortcuts import get_object_or_404
from ninja import Schema
from pydantic import Field

from ..importing import jobs
from ..importing.job_pages import step
from ..importing.pull import turns
from ..models import Engine, Job, Scope
from ..web.problems import Problem, refused
from .access import TokenRequest, collection_in
from .bringing import IdempotencyKey
from .receipts import with_receipt
from .routes import router
from .shapes import Sent, SystemName, text


class EngineOut(Schema):
    name: str
    dialect: str


class FetchIn(Sent):
    engine: Annotated[str, text(100, least=1)] = Field(description="The name of a connected engine.")
    system: SystemName = Field(description="A new system, or one whose gaps are to be filled.")
    depth: int = Field(20, ge=1, le=turns.MOST_HITS, description="Results of each query.")
    pause: float = Field(0, ge=0, le=60, description="Seconds between two queries.")
    twice: bool = Field(False, description="A tenth of the queries is asked a second time.")
    keep_first: bool = Field(False, description="A document that an answer has twice keeps its better rank.")


class GapOut(Schema):
    query: str
    problem: str


class TwiceOut(Schema):
    queries: int
    differ: int = Field(description="Queries whose first ten results were others, or in another order.")
    shared: float | None = Field(description="The mean share of the first ten documents that both answers have.")
    failed: int


class FetchOut(Schema):
    id: int
    engine: str
    system: str
    state: str = Field(description="queued, running, published, refused, cancelled, failed or undone.")
    share: float | None = Field(description="Of the present step, 0 to 1; null where it is unknown.")
    message: str
    started_at: datetime | None
    ended_at: datetime | None
    rankings: int
    gaps: list[GapOut] = Field(description="Queries without a usable answer, which have no score.")
    twice: TwiceOut | None
    facts: list[str]
    warnings: list[str]


@router.get(
    "/collections/{slug:slug}/engines", response=list[EngineOut], tags=["import"], summary="Connected engines"
)
def list_engines(request: TokenRequest, slug: str):
    """The search engines that are connected on pages."""
    return collection_in(request, slug, Scope.IMPORT).engines.all()


@router.post(
    "/collections/{slug:slug}/fetches", response=FetchOut, tags=["import"], summary="Fetch a system from an engine"
)
def start_fetch(request: TokenRequest, slug: str, body: FetchIn, idempotency_key: IdempotencyKey = None):
    """A worker asks the engine for all queries without a ranking of the system. Look again until it is over."""
    collection = collection_in(request, slug, Scope.IMPORT)

    def started() -> dict:
        engine = Engine.objects.filter(collection=collection, name=body.engine).first()
        if engine is None:
            raise Problem(422, f"No engine {body.engine!r} is connected.", kind="refused")
        try:
            options = turns.options(engine, **body.model_dump(exclude={"engine"}))
        except ValueError as error:
            raise refused(error, "Nothing was started.") from error
        return fetch_json(jobs.fetch_system(engine, options, request.auth.user))

    return with_receipt(request, collection, idempotency_key, started)


@router.get(
    "/collections/{slug:slug}/fetches/{int:fetch}", response=FetchOut, tags=["import"], summary="One fetch"
)
def get_fetch(request: TokenRequest, slug: str, fetch: int):
    """How far it is, and what was done at its end."""
    fetches = collection_in(request, slug, Scope.IMPORT).jobs.filter(kind=Job.Kind.ENGINE)
    return fetch_json(get_object_or_404(fetches, pk=fetch))


def fetch_json(job: Job) -> dict:
    """The state of a fetch as `FetchOut`: how far it is, and once it is over what it brought and its gaps.

    The job of a fetch that is not over has an empty report. `twice` compares both answers to the queries that were
    asked a second time.
    """
    report = job.report
    progress = step(job)
    return {
        "id": job.pk,
        "engine": job.options["of"],  # the name of the engine
        "system": job.options["system"],
        "state": job.stage,
        "share": progress.share,
        "message": progress.message,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "rankings": report.get("counts", {}).get("new", 0),  # a fetch brings nothing but rankings
        "gaps": [{"query": query, "problem": problem} for query, problem in report.get("failed", [])],
        "twice": report.get("twice") or None,  # {} if no query was to be asked a second time
        "facts": report.get("facts", []),
        "warnings": report.get("warnings", []),
    }

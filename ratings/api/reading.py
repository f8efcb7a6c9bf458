"""Reading by programs: collections, queries, documents, systems, ratings, and unjudged documents."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.db.models import Count
from django.shortcuts import get_object_or_404
from ninja import Query as Q
from ninja import Schema
from pydantic import AfterValidator, Field, StringConstraints

from ..collection import making
from ..collection.scales import Step
from ..formats import values
from ..models import Collection, Drawn, Query, Rating, Role, SampledQuery, Scope
from ..people.names import pseudonym
from ..pool import pooling, rounds
from ..web.problems import Problem
from .access import TokenRequest, collection_in, collections_of, require_scope
from .routes import router
from .shapes import DocumentKey, Number, OfPage, Page, QueryKey, Sent, SystemName, Whole, page, page_of, text


class TokenOut(Schema):
    name: str
    scopes: list[str]
    collection: str | None = Field(
        None, alias="collection.slug", description="The only one that it reaches; null: all of its owner's."
    )
    owner: str = Field(alias="user.username")
    expires_at: datetime


class GradeOut(Schema):
    value: float
    label: str
    meaning: str


class CollectionOut(Schema):
    slug: str
    name: str
    role: str = Field(description="That of the token's owner.")
    put_away: bool = Field(description="Nothing is imported, and raters get no more pairs.")


class OneCollection(CollectionOut):
    grades: list[GradeOut] = Field(description="The scale, lowest first.")


def as_stored(value: float) -> Decimal:
    """The value of a grade. Raises ValueError for one with too many digits."""
    return values.grade(repr(value))


class GradeIn(Sent):
    value: Annotated[Number, AfterValidator(as_stored)]
    label: Annotated[str, text(60)] = ""
    meaning: Annotated[str, text(2_000)] = ""


def of_different_values(grades: list[GradeIn]) -> list[GradeIn]:
    if len({grade.value for grade in grades}) < len(grades):
        raise ValueError("two grades have the same value")
    return grades


class CollectionIn(Sent):
    slug: Annotated[str, StringConstraints(pattern=r"^[-a-zA-Z0-9_]{1,80}$")]
    name: Annotated[str, text(200)] = Field("", description="The name on pages; the slug where it is empty.")
    grades: Annotated[list[GradeIn], Field(max_length=100), AfterValidator(of_different_values)] = Field(
        [], description="The scale. Without one it is taken from the first ratings."
    )


class QueryOut(Schema):
    key: str
    text: str
    need: str
    tags: list
    weight: float


class DocumentOut(Schema):
    key: str
    title: str
    body: str
    url: str
    fields: dict


class SystemOut(Schema):
    name: str
    description: str
    rankings: int = Field(alias="number_of_rankings")
    created_at: datetime


class RatingOut(Schema):
    query: str
    document: str
    rater: str = Field(description="A name for admins, a pseudonym for analysts.")
    kind: str = Field(description="person or imported")
    grade: float | None = Field(None, description="null: it could not be judged")
    reason: str
    comment: str
    changed_at: datetime


class DrawnOut(Schema):
    round: int
    method: str = Field(description="The version of the method that drew the round.")
    seed: int
    measure: Any = Field(description="What the round was drawn for; so are options, systems and gains.")
    options: Any
    systems: Any
    gains: Any
    threshold: float | None = Field(
        None, description="The key of the first unit that was not drawn; null: all were."
    )
    precision: float
    frame: int = Field(description="How many pairs could be drawn.")
    judged: int = Field(description="How many pairs were judged before.")
    version: int
    drawn_at: datetime
    query: str
    document: str
    place: int
    kind: str = Field(description="greedy or random")
    unit: int | None
    key: float | None
    rate: float | None
    within: float | None
    chance: float = Field(description="(1 - exp(-rate x threshold)) x within; 1 for a greedy one.")
    born: int = Field(description="How many rounds there were before the pair came to the pool.")
    predicted: list[float] = Field(description="The chance of each gain or a higher one, without the lowest.")
    machines: list[str] = Field(description="The judges whose grades the model that drew the round looked at.")
    triage: list[str] = Field(description="The judges by whose grades the round drew some pairs more readily.")


class StratumOut(Schema):
    name: str = Field(description="Empty where the log was not divided.")
    size: int = Field(description="The sum of the chances of its queries.")
    queries: int = Field(description="In the log.")
    searches: int = Field(description="In the log.")
    certain: int = Field(description="How many queries were drawn for certain.")
    certain_searches: int
    drawn: int = Field(description="How many queries were drawn, those for certain too.")


class SampleOut(Schema):
    number: int = Field(description="From 1. The last one counts.")
    former: int | None = Field(
        None, alias="former.number", description="The sample to which this one added queries."
    )
    method: str = Field(description="proportional, strata or even")
    seed: int
    size: int = Field(description="How many queries were asked for: the sum of all chances.")
    log: str
    days: str
    searches: int = Field(description="In the whole log; queries are the different ones.")
    queries: int
    head_searches: int = Field(description="Of the queries that were drawn for certain.")
    head_queries: int
    strata: list[StratumOut]
    drawn_at: datetime = Field(alias="created_at")


class SampledOut(Schema):
    place: int = Field(description="In the log: by stratum, the most frequent query first.")
    query: str | None = Field(
        None, alias="query.key", description="Its key; null where it is not in the collection."
    )
    text: str = Field(description="Empty for a query that waits for an admin, and for a personal one.")
    count: int = Field(description="Searches for it in the log.")
    chance: float = Field(description="With which the sample has it; 1 for a query drawn for certain.")
    stratum: str
    left_out: str = Field(description="Empty, held, personal, no_search or other.")

    @staticmethod
    def resolve_text(row: SampledQuery) -> str:
        """The text; "" while it waits for an admin, since it may be personal."""
        return "" if row.left_out == SampledQuery.LeftOut.HELD else row.text


class UnjudgedOut(Schema):
    query: str
    document: str
    rank: int = Field(description="The place that the system gives it, from 1.")
    wanted: bool = Field(description="Whether ratings of it are asked for already.")
    retired: bool


class OfQueries(OfPage):
    key: QueryKey | None = Field(None, description="Only this one.")


class OfDocuments(OfPage):
    key: DocumentKey | None = Field(None, description="Only this one.")
    limit: Whole = Field(50, ge=1, le=200, description="Documents of a page, at most: they can be long.")


class OfRatings(OfPage):
    query: QueryKey | None = Field(None, description="Only of this query.")


class OfSampled(OfPage):
    sample: Whole | None = Field(None, ge=1, le=10**9, description="Its number; by default the last one.")


class OfUnjudged(OfPage):
    system: SystemName
    k: Whole = Field(10, ge=1, le=1_000, description="How far down.")


def listing(path: str, row: type[Schema], summary: str):
    """The decorator of a view with pages of such rows of a collection."""
    return router.get(f"/collections/{{slug:slug}}/{path}", response=Page[row], tags=["record"], summary=summary)


@router.get("/token", response=TokenOut, tags=["record"], summary="What this token is")
def get_token(request: TokenRequest):
    return request.auth


@router.get(
    "/collections", response=Page[CollectionOut], tags=["record"], summary="Collections that the token reaches"
)
def list_collections(request: TokenRequest, asked: Q[OfPage]):
    user = request.auth.user
    roles = dict(user.memberships.values_list("collection", "role"))

    def with_role(collection: Collection) -> dict:
        # "": the person became a member between the two queries.
        role = Role.ADMIN if user.is_superuser else roles.get(collection.pk, "")
        return collection_json(collection, role)

    return page(collections_of(request), asked, with_role)


@router.post("/collections", response={201: OneCollection}, tags=["record"], summary="Make a collection")
def make_collection(request: TokenRequest, body: CollectionIn):
    """Needs the scope `manage`, which only a superuser's token for all collections can have."""
    require_scope(request, Scope.MANAGE)
    if request.auth.collection_id or not request.auth.user.is_superuser:
        raise Problem(403, "Only a superuser's token for all collections makes new ones.", kind="role")
    scale = sorted(Step(Decimal(grade.value), grade.label, grade.meaning) for grade in body.grades)
    try:
        collection = making.make(body.slug, body.name or body.slug, scale)
    except ValidationError as error:  # `CollectionIn` checked the form of all values, so the slug is taken
        detail = f"There is a collection {body.slug} already. Choose another slug."
        raise Problem(409, detail, kind="exists", errors=[{"pointer": "/slug", "detail": detail}]) from error
    return whole_collection(collection, Role.ADMIN)


@router.get(
    "/collections/{slug:slug}", response=OneCollection, tags=["record"], summary="A collection and its scale"
)
def get_collection(request: TokenRequest, slug: str):
    collection = collection_in(request, slug)
    return whole_collection(collection, collection.role)


@listing("queries", QueryOut, "Queries")
def list_queries(request: TokenRequest, slug: str, asked: Q[OfQueries]):
    rows = collection_in(request, slug, Scope.READ).queries.all()
    return page(rows.filter(key=asked.key) if asked.key else rows, asked)


@listing("documents", DocumentOut, "Documents")
def list_documents(request: TokenRequest, slug: str, asked: Q[OfDocuments]):
    rows = collection_in(request, slug, Scope.READ).documents.all()
    return page(rows.filter(key=asked.key) if asked.key else rows, asked)


@listing("systems", SystemOut, "Systems")
def list_systems(request: TokenRequest, slug: str, asked: Q[OfPage]):
    rows = collection_in(request, slug, Scope.READ).systems.annotate(number_of_rankings=Count("rankings"))
    return page(rows, asked)


@listing("ratings", RatingOut, "Ratings")
def list_ratings(request: TokenRequest, slug: str, asked: Q[OfRatings]):
    """What raters say now, in the order in which they first said it. Only admins read names."""
    collection = collection_in(request, slug, Scope.READ)
    rows = Rating.objects.counted().filter(rater__collection=collection).select_related("grade", "rater")
    if asked.query:
        rows = rows.filter(pair__query__key=asked.query)
    rows = rows.select_related("query", "document").defer("document__body", "document__fields")
    named = collection.role == Role.ADMIN
    return page(rows, asked, lambda rating: rating_json(rating, named=named))


@listing("drawn", DrawnOut, "Drawn pairs")
def list_drawn_pairs(request: TokenRequest, slug: str, asked: Q[OfPage]):
    """The pairs that were drawn to be rated, round by round, with the chances that they had."""
    rows = Drawn.objects.filter(round__collection=collection_in(request, slug, Scope.READ))
    return page(rounds.with_keys(rows.select_related("round")), asked, rounds.pair_of)


@listing("samples", SampleOut, "Samples")
def list_samples(request: TokenRequest, slug: str, asked: Q[OfPage]):
    """The samples of queries that were drawn from a log."""
    return page(collection_in(request, slug, Scope.READ).samples.select_related("former"), asked)


@listing("sampled", SampledOut, "The queries of a sample")
def list_sampled_queries(request: TokenRequest, slug: str, asked: Q[OfSampled]):
    """Every query that was drawn, with its count and its chance; those that are left out, too."""
    samples = collection_in(request, slug, Scope.READ).samples
    sample = get_object_or_404(samples, number=asked.sample) if asked.sample else samples.last()
    rows = sample.drawn.select_related("query") if sample else SampledQuery.objects.none()
    return page(rows, asked)


@listing("unjudged", UnjudgedOut, "What nobody has judged yet")
def list_unjudged(request: TokenRequest, slug: str, asked: Q[OfUnjudged]):
    """Documents that the system ranks among its first `k` and that have no grade for the query."""
    collection = collection_in(request, slug, Scope.READ)
    system = get_object_or_404(collection.systems, name=asked.system)
    holes = pooling.holes(collection, system, asked.k)
    rows = []  # each with its place: the id of the query and, within it, the rank of the document
    for of_query in holes:
        rows += [((of_query.query.pk, hole.place), (of_query.query, hole)) for hole in of_query.holes]
    of_page = page_of(rows, asked)
    return of_page | {"items": [hole_json(query, hole) for query, hole in of_page["items"]]}


# Rows of the database as JSON


def collection_json(collection: Collection, role: str) -> dict:
    """The collection without its description, which may name the systems: raters must not know them."""
    away = collection.put_away_at is not None
    return {"slug": collection.slug, "name": collection.name, "role": role, "put_away": away}


def whole_collection(collection: Collection, role: str) -> dict:
    return collection_json(collection, role) | {"grades": list(collection.grades.all())}


def rating_json(rating: Rating, *, named: bool) -> dict:
    return {
        "query": rating.query.key,
        "document": rating.document.key,
        "rater": rating.rater.name if named else pseudonym(rating.rater_id),
        "kind": rating.rater.kind,
        "grade": float(rating.grade.value) if rating.grade else None,
        "reason": rating.reason,
        "comment": rating.comment,
        "changed_at": rating.changed_at,
    }


def hole_json(query: Query, hole: pooling.Hole) -> dict:
    """A document without a grade for the query, at its place in a ranking."""
    facts = {"rank": hole.place, "wanted": hole.wanted, "retired": hole.retired}
    return {"query": query.key, "document": hole.document.key, **facts}

"""A round of rating in the database, and whether it holds what a ledger says. Import it once Django is set up."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password
from django.db import connection
from django.db.models import Count, F, Q

from bench._raters import PASSWORD, SAVE, SKIP, UNDO
from ratings.desk import queue
from ratings.models import (
    UNDRAWN,
    Assignment,
    Collection,
    Document,
    Grade,
    Membership,
    Pair,
    Query,
    Ranking,
    Rating,
    RatingEvent,
    Role,
    System,
    plain_value,
)

DOCUMENTS = 100  # of a query
SYSTEMS = 3
BODY = "What the page says about it, in a sentence of some length. " * 35  # 2 KB
KINDS = {SAVE: RatingEvent.Kind.GRADE, SKIP: RatingEvent.Kind.SKIP, UNDO: RatingEvent.Kind.UNDO}


def made(slug: str, *, raters: int, pairs: int, wanted: int, order: str = Collection.Order.QUERY) -> Collection:
    """A collection where `pairs` want so many ratings each, and raters with the password of the bench.

    In the decisive order SYSTEMS rank all documents by chance, so that the worker draws rounds.
    """
    collection = Collection.objects.create(slug=slug, name="Ledger", order=order)
    Grade.objects.bulk_create(Grade(collection=collection, value=Decimal(value)) for value in range(4))
    texts = (f"{slug} {number}" for number in range(-(-pairs // DOCUMENTS)))
    queries = Query.objects.bulk_create(
        Query(collection=collection, key=text.replace(" ", "-"), text=text) for text in texts
    )
    documents = Document.objects.bulk_create(
        Document(collection=collection, key=f"d{number}", title=f"Document {number}", body=BODY)
        for number in range(DOCUMENTS)
    )
    places = [(query.pk, document.pk) for query in queries for document in documents][:pairs]
    queue.want(list(queue.pairs_for(places).values()), wanted)
    if order == Collection.Order.DECISIVE:
        rank(collection, queries, [document.pk for document in documents])
    # One hash for all: to make each would take longer than the rest.
    password = make_password(PASSWORD, hasher=Argon2PasswordHasher())
    people = get_user_model().objects.bulk_create(
        get_user_model()(username=f"{slug}-{number}", password=password) for number in range(raters)
    )
    for person in people:
        Membership.objects.create(collection=collection, user=person, role=Role.RATER)
    # As autovacuum would, after a minute. SQLite keeps what it learns, here of few rows, and nothing renews it.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return collection


def rank(collection: Collection, queries: Sequence[Query], documents: list[int]) -> None:
    chance = random.Random(SYSTEMS)
    systems = System.objects.bulk_create(
        System(collection=collection, name=f"system {number}") for number in range(SYSTEMS)
    )
    Ranking.objects.bulk_create(
        Ranking(system=system, query=query, documents=chance.sample(documents, len(documents)))
        for system in systems
        for query in queries
    )


@dataclass(frozen=True)
class Findings:
    """What the record says to a ledger. All but the first two ought to be 0."""

    acknowledged: int
    unheard: int  # acts that were stored the first time, though the answer never came: a retry met them
    lost: int  # acknowledged, and not in the record
    doubled: int  # in the record more than once, or without anybody having been told
    otherwise: int  # stored as something else than what was acknowledged
    wrong_now: int  # pairs whose present rating is not what its rater said last
    over_quota: int  # pairs with more ratings counted than wanted
    false_places: int  # assignments that say done and have no grade
    false_rounds: int  # rounds without a number before theirs, and places in another round than their pair
    damage: int  # lines of what the database finds wrong with its own files

    @property
    def wrong(self) -> int:
        counts = vars(self)
        return sum(count for name, count in counts.items() if name not in ("acknowledged", "unheard"))


def compared(collection: Collection, ledger: Sequence[dict]) -> Findings:
    """Hold every line of a ledger against the record. Call it when nobody acts any more."""
    events = defaultdict(list)
    rows = RatingEvent.objects.filter(rater__collection=collection).select_related("rater", "undoes", "pair")
    for event in rows.iterator():
        events[event.rater.name, str(event.client_key)].append(event)
    told = {(act["rater"], act["key"]): act for act in ledger}
    stored = {key: events[key] for key in told if key in events}
    doubled = sum(len(found) - 1 for found in stored.values())
    return Findings(
        acknowledged=len(told),
        unheard=sum(act["tries"] > 1 and first(stored, key) < act["sent"] for key, act in told.items()),
        lost=len(told) - len(stored),
        doubled=doubled + sum(len(found) for key, found in events.items() if key not in told),
        otherwise=sum(not is_as_told(found[0], told[key]) for key, found in stored.items()),
        wrong_now=len(said_last(ledger).items() ^ rated(collection).items()),
        over_quota=over_quota(collection),
        false_places=false_places(collection),
        false_rounds=false_rounds(collection),
        damage=damage(),
    )


def first(stored: dict, key: tuple[str, str]) -> float:
    """When an act was stored; never, for one that was not."""
    return stored[key][0].created_at.timestamp() if key in stored else float("inf")


def is_as_told(event: RatingEvent, act: dict) -> bool:
    """What an undo takes back tells its pair, whatever the client sent."""
    meant = str(event.undoes.client_key) if event.undoes else None
    value = None if event.value is None else plain_value(event.value)
    said = (event.kind, value, meant, str(event.pair.token))
    return said == (KINDS[act["kind"]], act.get("grade"), act.get("act"), act["token"])


def said_last(ledger: Sequence[dict]) -> dict[tuple[str, str], str]:
    """(rater, token) -> the grade that stands, by what was acknowledged. The acts of one rater are in order."""
    said: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for act in ledger:
        saves = said[act["rater"], act["token"]]
        if act["kind"] == SAVE:
            saves.append(act)
        elif act["kind"] == UNDO:
            saves[:] = [save for save in saves if save["key"] != act["act"]]
    return {key: saves[-1]["grade"] for key, saves in said.items() if saves}


def rated(collection: Collection) -> dict[tuple[str, str], str]:
    rows = Rating.objects.filter(rater__collection=collection)
    rows = rows.values_list("rater__name", "pair__token", "grade__value")
    return {(rater, str(token)): plain_value(value) for rater, token, value in rows.iterator()}


def over_quota(collection: Collection) -> int:
    """Pairs with more places than wanted, or more that are done."""
    counted = Count("assignments", filter=Q(assignments__extra=False))
    return Pair.objects.filter(query__collection=collection).annotate(n=counted).filter(n__gt=F("wanted")).count()


def false_places(collection: Collection) -> int:
    done = Assignment.objects.filter(collection=collection.pk, state=Assignment.State.DONE)
    graded = Q(pair__ratings__rater=F("rater"), pair__ratings__grade__isnull=False)
    return done.count() - done.filter(graded).count()


def false_rounds(collection: Collection) -> int:
    numbers = collection.rounds.order_by("number").values_list("number", flat=True)
    gaps = sum(number != place for place, number in enumerate(numbers, 1))
    places = Assignment.objects.filter(collection=collection.pk, extra=False)
    drawn = places.filter(pair__drawn__isnull=False).exclude(round=F("pair__drawn__round__number"))
    undrawn = places.filter(pair__drawn__isnull=True).exclude(round=UNDRAWN)
    return gaps + drawn.count() + undrawn.count()


def surplus(collection: Collection) -> int:
    """Ratings beyond what was wanted: they came later than their lease, and are kept."""
    ratings = Rating.objects.filter(rater__collection=collection).count()
    return ratings - Assignment.objects.filter(collection=collection.pk, state=Assignment.State.DONE).count()


def damage() -> int:
    """What SQLite finds wrong in its file, foreign keys without a row too. PostgreSQL refuses those by itself."""
    if connection.vendor != "sqlite":
        return 0
    with connection.cursor() as cursor:
        broken = [line for (line,) in cursor.execute("PRAGMA integrity_check").fetchall() if line != "ok"]
        return len(broken) + len(cursor.execute("PRAGMA foreign_key_check").fetchall())

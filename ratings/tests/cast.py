"""A small cast for tests: plain functions with defaults, so that every number in a test has a visible origin."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from ratings.desk import queue
from ratings.models import (
    Collection,
    Document,
    Drawn,
    Grade,
    Job,
    Judge,
    JudgeRun,
    JudgeVersion,
    MachineGrade,
    Membership,
    Pair,
    Query,
    Ranking,
    Rater,
    Role,
    Round,
    Sample,
    SampledQuery,
    System,
)

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SCALE = {"-1": "Harmful", "0": "Irrelevant", "1": "Related", "2": "Good", "3": "Perfect"}


def make_collection(slug: str = "hills", *, queries=("q1", "q2"), documents="abcd", scale=SCALE) -> Collection:
    collection = Collection.objects.create(slug=slug, name=slug.title())
    Grade.objects.bulk_create(
        Grade(collection=collection, value=Decimal(value), label=label) for value, label in scale.items()
    )
    Query.objects.bulk_create(
        Query(collection=collection, key=key, text=f"text of {key}", need=f"need of {key}") for key in queries
    )
    Document.objects.bulk_create(
        Document(collection=collection, key=key, title=f"Title {key}", body=f"First of {key}.\n\nSecond.")
        for key in documents
    )
    return collection


def make_user(username: str = "alice", **facts):
    return get_user_model().objects.create_user(username, password="a pass phrase", **facts)


def make_member(collection: Collection, username: str, role: str):
    user = get_user_model().objects.filter(username=username).first() or make_user(username)
    Membership.objects.create(collection=collection, user=user, role=role)
    return user


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def text(response) -> str:
    """What a reader sees of a page, blanks made one."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def make_rater(collection: Collection, username: str = "alice") -> Rater:
    return Rater.objects.get(collection=collection, user=make_member(collection, username, Role.RATER))


def make_ranking(collection: Collection, system: str, query: str, documents: str, scores=None) -> Ranking:
    """Rank one-letter documents: make_ranking(c, "bm25", "q1", "abd")."""
    ids = dict(collection.documents.values_list("key", "pk"))
    return Ranking.objects.create(
        system=System.objects.get_or_create(collection=collection, name=system)[0],
        query=collection.queries.get(key=query),
        documents=[ids[key] for key in documents],
        scores=scores if scores is not None else falling(documents),
    )


def make_rankings(collection: Collection, rankings: Mapping[str, Mapping[str, str]]) -> None:
    """Rankings of new systems, all at once: make_rankings(c, {"bm25": {"q1": "abd", "q2": "d"}})."""
    queries, ids = (dict(rows.values_list("key", "pk")) for rows in (collection.queries, collection.documents))
    systems = System.objects.bulk_create(System(collection=collection, name=name) for name in rankings)
    Ranking.objects.bulk_create(
        Ranking(
            system=system,
            query_id=queries[query],
            documents=[ids[key] for key in documents],
            scores=falling(documents),
        )
        for system in systems
        for query, documents in rankings[system.name].items()
    )


def falling(documents: str) -> list[float]:
    """A score for each document, the first the highest."""
    return [float(len(documents) - i) for i in range(len(documents))]


def make_pair(collection: Collection, query: str = "q1", document: str = "a", *, wanted: int = 1):
    ids = (collection.queries.get(key=query).pk, collection.documents.get(key=document).pk)
    pk = queue.pairs_for([ids])[ids]
    queue.want([pk], wanted)
    return collection.queries.get(key=query).pairs.get(pk=pk)


def make_round(
    collection: Collection, pairs: Iterable[Pair], *, greedy: int = 0, beside: Iterable[Pair] = ()
) -> Round:
    """The next round, of these pairs in their places: the first `greedy` for certain, the rest at random.

    `beside`: pairs that come with it and are not drawn.
    """
    drawn = [
        Drawn(pair=pair, kind="greedy", chances=[0.5, 0.25])
        if place < greedy
        else Drawn(
            pair=pair,
            kind="random",
            unit=1 + place - greedy,
            key=0.125 * (1 + place - greedy),
            rate=0.5,
            within=0.75,
            chances=[0.5, 0.25],
        )
        for place, pair in enumerate(pairs)
    ]
    facts = {"method": "1", "seed": 17, "threshold": 0.125 * (1 + len(drawn) - greedy), "precision": 2.5}
    systems = sorted(collection.systems.values_list("name", flat=True))
    unknown = [None for _ in systems]
    seen = {"mean": unknown, "low": unknown, "high": unknown, "best": unknown, "wrong": None}
    of = {"measure": "nDCG@10", "profile": "default", "options": {}, "rule": "mean", "adjudications": "use"}
    aim = of | {"systems": systems, "gains": [0, 1, 2]}
    number = collection.rounds.count() + 1
    new = Round(number=number, aim=aim, seen=seen, frame=len(drawn), judged=0, version=collection.version, **facts)
    made = queue.store_round(collection, new, drawn, undrawable=[pair.pk for pair in beside], now=NOW)
    assert made
    return made


def make_sample(
    collection: Collection, drawn: Iterable[tuple[str, int, float]], *, searches: int = 0, queries: int = 0
) -> Sample:
    """The next sample, of these queries: key ("" for one that is held back), count in the log, chance of the draw.

    Without totals the log has just these. Its only stratum is "".
    """
    rows = list(drawn)
    certain = [count for _, count, chance in rows if chance == 1]
    totals = {"searches": searches or sum(count for _, count, _ in rows), "queries": queries or len(rows)}
    size = round(sum(chance for *_, chance in rows))
    own = {"size": size, "certain": len(certain), "certain_searches": sum(certain), "drawn": len(rows)}
    sample = Sample.objects.create(
        collection=collection,
        number=collection.samples.count() + 1,
        method=Sample.Method.PROPORTIONAL,
        seed=17,
        size=size,
        log="searches.csv",
        days="January 2026",
        digest="a" * 64,
        head_searches=sum(certain),
        head_queries=len(certain),
        strata=[{"name": "", **totals, **own}],
        created_at=NOW,
        **totals,
    )
    stored = {query.key: query for query in collection.queries.all()}
    SampledQuery.objects.bulk_create(
        SampledQuery(
            sample=sample,
            query=stored.get(key),
            place=place,
            text=stored[key].text if key else "mail anna@example.org",
            count=count,
            chance=chance,
            left_out="" if key else "held",
        )
        for place, (key, count, chance) in enumerate(rows, 1)
    )
    return sample


def make_asked(collection: Collection, *pairs: Pair, name: str = "llama") -> JudgeRun:
    """A run of a new judge, which gave each of the pairs the highest grade."""
    from ratings.judges.versions import CONTENT_FIELDS, sha_of  # a room that can be taken out

    version = JudgeVersion(
        judge=Judge.objects.create(collection=collection, name=name),
        number=1,
        model="llama3",
        endpoint="http://127.0.0.1:9/v1",
        scale=[f"{grade.value.normalize():f}" for grade in collection.grades.order_by("value")],
        parser=0,
    )
    version.fingerprint = sha_of({name: getattr(version, name) for name in CONTENT_FIELDS})
    version.save()
    n = len(pairs)
    run = JudgeRun.objects.create(version=version, choice="pool", state="done", most_calls=n, pairs=n, graded=n)
    value = Decimal(version.scale[-1])
    facts = {"run": run, "version": version, "state": "graded", "value": value, "answer": f'{{"grade": {value}}}'}
    MachineGrade.objects.bulk_create(
        MachineGrade(query_id=pair.query_id, document_id=pair.document_id, at=NOW, tries=1, **facts)
        for pair in pairs
    )
    return run


def make_rated_pair(rater: str = "rater") -> tuple[Pair, Rater]:
    """A pair that one person rated 2 and two more are to rate, in a collection with two systems."""
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "abcd")
    make_ranking(collection, "dense", "q1", "dcba")
    pair, person = make_pair(collection, "q1", "a", wanted=3), make_rater(collection, rater)
    queue.claim(person)
    queue.save(person, pair, queue.Submission(grade=grade(collection, "2")))
    return pair, person


def next_pair(rater: Rater, now: datetime = NOW) -> Pair | None:
    """The pair that a rater who takes one at a time gets next, and holds."""
    tasks = queue.claim(rater, now=now)
    return tasks[0].pair if tasks else None


def pair_held(rater: Rater) -> Pair | None:
    """The first pair that the rater holds."""
    return next((task.pair for task in queue.held(rater)), None)


def grade(collection: Collection, value: str) -> Grade:
    return collection.grades.get(value=Decimal(value))


class Imported(NamedTuple):
    """A rating that was made elsewhere."""

    query_id: int
    document_id: int
    grade: Grade | None
    reason: str = ""
    comment: str = ""
    seconds: float | None = None
    at: datetime | None = None


def record_imported(rater: Rater, rows: Iterable[Imported], *, actor=None, at: datetime | None = None) -> Counter:
    """As an import of ratings does it, though the rater may be a person. Counts new, changed and unchanged."""
    rows = [queue.ImportedRating(rater.name, *row[:2], row.grade and row.grade.value, *row[3:]) for row in rows]
    found = queue.differing(rater.collection, rows)
    facts = {"kind": Job.Kind.RATINGS, "by": actor, "state": "published", "ended_at": at or timezone.now()}
    job = Job.objects.create(collection=rater.collection, **facts)
    raters = Rater.objects.filter(pk=rater.pk)
    raters.update(kind=Rater.Kind.IMPORTED)
    queue.stage(job, found)
    queue.record_staged(job, now=at)
    raters.update(kind=rater.kind)
    job.staged_ratings.all().delete()
    new = sum(row.rating_id is None for row in found)
    return Counter(new=new, changed=len(found) - new, unchanged=len(rows) - len(found))

"""A year of nights of ten watches: its bytes, and the page of one of them, cold and warm.

1,000 queries, ten results each. Something happens in a tenth of the nights: a tenth of the queries gets other
results. Of one watch 40 nights are told as its worker does it, with two baselines. The other nights and the
other nine watches are copies of these rows, so that of rankings only those of 40 nights are stored. The
reference is a page of the same server that computes nothing.

With --years, so many unchanged years of watches of 50 queries are told through the database; alarms are counted.
"""

import argparse
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

import numpy as np

from bench._collection import Shape
from bench._engines import measure_each, prepared
from bench._rounds import Side, arguments, goal, measure, table
from bench._served import served
from bench.overview import Analyst, made

SHAPE, SMALL = Shape(1_000, 50, 2), Shape(60, 50, 2)
DEPTH = 10  # results of a night
FEW = Shape(50, 10, 1)  # of the unchanged years
DAYS, TOLD, WATCHES = 365, 40, 10
EVENT, TOUCHED = 0.1, 0.1
BEGAN = datetime(2025, 1, 1, 3, tzinfo=UTC)
GOALS = {"cold": "<= 1", "warm": "<= 0.2"}


class Year:
    """The results of a search night by night, at first those of a system."""

    def __init__(self, collection, system: str, seed: int = 1) -> None:
        from ratings.models import Ranking

        rankings = Ranking.objects.filter(system__collection=collection, system__name=system).order_by("query")
        self.lists = {query: documents[:DEPTH] for query, documents in rankings.values_list("query", "documents")}
        self.usual = dict(self.lists)
        self.random = np.random.default_rng(seed)

    def next_night(self) -> None:
        """Where something happens: other orders of the usual results for some of the queries."""
        if self.random.random() < EVENT:
            for query in self.random.choice(
                list(self.lists), max(1, int(TOUCHED * len(self.lists))), replace=False
            ):
                self.lists[query] = self.random.permutation(self.usual[query])


def watch_of(collection, name: str, seed: int = 1):
    from evaluation.models import Watch

    facts = {"asked": {"measure": "nDCG@10"}, "days": [0], "margin": 0.0, "seed": seed}
    return Watch.objects.create(collection=collection, name=name, created_at=BEGAN, **facts)


def told(watch, year: Year, days: int) -> int:
    """How many alarms were told in so many nights, as the worker stores and tells them."""
    from evaluation.models import Night
    from evaluation.watching import nights, telling

    for day in range(days):
        year.next_night()
        night = Night(watch=watch, due_at=BEGAN + timedelta(days=day), state=Night.State.FETCHED)
        nights.set_rankings(night, list(year.lists), nights.store(watch, year.lists.items()))
        night.save()
        telling.tell(night)
    return len(watch.open_alarms())


def repeated(watch, days: int) -> None:
    """Copies of its nights, until there are so many."""
    from evaluation.models import Night, Verdict

    nights = list(watch.nights.prefetch_related("verdicts"))
    for day in range(len(nights), days):
        night = Night.objects.get(pk=nights[day % len(nights)].pk)
        verdicts = list(night.verdicts.all())
        night.pk, night.due_at = None, BEGAN + timedelta(days=day)
        night.save()
        for verdict in verdicts:
            verdict.pk, verdict.night = None, night
        Verdict.objects.bulk_create(verdicts)


def copied(watch, name: str) -> None:
    """Another watch with the same nights."""
    from evaluation.models import Night, NightRanking, Verdict, Watch

    rows = {model: list(found) for model, found in (
        (NightRanking, watch.rankings.all()), (Night, watch.nights.all()),
        (Verdict, Verdict.objects.filter(night__watch=watch)),
    )}  # fmt: skip
    other = Watch.objects.get(pk=watch.pk)
    other.pk, other.name = None, name
    other.save()
    number = {}
    for night in rows[Night]:
        number[night.pk] = night
        night.pk, night.watch = None, other
    for ranking in rows[NightRanking]:
        ranking.pk, ranking.watch = None, other
    NightRanking.objects.bulk_create(rows[NightRanking], batch_size=1_000)
    Night.objects.bulk_create(rows[Night])
    for verdict in rows[Verdict]:
        verdict.pk, verdict.night = None, number[verdict.night_id]
    Verdict.objects.bulk_create(rows[Verdict], batch_size=500)


def size() -> int:
    """The bytes of the database."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
            return cursor.fetchone()[0]
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return cursor.fetchone()[0]


def measured(engine: str, chosen: argparse.Namespace) -> None:
    prepared(static=True)
    from django.db import connection

    import run
    from ratings.models import Baseline, System

    shape, days = (SMALL, 30) if chosen.small else (SHAPE, DAYS)
    collection = made(shape, chosen.data)
    for kind, name in (("fixed", "system0"), ("release", "system1")):
        system = System.objects.get(collection=collection, name=name)
        Baseline.objects.create(collection=collection, kind=kind, system=system, name=name, reason="first")
    before, begun = size(), perf_counter()
    watch = watch_of(collection, "watch 0")
    told(watch, Year(collection, "system0"), min(TOLD, days))
    took = (perf_counter() - begun) / min(TOLD, days)
    repeated(watch, days)
    for number in range(1, WATCHES):
        copied(watch, f"watch {number}")
    print(
        f"**{engine}**: {days} nights of {WATCHES} watches, {shape.queries:,} queries: {size() - before:,} bytes;"
    )
    print(f"a night is told in {took:.2f} s\n")
    log = Path(os.environ["IDEALIST_DATA"]) / f"{engine}.log"
    command = [str(run.PYTHON), "-m", "config.server"]
    with served(lambda port: [*command, f"127.0.0.1:{port}"], log) as server:
        analyst = Analyst(server, collection.slug)
        path = f"{analyst.base}watch/{watch.pk}/"

        def page(_=None) -> None:
            analyst.page(path)

        def today(_=None) -> None:
            analyst.page(f"{path}?today=1")

        sides = [
            Side("cold", analyst.start_again, page, again=True),
            Side("warm", page, page),
            Side("with today's judgments", today, today),
            Side("a page that computes nothing", lambda: None, lambda _: analyst.bare()),
        ]
        measure(sides, chosen.rounds, 0)
        print(table(sides, [sides[-1]]))
        for side in (each for each in sides if each.name in GOALS):
            median = sorted(side.took)[len(side.took) // 2]
            print(goal(f"{side.name}, seconds", median, GOALS[side.name]), end="")
    if chosen.years:
        print(f"\n{unchanged(chosen)} alarms in {chosen.years} unchanged years of {FEW.queries} queries")
    connection.close()


def unchanged(chosen: argparse.Namespace) -> int:
    """The alarms in years in which nothing is lost on the mean: the orders of the baseline are as random."""
    from ratings.models import Baseline, Ranking, System

    alarms = 0
    collection = few_queries()
    for number in range(chosen.years):
        random = np.random.default_rng(number)
        system = System.objects.create(collection=collection, name=f"before year {number}")
        usual = Year(collection, "system0").lists
        Ranking.objects.bulk_create(
            Ranking(system=system, query_id=query, documents=random.permutation(documents))
            for query, documents in usual.items()
        )
        Baseline.objects.create(
            collection=collection, kind="fixed", system=system, name=system.name, reason="year"
        )
        collection.touch()
        year = Year(collection, "system0", seed=100 + number)
        for query in year.lists:
            year.lists[query] = year.random.permutation(year.usual[query])
        alarms += told(watch_of(collection, f"year {number}", seed=number), year, DAYS)
    return alarms


def few_queries():
    """A collection of FEW queries, each with ten documents of random grades."""
    from django.utils import timezone

    from ratings.models import Collection, Document, Grade, Pair, Query, Ranking, Rater, Rating, System

    random, at = np.random.default_rng(5), timezone.now()
    collection = Collection.objects.create(slug="years", name="Years")
    scale = [Grade.objects.create(collection=collection, value=value) for value in range(4)]
    rater = Rater.objects.create(collection=collection, name="qrels", kind=Rater.Kind.IMPORTED)
    system = System.objects.create(collection=collection, name="system0")
    documents = Document.objects.bulk_create(
        Document(collection=collection, key=f"y{number}") for number in range(FEW.depth)
    )
    for number in range(FEW.queries):
        query = Query.objects.create(collection=collection, key=f"y{number}", text="x")
        Ranking.objects.create(system=system, query=query, documents=[document.pk for document in documents])
        for document in documents:
            pair = Pair.objects.create(query=query, document=document)
            grade = scale[int(random.choice(4, p=(0.5, 0.25, 0.15, 0.1)))]
            Rating.objects.create(pair=pair, rater=rater, grade=grade, created_at=at, changed_at=at)
    collection.touch()
    return collection


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--years", type=int, default=0, help="unchanged years through the database")
    measure_each(parser, "bench.nights", measured, "Django", "pandas", "scipy", "altair", "psycopg")


if __name__ == "__main__":
    main()

"""The first look at a collection's results: from the request to the whole page, cold and warm.

Ten systems, 1,000 queries, 100 documents a ranking, 100,000 ratings. Cold: the server was just started and has
answered a sign-in and a page without numbers. Warm: the same page once more. After a rating: once more, when one
judgment has changed; and *Agreement* and *Compare* likewise. The reference is a page of the same server that
computes nothing.
"""

import argparse
import gzip
import os
from http.client import HTTPConnection
from pathlib import Path

from bench._collection import Shape, synthetic
from bench._engines import measure_each, prepared
from bench._raters import PASSWORD, Browser
from bench._rounds import Side, arguments, goal, measure, table
from bench._served import Server, served

SHAPE, SMALL = Shape(1_000, 100, 10), Shape(100, 50, 3)
RATERS = 2  # each of them rated all 50 judged documents of every query
ANALYST = "overview-analyst"
PAGES = ("", "queries/", "compare/", "differences/", "agreement/")
GOALS = {"cold": "<= 1", "warm": "<= 0.15", "after a rating": "<= 0.25"}
GOALS |= {f"{page} after a rating": "<= 0.25" for page in ("agreement", "compare")}


def made(shape: Shape, data: Path):
    """The collection in the database, with an analyst who can sign in."""
    from django.contrib.auth import get_user_model

    from bench._tables import filled
    from ratings.models import Membership, Role

    collection = filled(synthetic(shape, data), systems=shape.systems, raters=RATERS)
    person = get_user_model().objects.create_user(ANALYST, password=PASSWORD)
    Membership.objects.create(collection=collection, user=person, role=Role.ANALYST)
    return collection


class Analyst:
    """Signed in at a server that may be started again."""

    def __init__(self, server: Server, slug: str) -> None:
        self.server, self.base = server, f"/collections/{slug}/"
        self.browser = Browser(server.address)
        self.browser.sign_in(ANALYST)
        self.cookies = "; ".join(f"{name}={value}" for name, value in self.browser.cookies.items())

    def start_again(self) -> None:
        self.server.kill()
        self.server.start()
        self.server.wait()
        self.bare()

    def page(self, path: str) -> bytes:
        connection = HTTPConnection(*self.server.address, timeout=120)
        connection.request("GET", path, headers={"Cookie": self.cookies, "Accept": "text/html"})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status}")
        return body

    def bare(self) -> None:
        self.page("/accounts/my-data/")

    def overview(self, _=None) -> None:
        self.page(self.base)

    def agreement(self, _=None) -> None:
        self.page(f"{self.base}agreement/")

    def compare(self, _=None) -> None:
        self.page(f"{self.base}compare/")


def rating_of(collection):
    """An act that changes one judgment."""
    from ratings.desk import queue
    from ratings.models import Pair

    rater = collection.raters.order_by("pk").first()
    grades = list(collection.grades.all())
    pairs = iter(list(Pair.objects.filter(query__collection=collection).order_by("document", "pk")[:1_000]))

    def rate() -> None:
        pair = next(pairs)
        own = rater.ratings.select_related("grade").get(pair=pair)
        other = grades[(grades.index(own.grade) + 1) % len(grades)]
        queue.save(rater, pair, queue.Submission(grade=other, base_revision=own.revision))

    return rate


def measured(engine: str, chosen: argparse.Namespace) -> None:
    prepared(static=True)
    from django.db import connection

    import run

    shape = SMALL if chosen.small else SHAPE
    collection = made(shape, chosen.data)
    rate = rating_of(collection)
    log = Path(os.environ["IDEALIST_DATA"]) / f"{engine}.log"
    command = [str(run.PYTHON), "-m", "config.server"]
    with served(lambda port: [*command, f"127.0.0.1:{port}"], log) as server:
        analyst = Analyst(server, collection.slug)
        sides = [
            Side("cold", analyst.start_again, analyst.overview, again=True),
            Side("warm", lambda: None, analyst.overview),
            Side("after a rating", rate, analyst.overview, again=True),
            Side("agreement", analyst.agreement, analyst.agreement),
            Side("agreement after a rating", rate, analyst.agreement, again=True),
            Side("compare after a rating", rate, analyst.compare, again=True),
            Side("a page that computes nothing", lambda: None, lambda _: analyst.bare()),
        ]
        measure(sides, chosen.rounds, 0)
        print(f"**{engine}**: {shape}, {rated(collection):,} ratings\n\n{table(sides, [sides[-1]])}")
        for side in (each for each in sides if each.name in GOALS):
            median = sorted(side.took)[len(side.took) // 2]
            print(goal(f"{side.name}, seconds", median, GOALS[side.name]), end="")
        if engine == "SQLite":
            sizes(analyst)
    connection.close()


def rated(collection) -> int:
    from ratings.models import Rating

    return Rating.objects.filter(rater__collection=collection).count()


def sizes(analyst: Analyst) -> None:
    """Of whole pages with the specifications of their charts; scripts and styles are kept by the browser."""
    print("\n| page | bytes | compressed |\n| --- | ---: | ---: |")
    for path in PAGES:
        body = analyst.page(analyst.base + path)
        print(f"| {path or 'overview'} | {len(body):,} | {len(gzip.compress(body)):,} |")


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    measure_each(parser, "bench.overview", measured, "Django", "pandas", "scipy", "altair", "psycopg")


if __name__ == "__main__":
    main()

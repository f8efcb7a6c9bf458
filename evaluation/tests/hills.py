"""A judged collection whose every number can be worked out by hand.

q1: a = 3, b = 0, c = -1, d = 1. "good" returns a d b, "bad" returns c a.
    DCG@10: good 3 + 1 / log2(3) = 3.630930; bad -1 + 3 / log2(3) = 0.892789. The ideal is a d = 3.630930,
    the worst list is c = -1. nDCG: good 1; bad 1.892789 / 4.630930 = 0.408728; an empty list 1 / 4.630930 =
    0.215939.
q2: b = 2. "good" returns a b: nDCG = 2 / log2(3) / 2 = 0.630930; "bad" has no ranking: 0.
Means of nDCG@10: good 0.815465, bad 0.204364. One of the seven places is a hole: a, for q2.
"""

import csv
import io
import json
import re
from html import unescape

from ratings.models import Rater, Role
from ratings.tests.cast import Imported, grade, make_collection, make_member, make_rankings, record_imported

GRADES = {("q1", "a"): "3", ("q1", "b"): "0", ("q1", "c"): "-1", ("q1", "d"): "1", ("q2", "b"): "2"}
QUERIES = tuple(f"q{n}" for n in range(1, 13))
FIRST = {"best": 12, "near": 10, "fair": 5, "worst": 0}
RANKINGS = {"good": {"q1": "adb", "q2": "ab"}, "bad": {"q1": "ca"}}


def rate(collection, grades: dict[tuple[str, str], str], rater: str = "expert") -> None:
    queries = dict(collection.queries.values_list("key", "pk"))
    documents = dict(collection.documents.values_list("key", "pk"))
    rows = [Imported(queries[q], documents[d], grade(collection, value)) for (q, d), value in grades.items()]
    record_imported(Rater.objects.get_or_create(collection=collection, name=rater)[0], rows)
    collection.touch()


def make_hills(slug: str = "hills", *, grades=GRADES, rankings=RANKINGS, **facts):
    collection = make_collection(slug, **facts)
    make_rankings(collection, rankings)
    rate(collection, grades)
    return collection


def analyst(client, collection, username: str = "ann"):
    """The client, signed in as an analyst of the collection."""
    client.force_login(make_member(collection, username, Role.ANALYST))
    return client


def text_of(response) -> str:
    """The page without its tags, blanks run together: what a reader reads."""
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", response.content.decode(), flags=re.S)
    page = re.sub(r"</?bdi>", "", page)  # names in a sentence: no blank is before its comma
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def make_unjudged(slug: str = "hills"):
    """The collection with q3, which has no judgment: DCG and counts have a value there that counts in no mean.

    "good" returns two documents on each query; "bad" one on q1, none on q2 and three on q3.
    """
    rankings = {"good": {"q1": "ad", "q2": "ab", "q3": "ab"}, "bad": {"q1": "c", "q3": "abc"}}
    return make_hills(slug, queries=("q1", "q2", "q3"), rankings=rankings)


def spec_of(response, name: str) -> dict:
    """The document of a chart of the page."""
    return json.loads(re.search(rf'<script id="{name}"[^>]*>(.*?)</script>', response.content.decode(), re.S)[1])


def rows_in(response) -> list[dict[str, str]]:
    """The rows of a CSV file, by column."""
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))


def make_field(slug: str = "hills", first=FIRST, queries=QUERIES):
    """Of each query a is the better document. first: by system, on how many of the queries it has a first."""
    rankings = {
        name: {query: "ab" if place < n else "ba" for place, query in enumerate(queries)}
        for name, n in first.items()
    }
    grades = {(query, document): grade for query in queries for document, grade in (("a", "3"), ("b", "1"))}
    return make_hills(slug, queries=queries, rankings=rankings, grades=grades)

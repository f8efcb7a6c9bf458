"""Every page, file and number of people's ratings is the same to the last byte beside 10,000 machine grades."""

import re

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evaluation import frozen, scores
from ratings import archive, queue
from ratings.judges import uses
from ratings.models import Collection, Document, JudgeVersion, MachineGrade, Query, Rating, Role
from ratings.tests.cast import grade, make_asked, make_member, make_pair, make_ranking, make_rated_pair, make_rater

pytestmark = [pytest.mark.django_db, pytest.mark.same_everywhere]

READ = [
    "overview", "overview_csv", "overview_json", "compare", "compare_csv", "compare_json", "queries",
    "queries_csv", "queries_json", "agreement", "agreement_csv", "agreement_json",
    "expected", "expected_csv", "expected_json",
    "differences", "differences_csv", "differences_json", "drift", "exports", "export_judgments", "export_ratings",
    "progress", "pool", "holes", "people", "anchors", "adjudicate", "imports",
]  # fmt: skip
OF_QUERY = ["query", "query_csv", "query_json"]
# Pages and files that show expected values where they are asked to.
OF_EXPECTED = {"overview", "overview_csv", "overview_json", "compare_csv", "compare_json"}
# What differs between two answers of the same server.
CHANGING = re.compile(rb'csrfmiddlewaretoken" value="[^"]*"|\d\d:\d\d(:\d\d)?')
GRADES = 10_000


@pytest.fixture
def rated() -> Collection:
    pair, _ = make_rated_pair()
    collection = pair.query.collection
    make_ranking(collection, "bm25", "q2", "abcd")
    boris = make_rater(collection, "boris")
    for document, value in (("a", "1"), ("b", "3"), ("c", "0")):
        queue.save(boris, make_pair(collection, "q1", document), queue.Submission(grade=grade(collection, value)))
    return collection


def everything(collection: Collection, tmp_path, *asked: str) -> dict[str, bytes]:
    """All that admins read and download, by name; `asked` in the addresses of pages with expected values."""
    client = Client()
    client.force_login(collection.memberships.get(role=Role.ADMIN).user)
    found = {}
    for name in READ:
        ending = "?" + "&".join(asked) if asked and name in OF_EXPECTED else ""
        found[name] = client.get(reverse(name, args=[collection.slug]) + ending)
    for name in OF_QUERY:
        found[name] = client.get(reverse(name, args=[collection.slug, collection.queries.first().pk]))
    bodies = {}
    for name, response in found.items():
        assert response.status_code == 200, name
        content = b"".join(response) if response.streaming else response.content
        bodies[name] = CHANGING.sub(b"", content)
    with (tmp_path / "archive.zip").open("w+b") as file:
        bodies["archive"] = archive.write(collection, file).encode()
        file.seek(0)
        bodies["archive file"] = file.read()
    with transaction.atomic():
        made, _ = frozen.freeze(collection, "same", ["nDCG@10"], scores.Setup(scores.options_for(collection)))
        bodies["frozen"] = made.hash.encode()
        transaction.set_rollback(True)
    return bodies


def many(collection: Collection) -> None:
    """Machine grades of pairs that people rated, of the pool, and of pairs that nobody was asked about."""
    run = make_asked(collection, *[pair for query in collection.queries.all() for pair in query.pairs.all()])
    of = {"run": run, "version": run.version, "state": "graded", "value": "3", "at": timezone.now()}
    queries, documents = list(Query.objects.all()), list(Document.objects.all())
    pairs = [(query, document) for query in queries for document in documents]
    MachineGrade.objects.bulk_create(
        (
            MachineGrade(query=query, document=document, repeat=repeat, **of)
            for repeat in range(2, GRADES // len(pairs) + 3)
            for query, document in pairs
        ),
        batch_size=1_000,
    )
    assert MachineGrade.objects.count() >= GRADES


def differing(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    return [name for name in before if before[name] != after[name]]


def test_ten_thousand_machine_grades_change_no_byte(rated, tmp_path):
    make_member(rated, "root", Role.ADMIN)
    before = everything(rated, tmp_path)
    assert differing(before, everything(rated, tmp_path)) == []
    many(rated)
    assert differing(before, everything(rated, tmp_path)) == []


def test_with_a_use_on_only_expected_values_change(rated, tmp_path):
    """No round was drawn here, so that none are shown: every byte is the same."""
    make_member(rated, "root", Role.ADMIN)
    for query, document in (("q1", "d"), ("q2", "a"), ("q2", "b")):
        make_pair(rated, query, document)
    many(rated)
    MachineGrade.objects.filter(repeat=1, document__key="a").update(value=0)
    before = everything(rated, tmp_path)
    asked = ["expected=1", "measure=nDCG@10"]
    expected = everything(rated, tmp_path, *asked)
    for version in JudgeVersion.objects.all():
        uses.switch_on(version, "expected")
    assert differing(before, everything(rated, tmp_path)) == []
    changed = differing(expected, everything(rated, tmp_path, *asked))
    assert changed and set(changed) <= OF_EXPECTED


def test_a_judge_that_wrote_one_rating_would_be_seen(rated, tmp_path):
    """The twin."""
    make_member(rated, "root", Role.ADMIN)
    before = everything(rated, tmp_path)
    many(rated)
    one = Rating.objects.order_by("pk").first()
    Rating.objects.filter(pk=one.pk).update(grade=grade(rated, "-1"))
    rated.touch()
    changed = differing(before, everything(rated, tmp_path))
    assert {"overview", "overview_json", "query", "export_ratings", "archive", "frozen"} <= set(changed)

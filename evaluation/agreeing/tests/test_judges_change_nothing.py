"""Every page, file and number of people's ratings is the same to the last byte beside 10,000 machine grades."""

import io
import re
import zipfile

import pytest
from django.db import transaction
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from evaluation import frozen, scores
from ratings.copies import archive
from ratings.desk import queue
from ratings.judges import uses
from ratings.models import Collection, Document, JudgeVersion, MachineGrade, Query, Role
from ratings.tests.calls import make_caller
from ratings.tests.cast import grade, make_asked, make_member, make_pair, make_ranking, make_rated_pair, make_rater

pytestmark = pytest.mark.django_db

OF_JUDGES = {"judges", "alone_csv", "alone_xlsx", "alone_json"}  # pages and files about machines themselves
OF_ONE = {
    "query": "queries", "query_documents": "queries", "query_csv": "queries", "query_json": "queries",
    "system": "systems", "system_csv": "systems", "system_json": "systems", "document": "documents",
    "rater": "raters", "member": "memberships",
}  # fmt: skip
CALLS = ["", "/queries", "/documents", "/systems", "/ratings", "/drawn", "/unjudged?system=bm25", "/evaluation",
         "/comparison?baseline=bm25", "/judgments"]  # fmt: skip
# Pages and files that show expected values where they are asked to.
OF_EXPECTED = {"overview", "overview_csv", "overview_json", "compare_csv", "compare_json"}
# What differs between two answers of the same server.
CHANGING = re.compile(rb'csrfmiddlewaretoken" value="[^"]*"|\d\d:\d\d(:\d\d)?')
ALONE = re.compile(rb'\n<section class="ruled" id="machine-only">.*?</section>\n', re.DOTALL)
FEW = [*sorted(OF_EXPECTED), "compare", "queries", "agreement", "export_judgments", "export_ratings"]
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


def names() -> list[str]:
    """The names of all addresses of the app that take a collection and nothing else."""
    found = {}

    def walk(patterns, before: str) -> None:
        for each in patterns:
            whole = before + str(each.pattern)
            if hasattr(each, "url_patterns"):
                walk(each.url_patterns, whole)
            elif whole.startswith("collections/<slug:slug>/") and set(each.pattern.converters) == {"slug"}:
                found[each.name] = whole

    walk(get_resolver().url_patterns, "")
    return [name for name in found if name not in OF_JUDGES]


def everything(collection: Collection, tmp_path, *asked: str, few: bool = False) -> dict[str, bytes]:
    """All that admins read and download, by name, or a `few` of it.

    `asked` stands in the addresses of pages with expected values.
    """
    client = Client()
    client.force_login(collection.memberships.get(role=Role.ADMIN).user)
    found = {}
    for name in FEW if few else names():
        ending = "?" + "&".join(asked) if asked and name in OF_EXPECTED else ""
        found[name] = client.get(reverse(name, args=[collection.slug]) + ending)
    for name, rows in OF_ONE.items():
        one = getattr(collection, rows).order_by("pk").first()
        found[name] = client.get(reverse(name, args=[collection.slug, one.pk]))
    found["home"] = client.get(reverse("home"))
    bodies = {}
    for name, response in found.items():
        if response.status_code != 405:  # an act
            content = b"".join(response) if response.streaming else response.content
            if name.endswith("_xlsx") and response.status_code == 200:  # the workbook has the time, its sheet not
                content = zipfile.ZipFile(io.BytesIO(content)).read("xl/worksheets/sheet1.xml")
            bodies[name] = CHANGING.sub(b"", content)
    with transaction.atomic():  # of the token no page is to tell
        caller = make_caller(collection.memberships.get(role=Role.ADMIN).user, collection, "read")
        for call in CALLS:
            answer = caller.get(f"/collections/{collection.slug}{call}")
            assert answer.status_code == 200, (call, answer.content)
            bodies[f"API {call}"] = answer.content
        transaction.set_rollback(True)
    with (tmp_path / "archive.zip").open("w+b") as file:
        bodies["archive"] = archive.write(collection, file).encode()
        file.seek(0)
        bodies["archive file"] = file.read()
    with transaction.atomic():
        made, _ = frozen.freeze(collection, "same", scores.Asked.of(collection))
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


@pytest.mark.slow
def test_ten_thousand_machine_grades_change_no_byte(rated, tmp_path):
    """With columns and triage on, Overview and Compare have a part for the machine, and are else the same."""
    make_member(rated, "root", Role.ADMIN)
    before = everything(rated, tmp_path)
    assert len(before) > 60 and {"overview", "export_ratings", "people", "API /drawn"} <= set(before)
    many(rated)
    assert differing(before, everything(rated, tmp_path)) == []
    for version in JudgeVersion.objects.all():
        uses.switch_on(version, "alone")
        uses.switch_on(version, "triage")
    after = everything(rated, tmp_path)
    assert set(differing(before, after)) == {"overview", "compare"}
    for page in ("overview", "compare"):
        after[page], parts = ALONE.subn(b"", after[page])
        assert parts == 1
    assert differing(before, after) == []


@pytest.mark.slow
def test_with_a_use_on_only_expected_values_change(rated, tmp_path):
    """No round was drawn here, so that none are shown: every byte is the same."""
    make_member(rated, "root", Role.ADMIN)
    for query, document in (("q1", "d"), ("q2", "a"), ("q2", "b")):
        make_pair(rated, query, document)
    many(rated)
    MachineGrade.objects.filter(repeat=1, document__key="a").update(value=0)
    before = everything(rated, tmp_path, few=True)
    asked = ["expected=1", "measure=nDCG@10"]
    expected = everything(rated, tmp_path, *asked, few=True)
    for version in JudgeVersion.objects.all():
        uses.switch_on(version, "expected")
    assert differing(before, everything(rated, tmp_path, few=True)) == []
    changed = differing(expected, everything(rated, tmp_path, *asked, few=True))
    assert changed and set(changed) <= OF_EXPECTED

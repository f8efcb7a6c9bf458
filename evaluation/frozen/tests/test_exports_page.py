"""The page from which everything can be taken out, and the files that it gives."""

import io
import threading
import zipfile
from hashlib import sha256

import pyarrow.parquet
import pytest
from django.db import connection
from django.urls import reverse

from evaluation import record
from evaluation.frozen.views import exports
from ratings.copies import archive
from ratings.desk import queue
from ratings.formats import spreadsheet
from ratings.formats.source import BOM, Source
from ratings.importing import intake
from ratings.models import Collection, Rater, Role
from ratings.people.names import pseudonym
from ratings.pool import rounds
from ratings.tests.cast import (
    NOW,
    grade,
    make_collection,
    make_member,
    make_pair,
    make_ranking,
    make_rater,
    make_round,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "abc")
    make_ranking(collection, "-dense", "q2", "cb")
    for name, value in (("zoe", "2"), ("abel", "1")):
        pair = make_pair(collection, "q1", "a", wanted=2)
        queue.save(
            make_rater(collection, name),
            pair,
            queue.Submission(grade=grade(collection, value), comment="=1+1"),
            now=NOW,
        )
    return collection


@pytest.fixture
def visit(client, collection):
    """Get an export as an analyst or as an admin."""

    def get(name: str, role: str = Role.ANALYST, **asked):
        client.force_login(make_member(collection, role, role) if role not in seen else seen[role])
        seen[role] = collection.memberships.get(role=role).user
        return client.get(reverse(name, args=["hills"]), asked)

    seen: dict = {}
    return get


def body(response) -> bytes:
    assert response.status_code == 200
    return b"".join(response.streaming_content)


def name_of(response) -> str:
    return response["Content-Disposition"].partition("filename=")[2].strip('"')


def test_judgments_come_by_the_rule_and_their_name_tells_the_version(visit, collection):
    collection.touch()
    version = record.version(collection).number
    response = visit("export_judgments")
    assert body(response) == b"\xef\xbb\xbfquery,document,grade\r\nq1,a,1.5\r\n"
    assert name_of(response) == f"hills-judgments-mean-v{version}.csv"
    assert response["Idealist-Snapshot"] == f"hills v{version}"
    assert body(visit("export_judgments", rule="max", format="trec-qrels")) == b"q1 0 a 2\n"


@pytest.mark.parametrize(
    ("view", "options", "has_mark"),
    [
        ("export_judgments", {}, True),
        ("export_judgments", {"raw": "on"}, False),
        ("export_judgments", {"format": "quepid-csv"}, False),
        ("export_rounds", {}, True),
        ("export_rounds", {"raw": "1"}, False),
    ],
)
def test_only_a_csv_for_spreadsheets_begins_with_a_byte_order_mark(visit, view, options, has_mark):
    """Excel garbles a file without it; programs take it for a part of the first name."""
    content = body(visit(view, **options))
    assert content.startswith(BOM) == has_mark and content.count(BOM) == has_mark


def test_what_a_format_cannot_hold_is_refused_and_can_be_mapped(visit):
    for asked in ({"format": "trec-qrels"}, {"map": "x"}, {"format": "pdf"}, {"rule": "best"}):
        assert visit("export_judgments", **asked).status_code == 400
    assert body(visit("export_judgments", format="trec-qrels", map="1.5=2")) == b"q1 0 a 2\n"


def test_a_run_is_that_of_its_system(visit, collection):
    system = collection.systems.get(name="-dense")
    assert f'<option value="{system.pk}">-dense</option>' in visit("exports").content.decode()
    response = visit("export_run", system=system.pk)
    assert body(response) == b"q2 Q0 c 1 2.0 -dense\nq2 Q0 b 2 1.0 -dense\n"
    assert name_of(response).startswith("hills-run--dense-v")
    assert b"'-dense" in body(visit("export_run", system=system.pk, format="csv"))
    assert b"'-dense" not in body(visit("export_run", system=system.pk, format="csv", raw="on"))
    assert visit("export_run").status_code == 400
    other = make_ranking(make_collection("sea"), "theirs", "q1", "a").system
    assert visit("export_run", system=other.pk).status_code == 400


def test_only_admins_get_the_names_of_raters(visit):
    named = body(visit("export_ratings", Role.ADMIN)).decode()
    hidden = body(visit("export_ratings")).decode()
    assert [line.split(",")[2] for line in named.splitlines()[1:]] == ["abel", "zoe"]
    pseudonyms = sorted(pseudonym(pk) for pk in Rater.objects.values_list("pk", flat=True))
    assert [line.split(",")[2] for line in hidden.splitlines()[1:]] == pseudonyms
    assert "'=1+1" in named
    assert "=1+1" in body(visit("export_ratings", Role.ADMIN, raw="1")).decode().replace("'=1+1", "")


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_every_format_that_holds_ratings_comes_back(visit, format):
    content = body(visit("export_ratings", Role.ADMIN, format=format))
    if format == "parquet":
        assert pyarrow.parquet.read_table(io.BytesIO(content)).num_rows == 2
    there = make_collection("there")
    report = intake.import_ratings(there, [Source(f"ratings.{format}", io.BytesIO(content))])
    assert (report.refused, report.counts["new"]) == (0, 2)


def test_the_archive_is_that_of_the_command_and_says_its_snapshot(visit, collection):
    response = visit("export_archive", Role.ADMIN)
    content, out = body(response), io.BytesIO()
    snapshot = archive.write(collection, out)
    assert sha256(content).digest() == sha256(out.getvalue()).digest()
    assert response["Idealist-Snapshot"] == snapshot
    assert name_of(response) == f"hills-{snapshot[:12]}.zip"
    assert response["Content-Encoding"] == "identity"
    assert "ratingevent.jsonl" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert visit("export_archive").status_code == 404


def test_rounds_come_as_csv(visit, collection):
    make_round(collection, [make_pair(collection, "q1", "a"), make_pair(collection, "q2", "c")], greedy=1)
    response = visit("export_rounds")
    content = body(response).decode("utf-8-sig")
    assert name_of(response) == f"hills-rounds-v{record.version(collection).number}.csv"
    assert content.count("\r\n") == 3
    assert "".join(spreadsheet.written(rounds.table(collection), raw=False)) == content


def test_the_page_offers_what_the_reader_may_have(visit, client, django_assert_max_num_queries):
    assert "Download the archive" not in visit("exports").content.decode()
    address = visit("exports", Role.ADMIN).request["PATH_INFO"]
    with django_assert_max_num_queries(8):  # of the page alone: to sign in takes others
        assert "Download the archive" in client.get(address).content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("guarded", [True, False])
def test_a_table_is_of_one_moment_while_raters_write(visit, collection, monkeypatch, guarded):
    """Ratings of the second query that come while the first is written are not in the file; unguarded they are."""
    alice, late = make_rater(collection, "late"), make_pair(collection, "q2", "b")
    version = record.version(collection).number
    read = exports.record_rows.ratings

    def save() -> None:
        try:
            queue.save(alice, late, queue.Submission(grade=grade(collection, "3")), now=NOW)
        finally:
            connection.close()

    def ratings(*given):
        rows = read(*given)
        yield next(rows)
        writer = threading.Thread(target=save)
        writer.start()
        writer.join(30)
        assert not writer.is_alive(), "raters wait for the export"
        yield from rows

    monkeypatch.setattr(exports.record_rows, "ratings", ratings)
    if not guarded:
        monkeypatch.setattr(exports, "snapshot", threading.Lock)
    response = visit("export_ratings", Role.ADMIN, format="jsonl")
    assert body(response).count(b"\n") == (2 if guarded else 3)
    assert f"-v{version}." in name_of(response)
    assert record.version(collection).number > version

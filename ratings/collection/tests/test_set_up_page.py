"""The page of what a collection still lacks: each stage with its state, the next one, and sample files."""

import re
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django_tasks_db.management.commands import db_worker

from ratings.collection import making, scales, stages
from ratings.desk import queue
from ratings.importing import samples, signs
from ratings.management.commands.work import work
from ratings.models import Collection, Job, Role
from ratings.pool import pooling
from ratings.presentation import versions as presentation
from ratings.presentation.guidelines import versions
from ratings.presentation.proposal import WEB_PAGE
from ratings.tests.cast import (
    NOW,
    grade,
    make_collection,
    make_member,
    make_pair,
    make_ranking,
    make_rater,
    make_user,
    signed_in,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def new():
    """Just made by dora, with nothing in it but a scale and guidelines."""
    preset = scales.PRESET_BY_NAME["graded"]
    return making.make("hills", "Hills", preset.steps, relevant_from=preset.relevant_from, by=make_user("dora"))


@pytest.fixture
def client(new) -> Client:
    return signed_in(new.memberships.get().user)


def address(name: str = "set_up", *arguments) -> str:
    return reverse(name, args=["hills", *arguments])


def shown(client: Client):
    response = client.get(address())
    assert response.status_code == 200
    return response


def states(collection: Collection) -> dict[str, str]:
    return {stage["name"]: stage["state"] for stage in stages.stages(collection)}


def filled(collection: Collection) -> None:
    """Queries, documents and a run."""
    for key in ("q1", "q2"):
        collection.queries.create(key=key, text=key)
    for key in "abc":
        collection.documents.create(key=key, title=key)
    make_ranking(collection, "bm25", "q1", "abc")
    make_ranking(collection, "bm25", "q2", "a")


# The stages


def test_of_a_new_collection_scale_and_guidelines_are_done_and_queries_come_next(client, new):
    response = shown(client)
    assert [stage["name"] for stage in stages.stages(new) if stage["done"]] == ["scale", "guidelines"]
    assert "2 of 8 steps are done." in response.content.decode()
    assert response.context["next"]["name"] == "queries"
    assert f'class="btn main" href="{address("imports")}?kind=queries"' in response.content.decode()
    assert 'value="queries" id="id_kind_1" checked' in client.get(address("imports"), {"kind": "queries"}).text


def test_the_pool_has_its_cost(client, new):
    filled(new)
    page = shown(client).content.decode()
    (system,) = new.systems.all()
    asked = f"?depth=10&amp;wanted=1&amp;systems={system.pk}#plan"
    assert f'href="{address("pool")}{asked}"' in page
    pooling.pool(new, depth=10, wanted=3)
    assert states(new)["pool"] == "12 ratings requested; the hours are known after some grades."
    rater = make_rater(new, "anna")
    task = queue.claim(rater, now=NOW)[0]
    queue.save(rater, task.pair, queue.Submission(grade=grade(new, "2"), seconds=60.0), now=NOW)
    assert states(new)["pool"] == "11 ratings requested, about 11 minutes."


# The navigation


LINK = '<a class="nowrap" href="/collections/hills/set-up/">Set up</a>'


def test_the_navigation_of_admins_has_it_until_all_is_done(client, new):
    make_member(new, "anton", Role.ANALYST)
    analyst = signed_in(new.memberships.get(role=Role.ANALYST).user)
    for name in ("overview", "imports", "progress"):
        assert LINK in client.get(address(name)).content.decode()
    assert LINK not in analyst.get(address("overview")).content.decode()
    assert analyst.get(address()).status_code == 404
    filled(new)
    presentation.publish(new, WEB_PAGE, base=0)
    pooling.pool(new, depth=10, wanted=1)
    assert LINK in client.get(address("progress")).content.decode()
    make_rater(new, "anna")
    assert LINK not in client.get(address("progress")).content.decode()


def everything(slug: str, *, but: str = "") -> Collection:
    """A collection with something of each stage, or without one of them and what rests on it."""
    collection = make_collection(slug, **({but: ()} if but in ("queries", "documents") else {}))
    if but == "scale":
        collection.grades.all().delete()
    if but not in ("queries", "documents", "runs"):
        make_ranking(collection, "bm25", "q1", "ab")
    if but not in ("queries", "documents", "pool"):
        make_pair(collection)
    if but != "guidelines":
        versions.publish(collection, "Read twice.\n", base=0)
    if but != "presentation":
        presentation.publish(collection, WEB_PAGE, base=0)
    if but != "people":
        make_rater(collection, f"anna of {slug}")
    return collection


@pytest.mark.both_databases
@pytest.mark.parametrize("lacks", stages.STAGE_NAMES)
def test_a_stage_is_done_if_there_is_anything_of_it_and_no_other_collection_counts(lacks):
    hills, sea = everything("hills", but=lacks), everything("sea")
    rest = {"runs", "pool"} if lacks in ("queries", "documents") else set()
    assert {name for name, there in stages.done(hills).items() if not there} == {lacks} | rest
    assert stages.unfinished(hills) and not stages.unfinished(sea)


# How often the database is asked


def test_the_number_of_database_queries_is_pinned(client, new, django_assert_num_queries):
    filled(new)
    with django_assert_num_queries(18):
        shown(client)
    for key in ("q3", "q4", "q5"):
        new.queries.create(key=key, text=key)
        make_ranking(new, "dense", key, "cba")
        make_rater(new, f"rater of {key}")
    with django_assert_num_queries(18):
        shown(client)
    with django_assert_num_queries(1):  # of the navigation
        assert stages.unfinished(new)


# Sample files


@pytest.fixture
def desk(settings, tmp_path, monkeypatch) -> None:
    """A folder for what is sent, and a worker that is called by hand."""
    settings.DATA_DIR = tmp_path
    signs.show_worker()
    monkeypatch.setattr(db_worker, "close_old_connections", lambda: None)


def kind_of(sample: str) -> str:
    return next(kind for kind, names in samples.NAMES.items() if sample in names)


def bring(client: Client, name: str) -> dict:
    """Download a sample, send it as it is, and import it; the counts of the import."""
    response = client.get(address("sample", name))
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    file = SimpleUploadedFile(name, b"".join(response.streaming_content))
    client.post(address("send_files"), {"kind": "", "files": file})
    work()
    job = Job.objects.first()
    assert (job.kind, job.state) == (kind_of(name), Job.State.CHECKED), job.report
    client.post(address("start_import", job.pk))
    work()
    job.refresh_from_db()
    assert job.state == Job.State.PUBLISHED and not job.report.get("warnings")
    return job.report["counts"]


@pytest.mark.parametrize("sample", samples.ALL_NAMES)
def test_every_sample_imports_as_it_is(client, desk, sample):
    kind = kind_of(sample)
    if kind in ("results", "ratings"):
        assert bring(client, "queries.csv")["new"] == 3
        assert bring(client, "documents.csv")["new"] == 5
    expected = {"queries": 3, "documents": 5, "results": 6, "ratings": 4 if sample.endswith(".qrels") else 5}
    assert bring(client, sample)["new"] == expected[kind]


@pytest.mark.parametrize("preset", scales.PRESETS, ids=lambda preset: preset.name)
def test_samples_of_ratings_have_grades_of_the_scale(preset):
    lines = samples.content("judgments.qrels", preset.values).decode().splitlines()
    assert {Decimal(line.split()[3]) for line in lines} == {min(preset.values), max(preset.values)}
    # Without a scale they bring 0 and 1.
    assert samples.content("judgments.qrels", []).splitlines()[1] == b"q1 0 d2 0"


def test_the_samples_stand_beside_their_stages_and_no_other_file_is_given(client):
    page = shown(client).content.decode()
    links = re.findall(r'href="/collections/hills/set-up/samples/([^"]+)" download>', page)
    assert links == [name for name in samples.ALL_NAMES if kind_of(name) != "ratings"]
    assert client.get(address("sample", "stages.py")).status_code == 404
    assert sorted(path.name for path in samples.FOLDER.iterdir()) == sorted(samples.ALL_NAMES)

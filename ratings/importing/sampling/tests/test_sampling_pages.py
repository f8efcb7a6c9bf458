"""The pages of logs and samples, from an empty collection to a larger sample."""

import csv
import io
import zipfile

import pytest
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from ratings.importing import jobs
from ratings.importing.sampling.tests.test_samples import BIG, LOG
from ratings.models import Collection, Job, Role, Sample
from ratings.tests.cast import make_collection, make_member, make_sample, signed_in, text

pytestmark = [pytest.mark.django_db]


@pytest.fixture(autouse=True)
def own_folder(settings, tmp_path) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def collection() -> Collection:
    return make_collection(queries=())


@pytest.fixture
def admin(collection):
    return signed_in(make_member(collection, "admin", Role.ADMIN))


def address(name: str, pk: int | None = None) -> str:
    return reverse(name, args=["hills", *([pk] if pk else [])])


def worked(pk: int) -> Job:
    """The job, after a worker has done it."""
    jobs.look_at.call(pk)
    return Job.objects.get(pk=pk)


def sent(admin, content: str | bytes = BIG, name: str = "searches.csv") -> Job:
    file = SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)
    answer = admin.post(address("send_log"), {"files": [file]})
    assert answer.status_code == 302
    return worked(Job.objects.order_by("pk").last().pk)


def acted(admin, name: str, pk: int, **data) -> str:
    """What the page says to which an act leads."""
    answer = admin.post(address(name, pk), data, follow=True)
    assert answer.status_code == 200, text(answer)
    return text(answer)


def shown(admin, name: str, pk: int | None = None) -> str:
    answer = admin.get(address(name, pk))
    assert answer.status_code == 200
    return text(answer)


FIGURES = "Clicks,Impressions,CTR,Position"
CONSOLE = {  # the files of an export of Google's Search Console
    "Countries": f"Country,{FIGURES}\nGermany,9,400,2%,3.1\n",
    "Dates": f"Date,{FIGURES}\n2026-05-01,9,400,2%,3.1\n",
    "Devices": f"Device,{FIGURES}\nMobile,9,400,2%,3.1\n",
    "Filters": "Filter,Value\nSearch type,Web\nDate,Last 3 months\n",
    "Pages": f"Top pages,{FIGURES}\nhttps://shop.example/,9,400,2%,3.1\n",
    "Queries": f"Top queries,{FIGURES}\nred shoes,7,300,2%,3.1\ntent,2,100,2%,4.2\n",
    "Search appearance": f"Search Appearance,{FIGURES}\n",
}


def test_of_the_files_of_a_search_console_the_one_with_queries_is_read(admin):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in CONSOLE.items():
            archive.writestr(f"{name}.csv", content)
    job = sent(admin, packed.getvalue(), "console.zip")
    (refusal,) = job.report["refusals"]
    assert refusal["file"].endswith("Queries.csv") and "may say how often" in refusal["problem"]
    columns = admin.get(address("log_job", job.pk)).context["read"].columns
    assert [name for name, _ in columns] == ["Top queries", *FIGURES.split(",")]
    acted(admin, "check_log", job.pk, column_0="text", column_2="count")
    job = worked(job.pk)
    assert (job.report["refused"], job.report["log"]["searches"], job.report["log"]["queries"]) == (0, 400, 2)
    (warning,) = job.report["warnings"]
    assert [name for name in CONSOLE if f"/{name}.csv" not in warning] == ["Queries"]


DESIGN = {"size": 50, "method": "proportional", "share_0": 1, "share_1": 1, "share_2": 1, "days": "May 2026"}


def test_from_an_empty_collection_to_queries_and_then_to_more(admin, collection):
    assert "None yet." in shown(admin, "sampling")
    job = sent(admin)
    page = shown(admin, "log_job", job.pk)
    assert page.count("searches for 300 different queries") == 1
    assert "What a sample would say" in page and "±0.0" in page
    assert not Sample.objects.exists()
    acted(admin, "draw_log", job.pk, **DESIGN, seed=7)
    assert worked(job.pk).state == "published"
    page = shown(admin, "log_job", job.pk)
    assert "Sample 1: 50 queries drawn by number of searches, with the seed 7." in page
    assert list(storages["uploads"].entries()) == []  # the log is deleted
    sample = collection.samples.get()
    assert (sample.log, sample.days, sample.job, collection.queries.count()) == (
        *("searches.csv", "May 2026", job),
        50,
    )
    page = shown(admin, "sampled", sample.pk)
    assert "50 queries that stand for" in page and "query 1" in page
    again = sent(admin)
    assert "This is the log of sample 1" in shown(admin, "log_job", again.pk)
    acted(admin, "draw_more", again.pk, size=150)
    assert worked(again.pk).state == "published"
    assert collection.samples.last().former == sample
    assert "A later sample took its place." in shown(admin, "sampled", sample.pk)
    page = acted(admin, "undo_job", again.pk)
    assert "Undone." in page
    assert collection.queries.count() == 50


def test_a_search_console_export_asks_which_column_counts(admin):
    job = sent(admin, "Top queries,Clicks,Impressions\nred shoes,4,40\ntent,1,2\n", "Queries.csv")
    page = shown(admin, "log_job", job.pk)
    assert "say that “Impressions” holds the count." in page
    assert "Draw queries" not in page
    columns = {"column_0": "text", "column_1": "", "column_2": "count"}
    acted(admin, "check_log", job.pk, **columns)
    assert worked(job.pk).report["log"]["searches"] == 42
    assert '<option value="count" selected>' in admin.get(address("log_job", job.pk)).content.decode()


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"column_0": "text", "column_1": "text"}, "Two columns are chosen for the query: “query” and “count”."),
        ({"column_1": "count"}, "Say which column holds the query."),
        ({"column_0": "text", "encoding": "klingon"}, "klingon"),
    ],
)
def test_columns_that_cannot_be_are_refused_on_the_form(admin, columns, problem):
    job = sent(admin)
    answer = admin.post(address("check_log", job.pk), columns)
    assert answer.status_code == 400
    assert problem in text(answer)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"size": 0}, "greater than or equal to 1"),
        ({"method": "strata", "share_0": 0, "share_1": 0, "share_2": 0}, "Give at least one stratum a share."),
        ({"seed": -1}, "greater than or equal to 0"),
    ],
)
def test_designs_that_cannot_be_are_refused_on_the_form(admin, changed, problem):
    job = sent(admin)
    answer = admin.post(address("draw_log", job.pk), DESIGN | changed)
    assert answer.status_code == 400
    assert problem in text(answer)


def test_strata_of_a_column_have_shares_of_their_own(admin, collection):
    job = sent(admin, "query,count,market\na,9,de\nb,1,de\nc,1,de\nd,5,fr\n")
    acted(admin, "check_log", job.pk, column_0="text", column_1="count", column_2="stratum")
    worked(job.pk)
    page = shown(admin, "log_job", job.pk)
    assert "de" in page and "…in thirds" not in page
    acted(admin, "draw_log", job.pk, size=3, method="strata", share_0=2, share_1=1)
    worked(job.pk)
    assert [entry["size"] for entry in collection.samples.get().strata] == [2, 1]
    assert "2 of 3 queries, 11 searches" in shown(admin, "sampled", collection.samples.get().pk)


def test_a_cancelled_log_is_deleted(admin):
    job = sent(admin, LOG, "log.csv")
    assert "Cancelled." in acted(admin, "cancel_job", job.pk)
    assert list(storages["uploads"].entries()) == []
    assert "log.csv" not in shown(admin, "imports")


def test_a_log_larger_than_its_limit_is_refused_and_more_logs_wait_for_room(admin, settings):
    settings.LARGEST_UPLOAD, settings.LARGEST_LOG, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000, 100_000, 1_000
    settings.SMALL_BODY = 100
    answer = admin.post(address("send_log"), {"files": [SimpleUploadedFile("a.csv", b"x" * 100_001)]})
    assert answer.status_code == 413
    assert "IDEALIST_LARGEST_LOG" in text(answer)
    sent(admin, "a" * 60_000)
    answer = admin.post(address("send_log"), {"files": [SimpleUploadedFile("b.csv", b"b" * 60_000)]})
    assert answer.status_code == 400
    assert "on the page Queries from a log first" in text(answer)


def test_an_admin_takes_in_what_was_held_back_or_leaves_it_out(admin, collection):
    job = sent(admin, LOG)
    acted(admin, "draw_log", job.pk, **DESIGN | {"size": 5})
    assert "1 query that looks personal is held back." in str(worked(job.pk).report["warnings"])
    sample = collection.samples.get()
    row = sample.drawn.get(left_out="held")
    page = shown(admin, "sampled", sample.pk)
    assert "1 waits for you" in page and "an e-mail address" in page
    assert "Taken in" in acted(admin, "decide_sampled", sample.pk, place=row.place, reason="")
    page = acted(admin, "decide_sampled", sample.pk, place=row.place, reason="personal")
    assert "Left out, and still counted among the drawn." in page
    assert "erased" in page and "anna@example.org" not in page
    assert "Choose a query" in acted(admin, "decide_sampled", sample.pk, place=row.place, reason="held")
    assert admin.post(address("decide_sampled", sample.pk), {"place": 999}).status_code == 404


def test_the_csv_has_every_drawn_query_and_no_text_that_is_held_back(collection):
    collection.queries.create(key="q1", text="=red shoes")
    sample = make_sample(collection, [("q1", 9, 1), ("", 2, 0.5)])
    analyst = signed_in(make_member(collection, "analyst", Role.ANALYST))
    answer = analyst.get(address("sampled_csv", sample.pk))
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))
    assert [(row["query"], row["text"], row["count"], row["chance"], row["left_out"]) for row in rows] == [
        ("q1", "'=red shoes", "9", "1.0", ""),
        ("", "", "2", "0.5", "held"),
    ]
    assert rows[0]["searches"] == "11"

"""The import desk: a file is sent, checked, shown, imported, cancelled, undone, and mended where it is refused."""

import time
from html import unescape

import pytest
from django.core.cache import cache
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_tasks_db.management.commands import db_worker

from ratings.importing import jobs, preview, signs, uploads
from ratings.importing.intake import report
from ratings.management.commands.work import work
from ratings.models import Job, Ranking, Rating, RatingEvent, Role
from ratings.models.job import LEASE
from ratings.tests.cast import make_collection, make_member, signed_in

from .test_jobs import RUN

pytestmark = pytest.mark.django_db

RATINGS = "q_id,docid,who,label\nq1,a,Ann,3\nq1,b,Ann,7\nq2,a,Ben,0\nq2,b,Ben,good\nq2,c,Ben,1\n"


@pytest.fixture(autouse=True)
def own_folder(settings, tmp_path, monkeypatch) -> None:
    settings.DATA_DIR = tmp_path
    signs.show_worker()
    monkeypatch.setattr(db_worker, "close_old_connections", lambda: None)


@pytest.fixture
def collection():
    return make_collection()


@pytest.fixture
def admin(collection) -> Client:
    return signed_in(make_member(collection, "ada", Role.ADMIN))


def send(client: Client, kind: str, *files: tuple[str, bytes | str]):
    sent = [SimpleUploadedFile(name, text if isinstance(text, bytes) else text.encode()) for name, text in files]
    return client.post("/collections/hills/import/send/", {"kind": kind, "files": sent})


def sent(client: Client, kind: str, text: bytes | str, name: str = "file") -> Job:
    """Sent and checked."""
    response = send(client, kind, (name, text))
    job = Job.objects.first()
    assert response.url == reverse("import_job", args=["hills", job.pk])
    work()
    return Job.objects.get(pk=job.pk)


def page(client: Client, job: Job, status: int = 200) -> str:
    response = client.get(reverse("import_job", args=["hills", job.pk]))
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def act(client: Client, name: str, job: Job, data: dict | None = None, status: int = 302):
    response = client.post(reverse(name, args=["hills", job.pk]), data or {})
    assert response.status_code == status
    return response


def checked(client: Client, job: Job, kind: str, **how: str) -> Job:
    """Checked once more, as somebody says on its page."""
    act(client, "check_import", job, {"kind": kind} | how)
    work()
    return Job.objects.get(pk=job.pk)


def imported(client: Client, job: Job, **how: str) -> Job:
    act(client, "start_import", job, how)
    work()
    return Job.objects.get(pk=job.pk)


def refusals_of(job: Job) -> list[tuple[str, int]]:
    return [(refusal["file"], refusal["line"]) for refusal in job.report["refusals"]]


def test_two_files_of_one_system_are_refused_and_the_page_offers_what_they_can_be(admin, collection):
    send(admin, "results", ("one.run", "q1 Q0 a 1 1 Anserini\n"), ("two.run", "q1 Q0 b 1 1 Anserini\n"))
    work()
    job = Job.objects.get()
    html = page(admin, job)
    assert "The system Anserini is in one.run, too." in html and "--system" not in html
    how = {"system_from": "file"}
    act(admin, "check_import", job, how | {"kind": "results", "system": "x"}, status=400)
    imported(admin, checked(admin, job, "results", **how))
    assert sorted(collection.systems.values_list("name", flat=True)) == ["one.run", "two.run"]


def test_a_run_is_sent_shown_imported_and_undone(admin, collection):
    job = sent(admin, "results", RUN, "bm25.run")
    html = page(admin, job)
    assert "bm25: 2 rankings with 3 results; 2 new" in html and "1 document was not known" in html
    assert '<td dir="auto">q1</td><td dir="auto">x</td><td dir="auto">1</td><td dir="auto">3.5</td>' in html
    assert not Ranking.objects.exists()
    assert imported(admin, job).by.username == "ada" and Ranking.objects.count() == 2
    act(admin, "undo_job", job)
    assert not Ranking.objects.exists()
    assert "undone" in admin.get("/collections/hills/import/").content.decode()


@pytest.mark.parametrize(
    ("kind", "text", "fact"),
    [
        ("queries", "q9\tnew\n", "1 query: 1 new, 0 changed, 0 unchanged."),
        ("documents", '{"id": "z", "title": "new"}\n', "1 document: 1 new, 0 changed, 0 unchanged."),
        ("results", RUN, "bm25: 2 rankings with 3 results; 2 new, 0 unchanged."),
        ("ratings", "q1 0 a 1\n", "1 rating from ratings: 1 new, 0 changed, 0 unchanged."),
    ],
)
def test_an_import_and_what_it_did_appear_together(admin, collection, monkeypatch, kind, text, fact):
    """Its worker dies as soon as the rows are published."""
    job = sent(admin, kind, text)
    act(admin, "start_import", job)
    monkeypatch.setattr(jobs, "_store", lambda job, report: None)
    work()
    html = page(admin, job)
    assert "It is in the record" in html and "Only refused lines" not in html
    assert fact in html


def test_what_waits_says_for_what(admin, collection):
    send(admin, "results", ("bm25.run", RUN))
    waiting = Job.objects.filter(kind="results")
    told = reverse("job_progress", args=["hills", waiting.get().pk])
    assert admin.get(told).json()["waits"] == "It waits for a worker."
    other = Job.objects.create(collection=collection, kind="queries", state="running", beat_at=timezone.now())
    assert "the worker is busy with something else" in admin.get(told).json()["waits"]
    Job.objects.filter(pk=other.pk).update(beat_at=timezone.now() - 2 * LEASE)
    assert admin.get(told).json()["waits"] == "It waits for a worker.", "the other one is dead"
    signs.show_step(other, signs.Step("writing", None, 1))
    assert "the worker is busy with something else" in admin.get(told).json()["waits"], "it gave a sign"
    waiting.update(state="running")
    assert admin.get(told).json()["waits"] == ""


def test_without_a_worker_every_page_says_so_and_so_does_the_log(admin, collection, settings, caplog):
    def told(address: str = "/collections/hills/import/") -> bool:
        return "There is no worker" in admin.get(address).content.decode()

    assert not told()
    cache.set(signs.WORKER_KEY, time.time() - LEASE.total_seconds() - 1)
    assert told()
    own = send(admin, "results", ("bm25.run", RUN)).url
    assert f"Job {Job.objects.get().pk} waits" in caplog.text and told(own)
    # One that was at work when its worker died waits, too; one of which somebody was heard does not.
    for beat, waits in ((timezone.now() - 2 * LEASE, True), (timezone.now(), False)):
        Job.objects.update(state="running", beat_at=beat)
        assert told(own) is waits
    cache.delete(signs.WORKER_KEY)
    assert told()


RUNS = "query\titem\tplace\nfog\ta\t1\nfog\tb\t2\nhill\ta\t1\n"
PRODUCTS = "id,title,brand,price,image url\nd1,Red shoe,Ace,9.5,x.png\nd2,Hat,Bo,3,y.png\n"
EVERYTHING = "query,product_id,title,grade\nfog,d1,Lamp,3\nhill,d1,Lamp,0\n"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("notes.txt", "Some words.\n", "Some words."),
        ("runs.tsv", RUNS, "item"),
        ("runs.tsv", "q1\td1\t1\nq2\td7\t1\n", "d7"),
        ("products.csv", PRODUCTS, "image url"),
        ("all.csv", EVERYTHING, "Lamp"),
        ("words.csv", "query\nred shoes\n", "red shoes"),
    ],
)
def test_what_a_file_does_not_show_is_asked_and_the_file_is_kept(admin, collection, name, text, shown):
    send(admin, "", (name, text))
    job = Job.objects.get()
    html = page(admin, job)
    assert job.needs_kind and shown in html and 'id="will"' not in html
    assert len(list(uploads.folder().iterdir())) == 1
    assert imported(admin, job).state == "checked" and collection.queries.count() == 2
    act(admin, "check_import", job, {}, 400)
    job = checked(admin, job, "documents")
    assert (job.kind, job.state) == ("documents", "checked")
    act(admin, "cancel_job", job)
    assert not list(uploads.folder().iterdir())


def test_the_page_has_columns_for_json_lines_with_other_names(admin, collection):
    job = sent(admin, "documents", '{"objectID": "a 1", "name": "Shoe"}\n{"objectID": "z", "price": 4}\n')
    assert "Choose the id column to continue" in page(admin, job)
    columns = {"column_0": "id", "column_1": "title", "column_2": "fields"}
    job = checked(admin, job, "documents", **columns)
    assert "ids with blanks have %20 for each" in page(admin, job)
    act(admin, "start_import", job)
    work()
    assert set(collection.documents.values_list("key", "title")) >= {("a%201", "Shoe"), ("z", "")}


def test_the_page_names_a_title_quotation_marks_and_pairs_rated_again(admin, collection):
    job = sent(
        admin, "ratings", 'Judgments\nquery,docid,comment,rating\nq1,a,"big" shoe,3\nq1,a,"x" y,0\n', "t.csv"
    )
    assert "choose “a title: line 2 names the columns” under “First line of a table”" in page(admin, job)
    how = {"header": "2", "rater": "r"}
    job = checked(admin, job, "ratings", **how)
    assert "tick “Quotation marks are a part of the texts”" in page(admin, job)
    how |= {f"column_{n}": role for n, role in enumerate(["query", "document", "comment", "grade"])}
    job = checked(admin, job, "ratings", **how, quoting="on")
    assert "choose “of another rater, if it names none”" in page(admin, job)
    job = checked(admin, job, "ratings", **how, quoting="on", repeats="raters")
    act(admin, "start_import", job)
    work()
    assert sorted(Rating.objects.values_list("rater__name", "comment")) == [("r", '"big" shoe'), ("r 2", '"x" y')]


def test_what_was_taken_for_another_kind_is_read_as_the_right_one(admin):
    job = sent(admin, "queries", RUN, "bm25.run")
    assert job.report["refused"]
    job = checked(admin, job, "ratings", encoding="utf-8", format="")
    assert (job.kind, job.options) == ("ratings", {"rater": "qrels", "encoding": "utf-8"})
    job = checked(admin, job, "results", rater="qrels")
    assert (job.kind, job.options, job.state, job.report["refused"]) == ("results", {}, "checked", 0)


def test_columns_are_guessed_shown_and_changed(admin, collection):
    job = sent(admin, "ratings", RATINGS.replace("label", "mark").replace("who", "person"), "march.csv")
    form = admin.get(reverse("import_job", args=["hills", job.pk])).context["form"]
    assert [(name, field.initial) for name, field in form.columns][:2] == [
        ("q_id", "query"),
        ("docid", "document"),
    ]
    chosen = {"column_0": "query", "column_1": "document", "column_2": "rater", "column_3": "grade"}
    job = checked(admin, job, "ratings", map="good=2", **chosen)
    assert job.options["columns"] == {"query": "q_id", "document": "docid", "rater": "person", "grade": "mark"}
    assert (job.report["refused"], job.report["grades"]) == (1, {"0": 1, "1": 1, "2": 1, "3": 1, "7": 1})
    for wrong in ({"column_0": "query", "column_1": "query"}, {"map": "good"}):
        act(admin, "check_import", job, {"kind": "ratings"} | wrong, 400)


def test_words_with_commas_and_words_for_cannot_judge_get_a_meaning(admin, collection):
    text = 'query,document,rater,grade\nq1,a,Ann,"Yes, fully"\nq1,b,Ann,?\n'
    job = sent(admin, "ratings", text, "march.csv")
    html = unescape(page(admin, job))
    assert 'write "Yes, fully=…" under' in html and "write ?=unrateable under" in html
    columns = {f"column_{n}": role for n, role in enumerate(["query", "document", "rater", "grade"])}
    job = checked(admin, job, "ratings", map='"Yes, fully=2", ?=unrateable', **columns)
    assert job.report["refused"] == 0 and job.options["grades"] == {"Yes, fully": "2", "?": "unrateable"}
    shown = admin.get(reverse("import_job", args=["hills", job.pk])).context["form"]
    in_either_order = ('"Yes, fully=2", ?=unrateable', '?=unrateable, "Yes, fully=2"')  # PostgreSQL keeps none
    assert shown.initial["map"] in in_either_order
    imported(admin, job)
    assert sorted(Rating.objects.values_list("pair__document__key", "grade__value", "reason")) == [
        ("a", 2, ""),
        ("b", None, "other"),
    ]


def test_refusals_stand_in_the_order_of_the_file_whoever_found_them(admin, collection):
    """The check against the scale comes after the reader, and line 2 before line 3."""
    text = "query,document,rater,grade\nq1,a,Ann,7\nq1,b,Ann\n"
    job = sent(admin, "ratings", text)
    assert [refusal["line"] for refusal in job.report["refusals"]] == [3, 2]
    html = page(admin, job)
    assert html.index("The grade 7 is not on the scale") < html.index("There are 3 cells")


def test_refused_lines_are_listed_and_corrected_in_the_whole_file(admin, collection):
    text = RATINGS.replace("q_id", "query")
    job = sent(admin, "ratings", text, "march.csv")
    assert refusals_of(job) == [("march.csv", 5), ("march.csv", 3)]
    assert "Idealist imports nothing while a line is refused." in page(admin, job)
    assert imported(admin, job).state == "refused" and not Rating.objects.exists()
    mended = sent(admin, "ratings", text.replace("7", "2").replace("good", "1"))
    assert "5 ratings by 1 rater for 2 queries: 5 new, 0 changed, 0 unchanged." in page(admin, mended)
    imported(admin, mended)
    assert Rating.objects.count() == 5


def test_raters_are_chosen_and_known_then(admin, collection):
    table = "query,document,Ann,Ben,Mean\nq1,a,3,1,2\n"
    pair = {"column_0": "query", "column_1": "document"}
    raters = {f"column_{number}": "raters" for number in (2, 3)}
    imported(admin, checked(admin, sent(admin, "ratings", table), "ratings", **pair, **raters))
    assert sorted(Rating.objects.values_list("rater__name", "grade__value")) == [("Ann", 3), ("Ben", 1)]
    # What is taken back is not guessed again.
    job = sent(admin, "ratings", table + "q2,a,1,1,1\n")
    form = admin.get(reverse("import_job", args=["hills", job.pk])).context["form"]
    assert [field.initial for _, field in form.columns] == ["query", "document", "raters", "raters", ""]
    assert checked(admin, job, "ratings", **pair).options["columns"]["raters"] == ""


def test_of_two_files_with_one_name_the_right_one_is_named(admin):
    head = "query,document,rater,grade\n"
    one, two = f"{head}q1,a,Ann,7\nq1,b,Ann,1\n", f"{head}q2,a,Ann,2\nq2,b,Ann,8\n"
    send(admin, "ratings", ("s.csv", one), ("s.csv", two))
    work()
    assert refusals_of(Job.objects.get()) == [("s.csv", 2), ("s (2).csv", 3)]


def test_where_too_much_is_refused_the_page_counts_the_rest(admin, monkeypatch):
    monkeypatch.setattr(report, "REFUSALS_KEPT", 2)
    assert "And 1 more." in page(admin, sent(admin, "ratings", "q1 0 a 7\nq1 0 b 7\nq1 0 c 7\nq1 0 d 3\n"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ratings", "this,that\n1,2\n"),
        ("ratings", "query,document,grade\nq1,a,very good\n"),
        ("results", "q1 0 a 3\n"),
        ("queries", "q1 0 a 3\n"),
        ("ratings", "q1 0 a 3\nq1 Q0 x 1 3.5 bm25\n"),
        ("results", "query,document,rank,system\nq1,a,1,\n"),
        ("results", "q1 Q0 x 1 1 s\nq1 Q0 y 2 9 s\n"),
        ("results", "q1 Q0 x 1 1 s\nq1 Q0 y 1 1 s\n"),
    ],
)
def test_refusals_speak_of_what_is_on_the_page_and_not_of_options(admin, collection, kind, text):
    job = sent(admin, kind, text)
    html = page(admin, job)
    assert job.report["refused"] and " --" not in html and "import_" not in html.split("refused")[-1]


def test_ratings_are_undone_and_the_page_says_what_stays(admin, collection):
    collection.grades.all().delete()
    job = imported(admin, sent(admin, "ratings", "q1 0 a 3\nq1 0 x 0\n"))
    stays = "The history keeps what was said"
    assert stays in page(admin, job)
    later = imported(admin, sent(admin, "ratings", "q1 0 a 0\n"))
    response = admin.post(reverse("undo_job", args=["hills", job.pk]), follow=True)
    assert "1 rating of it was changed later by ratings from file" in response.content.decode()
    act(admin, "undo_job", later)
    act(admin, "undo_job", job)
    assert stays in page(admin, job)
    assert not collection.grades.exists() and not Rating.objects.exists()
    assert {event.actor.username for event in RatingEvent.objects.filter(kind="undo")} == {"ada"}


def test_progress_is_told_to_the_script(admin, collection):
    job = Job.objects.create(
        collection=collection, kind="results", state="running", attempt=1, files=[{"name": "x"}]
    )
    signs.show_step(job, signs.Step("writing", 0.25, 500))
    told = admin.get(reverse("job_progress", args=["hills", job.pk])).json()
    assert told == {"state": "running", "message": "writing", "done": 500, "share": 0.25, "waits": ""}
    assert 'value="0.2500"' in page(admin, job)


@pytest.mark.parametrize(
    ("name", "data"),
    [("r.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), ("x.run", b"<!doctype html><title>Sign in</title>")],
)
def test_what_people_send_by_mistake_is_told_at_once(admin, name, data):
    assert send(admin, "", (name, data)).status_code == 400 and not Job.objects.exists()
    assert refusals_of(sent(admin, "results", data, name)) == [(name, 0)]


def test_what_is_no_file_or_an_empty_one_is_refused(admin):
    assert admin.post("/collections/hills/import/send/", {"kind": "queries"}).status_code == 400
    assert send(admin, "queries", ("empty.tsv", "")).status_code == 400
    assert send(admin, "secrets", ("x", "y")).status_code == 400


def test_the_list_takes_few_queries_however_long_it_is(admin, collection, django_assert_max_num_queries):
    for _ in range(30):
        Job.objects.create(collection=collection, kind="queries", files=[{"name": "x"}], state="cancelled")
    with django_assert_max_num_queries(8):
        admin.get("/collections/hills/import/")


# Pasted lines


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("q3\tred shoes\tTo buy some.\r\nq4\tblue shoes", "queries", "2 queries: 2 new"),
        ("id\ttitle\ttext\r\nx\tX\tOne\r\ny\tY\tTwo\r\n\r\n", "documents", "2 documents: 2 new"),
        ("q1 Q0 a 1 1 bm25\n", "", "1 ranking with 1 result; 1 new"),
    ],
)
def test_pasted_lines_are_read_like_a_file(admin, text, kind, told):
    admin.post("/collections/hills/import/send/", {"kind": kind, "pasted": text})
    work()
    job = Job.objects.get()
    assert job.files[0]["name"] == "pasted.txt" and told in page(admin, job)
    assert imported(admin, job).state == "published"


def test_pasted_lines_that_cannot_be_taken_come_back(admin):
    both = {"pasted": "q3\tred", "files": SimpleUploadedFile("q.tsv", b"q3\tred")}
    for given in ({"pasted": " \n"}, both, {"pasted": "x" * 200_001}):
        response = admin.post("/collections/hills/import/send/", {"kind": "queries"} | given)
        assert response.status_code == 400
    assert not Job.objects.exists() and not list(uploads.folder().glob("*"))


# Space


def test_files_that_nobody_imports_use_up_the_space_of_their_own_collection_alone(admin, collection, settings):
    wrong, right = (f"query,document,rater,grade\nq1,a,Ann,3\nq1,b,Ann,{grade}\n" for grade in (7, 2))
    settings.LARGEST_UPLOAD = len(wrong)
    make_collection("lamps").jobs.create(kind="ratings", files=[{"name": "x", "stored": "x", "size": 10**9}])
    assert imported(admin, sent(admin, "ratings", right)).state == "published"
    assert jobs.stored(collection) == 0
    waiting = [sent(admin, "ratings", wrong.replace("a,Ann", f"{key},Ann")) for key in "bcde"]
    assert send(admin, "ratings", ("more", right)).status_code == 400
    assert len(list(storages["uploads"].entries())) == 4
    admin.post(reverse("cancel_job", args=["hills", waiting[0].pk]))
    assert send(admin, "ratings", ("more", right)).status_code == 302


def test_one_preview_is_made_at_a_time(admin, settings):
    """Each can hold the largest rows of a table in memory."""
    job, settings.PATIENCE = sent(admin, "ratings", RATINGS), 0.01
    address = reverse("import_job", args=["hills", job.pk])
    admin.raise_request_exception = False  # as a server, which answers with config.urls.handler500
    with preview._turn:
        busy = admin.get(address)
    assert (busy.status_code, busy["Retry-After"]) == (503, "5")
    assert admin.get(address).status_code == 200


SHOP = "Ware;Kurzname;Preis EUR\nS-1;Walking boots;79,0\nS-2;Trail runners;119,5\n"


def above(client: Client, job: Job) -> dict[str, str]:
    """What the selects above the columns say."""
    form = client.get(reverse("import_job", args=["hills", job.pk])).context["form"]
    return {name: field.value() for name, field in form.columns}


def test_the_first_rows_stand_below_selects_that_propose_what_the_columns_hold(admin, collection):
    job = sent(admin, "documents", SHOP, "shop.csv")
    html = page(admin, job)
    assert above(admin, job) == {"Ware": "id", "Kurzname": "title", "Preis EUR": "fields"}
    assert '<td dir="auto">S-1</td><td dir="auto">Walking boots</td><td dir="auto">79,0</td>' in html
    assert html.count('form="reading"') == 4 and 'id="refused"' not in html and 'id="will"' not in html
    assert imported(admin, job).state == "refused" and not collection.documents.filter(key="S-1").exists()
    job = checked(admin, job, "documents", column_0="id", column_1="title", column_2="fields")
    imported(admin, job)
    assert collection.documents.get(key="S-1").fields == {"Preis EUR": "79,0"}


def test_a_choice_of_columns_counts_for_the_next_file_with_them_and_the_page_says_so(admin, collection):
    choice = {"column_0": "id", "column_1": "body", "column_2": ""}
    first = imported(admin, checked(admin, sent(admin, "documents", SHOP, "march.csv"), "documents", **choice))
    job = sent(admin, "", SHOP.replace("S-", "T-"), "april.csv")
    assert (job.kind, job.state, job.report["refused"]) == ("documents", "checked", 0)
    assert above(admin, job) == {"Ware": "id", "Kurzname": "body", "Preis EUR": ""}
    link = f'<a href="/collections/hills/import/{first.pk}/">documents from march.csv</a>'
    assert link in page(admin, job)
    imported(admin, job)
    assert collection.documents.get(key="T-2").body == "Trail runners"
    job = checked(admin, sent(admin, "documents", SHOP, "may.csv"), "documents", **choice | {"column_1": "title"})
    assert link not in page(admin, job) and above(admin, job)["Kurzname"] == "title"


def test_a_choice_of_columns_counts_for_its_collection_kind_and_header_alone(admin, collection):
    choice = {"column_0": "id", "column_1": "body", "column_2": ""}
    imported(admin, checked(admin, sent(admin, "documents", SHOP), "documents", **choice))
    assert sent(admin, "", SHOP.replace("Kurzname", "Langname")).kind == ""
    assert sent(admin, "queries", SHOP).options == {}
    undone = Job.objects.filter(state="published").first()
    act(admin, "undo_job", undone)
    assert sent(admin, "documents", SHOP).options == {}


def test_documents_without_a_title_are_proposed_one(admin):
    job = sent(admin, "documents", "id,Bezeichnung\n1,Walking boots\n2,Trail runners\n")
    assert above(admin, job) == {"id": "id", "Bezeichnung": "title"} and job.report["refused"] == 0
    chosen = checked(admin, job, "documents", column_0="id", column_1="fields")
    assert above(admin, chosen) == {"id": "id", "Bezeichnung": "fields"}


def test_web_addresses_are_proposed_where_nothing_else_is_missing(admin):
    job = sent(
        admin,
        "documents",
        "id,title,Seite,Note\n1,Boots,https://a.example/1,soft boots\n2,Runners,https://a.example/2,x\n",
    )
    assert above(admin, job) == {"id": "id", "title": "title", "Seite": "url", "Note": "fields"}


def test_a_file_that_cannot_be_read_yet_shows_its_first_lines(admin):
    job = sent(admin, "queries", "Nr;Suche\n1;boots\n2;socks\n")
    assert '<td dir="auto">Nr</td><td dir="auto">Suche</td>' in page(admin, job)


def test_a_column_that_may_hold_the_ids_of_queries_is_proposed_and_asked_for(admin, collection):
    job = sent(admin, "queries", "Term No;Search term\nS-01;boots\nS-02;jacket\n")
    html = page(admin, job)
    assert "Is this what the columns hold?" in html and 'id="refused"' not in html
    assert above(admin, job) == {"Term No": "key", "Search term": "text"}
    for key, role in (("S-01", "key"), ("boots", "fields")):  # as proposed, and as corrected
        imported(admin, checked(admin, job, "queries", column_0=role, column_1="text"))
        assert collection.queries.filter(key=key, text="boots").exists()
        collection.queries.all().delete()
        job = sent(admin, "queries", "Term Nr;Search term\nS-01;boots\nS-02;jacket\n")


def test_a_file_that_is_not_utf_8_is_read_as_excel_writes_it_or_as_people_chose(admin, collection):
    job = sent(admin, "queries", "id;text\nS-1;boots\nS-2;Trekkingstöcke\n".encode("cp1252"))
    assert job.report["refused"] == 0 and "The text is read as <b>windows-1252</b>." in page(admin, job)
    imported(admin, job)
    assert collection.queries.get(key="S-2").text == "Trekkingstöcke"
    job = sent(admin, "queries", "id;text\nS-3;Palača\n".encode("cp1250"))
    imported(admin, checked(admin, job, "queries", encoding="cp1250", column_0="key", column_1="text"))
    job = imported(admin, sent(admin, "queries", "id;text\nS-4;Čaj\n".encode("cp1250")))
    assert [query.text for query in collection.queries.filter(key__in=["S-3", "S-4"])] == ["Palača", "Čaj"]
    job = sent(admin, "queries", "id;text\nS-5;Zelt für drei\n")
    assert job.report["refused"] == 0 and job.options == {}


def test_a_choice_of_columns_counts_for_names_with_umlauts_in_the_encoding_of_excel(admin, collection):
    text = "Ärtikel;Größe\nA-1;klein\nA-2;groß\n".encode("cp1252")
    how = {"encoding": "windows-1252", "column_0": "id", "column_1": "title"}
    imported(admin, checked(admin, sent(admin, "documents", text), "documents", **how))
    job = sent(admin, "", text.replace(b"A-", b"B-"))
    assert (job.kind, job.report["refused"]) == ("documents", 0)


def test_several_files_can_each_have_an_encoding_so_none_is_taken_for_granted(admin, collection):
    files = [("old.csv", "id;text\nS-1;Zelt für zwei\n".encode("cp1252")), ("new.csv", "id;text\nS-2;Öl\n")]
    send(admin, "queries", *files)
    work()
    assert ("old.csv", 2) in refusals_of(Job.objects.first())


def test_bytes_far_down_that_are_not_utf_8_have_a_cure_that_is_filled_in(admin, collection):
    lines = [f"S-{number};{'boots ' * 20}" for number in range(1_000)]
    job = sent(admin, "queries", "\n".join(["id;text", *lines, "S-1000;Trekkingstöcke\n"]).encode("cp1252"))
    assert "check again with windows-1252 under “Encoding”" in page(admin, job)
    form = admin.get(reverse("import_job", args=["hills", job.pk])).context["form"]
    proposed = {field.name: field.value() or "" for field in form}
    imported(admin, checked(admin, job, **proposed))
    assert collection.queries.get(key="S-1000").text == "Trekkingstöcke"

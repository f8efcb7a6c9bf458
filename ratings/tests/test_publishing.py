"""What an import writes is seen all at once or not at all, and can be taken back."""

import io
import json
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from evaluation import record
from ratings import intake, queue
from ratings.formats.source import Source
from ratings.intake import documents, publishing
from ratings.intake.publishing import Landing, Superseded, remove
from ratings.intake.undoing import undone
from ratings.models import Collection, Document, Job, OtherText, Pair, Query, Ranking, System

from .cast import grade, make_collection, make_pair, make_ranking, make_rater

pytestmark = pytest.mark.django_db

RUN = "q1 Q0 x 1 3.5 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 b 1 9 bm25\n"


class Died(BaseException):
    """As kill -9 leaves things: nobody tidies up."""


def source(text: str, name: str = "file") -> Source:
    return Source(name, io.BytesIO(text.encode()))


def texts(**by_key: str) -> Source:
    return source("".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in by_key.items()))


def seen(collection: Collection) -> dict:
    """What readers find."""
    found = record.load(collection)
    return {
        "documents": dict(collection.documents.values_list("key", "body")),
        "systems": list(collection.systems.values_list("name", flat=True)),
        "rankings": {name: rankings.length.tolist() for name, rankings in found.rankings.items()},
        "version": Collection.objects.get(pk=collection.pk).version,
    }


def leftovers() -> list[int]:
    hidden = (Document.written, System.written, Ranking.written)
    return [rows.filter(job__staging=True).count() for rows in hidden] + [OtherText.objects.count()]


@pytest.fixture
def dying(monkeypatch):
    """Makes the next import die after so many pieces."""

    def after(pieces: int) -> None:
        piece, begun = Landing.piece, []

        def fatal(self, rows):
            begun.append(rows)
            if len(begun) > pieces:
                raise Died
            return piece(self, rows)

        monkeypatch.setattr(Landing, "piece", fatal)
        monkeypatch.setattr(publishing, "_end", lambda job: None)

    yield after
    monkeypatch.undo()


def test_nobody_sees_what_is_staging_and_everybody_what_was_published():
    collection = make_collection(documents="b")
    make_ranking(collection, "dense", "q1", "b")
    before = seen(collection)
    job = Job.objects.create(collection=collection, kind="results", state="running", staging=True)
    new = Document.objects.create(collection=collection, key="x", job=job)
    bm25 = System.objects.create(collection=collection, name="bm25", job=job)
    Ranking.objects.create(system=bm25, query=collection.queries.get(key="q1"), documents=[new.pk], job=job)
    # Of a system that is there already, too.
    dense = collection.systems.get(name="dense")
    Ranking.objects.create(system=dense, query=collection.queries.get(key="q2"), documents=[new.pk], job=job)
    assert seen(collection) == before
    assert dense.rankings.count() == 1
    Job.objects.filter(pk=job.pk).update(state="published", staging=False)
    after = seen(collection)
    assert after["documents"].keys() == {"b", "x"}
    assert after["rankings"] == {"bm25": [1, 0], "dense": [1, 1]}


def test_a_key_that_nobody_sees_yet_is_taken_all_the_same():
    """As in Django's admin, which would otherwise fail on the constraint of the database."""
    collection = make_collection()
    job = Job.objects.create(collection=collection, kind="results", state="running", staging=True)
    Document.objects.create(collection=collection, key="x", job=job)
    with pytest.raises(ValidationError, match="An import that is under way brings a document with this key"):
        Document(collection=collection, key="x").full_clean()


def test_an_import_is_kept_in_the_list_and_the_same_again_is_not():
    collection = make_collection()
    intake.import_run(collection, [source(RUN)])
    intake.import_run(collection, [source(RUN)])
    job = Job.objects.get()
    assert (job.state, job.staging, job.kind, str(job)) == ("published", False, "results", "runs from file")
    assert job.report["counts"] == {"new": 2, "unchanged": 0, "documents": 1}
    assert list(Document.objects.filter(job=job).values_list("key", flat=True)) == ["x"]


@pytest.mark.parametrize("pieces", [0, 1, 2, 3])
def test_an_import_that_died_leaves_nothing_to_see_and_the_next_goes_through(dying, monkeypatch, pieces):
    """The four pieces of this import: its system, the missing document, the rankings of q1 and of q2."""
    monkeypatch.setattr(intake.runs, "HELD", 2)
    collection = make_collection(documents="b")
    before = seen(collection)
    dying(pieces)
    with pytest.raises(Died):
        intake.import_run(collection, [source(RUN)])
    assert seen(collection) == before
    monkeypatch.undo()
    # As long as it may be alive, nobody else imports.
    report = intake.import_run(collection, [source(RUN)])
    assert [str(refusal) for refusal in report.refusals] == [
        "file: runs from file is under way. Wait until it is over, or cancel it on the page Import."
    ]
    assert seen(collection) == before
    Job.objects.update(beat_at=timezone.now() - timedelta(minutes=2))
    assert not intake.import_run(collection, [source(RUN)]).refused
    assert seen(collection)["rankings"] == {"bm25": [2, 1]}
    assert (Document.written.count(), Ranking.written.count(), System.written.count()) == (2, 2, 1)
    assert leftovers() == [0, 0, 0, 0]


def test_who_lost_the_job_writes_no_more():
    collection = make_collection()
    job = Job.objects.create(collection=collection, kind="results", state="running", staging=True, attempt=1)
    place = Landing(job)
    with place.piece(1):
        pass
    Job.objects.filter(pk=job.pk).update(attempt=2)
    with pytest.raises(Superseded), place.piece(1):
        Document.objects.create(collection=collection, key="late", job=job)
    with pytest.raises(Superseded), place.published(intake.Report()):
        pass
    assert not Document.written.filter(key="late").exists()


def test_without_the_fence_the_former_worker_would_publish_half(monkeypatch):
    """The twin: what the guard is there for does happen without it."""
    monkeypatch.setattr(Landing, "hold", lambda self: None)
    collection = make_collection()
    job = Job.objects.create(collection=collection, kind="results", state="running", staging=True, attempt=1)
    place = Landing(job)
    Job.objects.filter(pk=job.pk).update(attempt=2)
    with place.piece(1):
        Document.objects.create(collection=collection, key="late", job=job)
    assert Document.written.filter(key="late").exists()


def test_a_cancel_in_the_middle_leaves_nothing(monkeypatch):
    monkeypatch.setattr(intake.runs, "HELD", 2)
    collection = make_collection(documents="b")
    before = seen(collection)
    job = Job.objects.create(collection=collection, kind="results", state="running", attempt=1)

    def cancel(name, share, rows):
        if name == "writing":
            assert Ranking.written.filter(job=job).count() == 1
            Job.objects.filter(pk=job.pk).update(state="cancelled")

    with pytest.raises(Superseded):
        intake.import_run(collection, [source(RUN)], progress=cancel, job=job)
    assert (seen(collection), leftovers()) == (before, [0, 0, 0, 0])
    assert not Ranking.written.exists()


def test_a_check_says_what_an_import_would_do_and_writes_nothing():
    collection = make_collection(documents="b")
    job = Job.objects.create(collection=collection, kind="results", state="running", attempt=1, checking=True)
    before = seen(collection)
    report = intake.import_run(collection, [source(RUN)], job=job)
    assert report.counts == {"new": 2, "unchanged": 0, "documents": 1}
    report = intake.import_documents(collection, [texts(a="new", b="other")], job=job)
    assert report.counts == {"new": 1, "changed": 1, "unchanged": 0}
    report = intake.import_queries(collection, [source("q1\tother\nq3\tnew\n")], job=job)
    assert report.counts == {"new": 1, "changed": 1, "unchanged": 0}
    report = intake.import_qrels(collection, [source("q1 0 x 3\nq1 0 b 0\nq2 0 x 0\n")], job=job)
    assert report.counts == {"documents": 1, "raters": 1, "queries": 2, "grades": 0}
    assert report.grades == {"0": 2, "3": 1}
    assert "3 ratings by 1 rater for 2 queries." in report.facts
    assert (seen(collection), Pair.objects.count(), Query.objects.count()) == (before, 0, 2)


# Texts of documents that are there


def test_texts_are_exchanged_and_given_back(monkeypatch):
    """Five at two a piece: two pieces ahead, the last one together with what is new."""
    monkeypatch.setattr(documents, "TEXTS", 2)
    monkeypatch.setattr(publishing, "TEXTS", 2)
    collection = make_collection(documents="")
    intake.import_documents(collection, [texts(a="1", b="2", c="3", d="4", e="5")])
    before = seen(collection)
    intake.import_documents(collection, [texts(a="I", b="II", c="III", d="IV", e="V", f="VI")])
    assert seen(collection)["documents"] == {"a": "I", "b": "II", "c": "III", "d": "IV", "e": "V", "f": "VI"}
    job = Job.objects.first()
    assert undone(job) == []
    remove(job)
    after = seen(collection)
    assert (after.pop("version"), after["documents"]) == (before["version"] + 2, before["documents"])
    assert leftovers() == [0, 0, 0, 0]


def test_texts_of_an_import_that_died_while_it_exchanged_them_are_given_back(dying, monkeypatch):
    monkeypatch.setattr(documents, "TEXTS", 1)
    monkeypatch.setattr(publishing, "TEXTS", 1)
    collection = make_collection(documents="")
    intake.import_documents(collection, [texts(a="1", b="2", c="3")])
    before = seen(collection)
    dying(2)
    with pytest.raises(Died):
        intake.import_documents(collection, [texts(a="I", b="II", c="III")])
    assert seen(collection)["documents"] == {"a": "I", "b": "2", "c": "3"}
    monkeypatch.undo()
    dead = Job.objects.first()
    Job.objects.filter(pk=dead.pk).update(state="failed")
    remove(dead)
    assert seen(collection) == before


# Refused lines left out


def test_refused_lines_of_ratings_are_left_out_when_asked():
    text = "query,document,rater,grade\nq1,a,Ann,3\nq1,b,Ann,7\nq1,a,Ann,2\nq2,a,Ann,good\nq2,b,Ann,0\n"
    collection = make_collection()
    assert intake.import_ratings(collection, [source(text)]).refused == 3
    report = intake.import_ratings(collection, [source(text)], leave_out=True)
    assert (report.refused, report.left_out, [refusal.line for refusal in report.refusals]) == (0, 3, [5, 3, 4])
    ratings = collection.raters.get(name="Ann").ratings.values_list("query__key", "document__key", "grade__value")
    assert sorted((q, d, int(value)) for q, d, value in ratings) == [("q1", "a", 3), ("q2", "b", 0)]


def test_what_is_wrong_with_the_whole_file_is_not_left_out():
    report = intake.import_ratings(make_collection(), [source("nothing\nof use\n")], leave_out=True)
    assert report.refused and not report.left_out


# Undo


def test_a_run_is_undone_with_all_that_came_with_it():
    collection = make_collection(documents="b")
    before = seen(collection)
    intake.import_run(collection, [source(RUN)])
    job = Job.objects.get()
    make_pair(collection, "q1", "x")  # nobody has rated it
    assert undone(job) == []
    assert seen(collection) == before | {"version": 2}
    remove(job)
    assert (Document.written.count(), System.written.count(), Pair.objects.count()) == (1, 0, 0)
    # And it can come again.
    assert not intake.import_run(collection, [source(RUN)]).refused


def test_queries_are_undone_and_those_that_changed_are_as_before():
    collection = make_collection(queries=["q1"])
    intake.import_queries(collection, [source("q1\tother\tneed\nq2\tnew\n")])
    assert undone(Job.objects.get()) == []
    assert list(collection.queries.values_list("key", "text", "need")) == [("q1", "text of q1", "need of q1")]


def test_an_import_on_which_something_rests_stays():
    collection = make_collection(documents="b")
    intake.import_run(collection, [source(RUN)])
    run = Job.objects.get()
    alice = make_rater(collection)
    pair = make_pair(collection, "q1", "x")
    queue.claim(alice)
    assert undone(run) == ["1 pair of what it brought has ratings, or will have soon."]
    queue.save(alice, pair, grade=grade(collection, "2"))
    assert undone(run) == ["1 pair of what it brought has ratings, or will have soon."]
    intake.import_run(collection, [source("q1 Q0 x 1 1 dense\n")])
    assert undone(run)[1:] == [
        "dense returned documents that it brought. Undo their imports first, or delete those systems."
    ]
    intake.import_documents(collection, [texts(x="its text")])
    assert undone(run)[2:] == ["A later import changed what it brought. Undo that one first."]
    assert seen(collection)["systems"] == ["bm25", "dense"]
    assert undone(Job.objects.first()) == []


def test_what_was_rated_after_its_text_changed_keeps_that_text():
    collection = make_collection()
    intake.import_documents(collection, [texts(a="another")])
    alice = make_rater(collection)
    pair = make_pair(collection, "q1", "a")
    queue.claim(alice)
    queue.save(alice, pair, grade=grade(collection, "2"))
    assert undone(Job.objects.get()) == ["1 rating came after it, of documents whose text it changed."]


def test_the_command_lists_imports_and_undoes_one(tmp_path, capsys):
    make_collection()
    file = tmp_path / "bm25.run"
    file.write_text(RUN)
    call_command("import_run", "hills", str(file))
    job = Job.objects.get()
    assert job.report["facts"][0] == "bm25: 2 rankings with 3 results; 2 new, 0 unchanged."
    capsys.readouterr()
    call_command("undo_import", "hills")
    assert capsys.readouterr().out == f"{job.pk}  {job.ended_at:%Y-%m-%d %H:%M}  runs from {file.name}\n"
    call_command("undo_import", "hills", job.pk)
    assert System.written.count() == 0
    with pytest.raises(CommandError, match=f"hills has no import {job.pk}"):
        call_command("undo_import", "hills", job.pk)


def test_a_ratings_import_cannot_be_undone_as_a_whole():
    collection = make_collection()
    intake.import_qrels(collection, [source("q1 0 a 3\n")])
    (said,) = undone(Job.objects.get())
    assert said.startswith("Ratings stay in the record")

"""What an import writes is seen all at once or not at all, and can be taken back."""

import io
import json
import threading
from contextlib import nullcontext
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluation import record
from ratings import intake, queue
from ratings.copies import archive, restoring
from ratings.formats.source import Source
from ratings.imports import jobs
from ratings.intake import documents, publishing, stage
from ratings.intake.publishing import Landing, Superseded, remove
from ratings.intake.undoing import remains, undo_import
from ratings.models import (
    Anchor,
    Assignment,
    Collection,
    Document,
    Drawn,
    Grade,
    Job,
    OtherText,
    Pair,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    StagedRating,
    System,
)
from ratings.pool import adjudication

from .cast import grade, make_collection, make_member, make_pair, make_ranking, make_rater, make_round

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

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
    others = (OtherText, StagedRating)
    return [rows.filter(job__staging=True).count() for rows in hidden] + [rows.objects.count() for rows in others]


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
    assert leftovers() == [0, 0, 0, 0, 0]


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


@pytest.mark.parametrize("guarded", [True, False])
def test_no_document_outlives_its_collection(monkeypatch, guarded):
    """No constraint of the database prevents it, but the lock of the job does; the twin has no lock."""
    collection = make_collection(documents="")
    job = Job.objects.create(collection=collection, kind="results", state="running", staging=True, attempt=1)
    Collection.written.filter(pk=collection.pk).update(slug=None)
    publishing.remove_collection(Collection.written.get(pk=collection.pk))
    if not guarded:
        monkeypatch.setattr(Landing, "hold", lambda self: None)
    with pytest.raises(Superseded) if guarded else nullcontext(), Landing(job).piece(1):
        Document.objects.create(collection_id=collection.pk, key="late", job_id=job.pk)
    assert Document.written.filter(key="late").exists() is not guarded
    Document.written.filter(key="late").delete()


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
    assert (seen(collection), leftovers()) == (before, [0, 0, 0, 0, 0])
    assert not Ranking.written.exists()


def test_a_command_that_was_taken_for_dead_says_so_and_leaves_nothing(monkeypatch):
    """A worker ends jobs without a heartbeat, and a command has no worker that could catch that."""
    monkeypatch.setattr(intake.runs, "HELD", 2)
    collection = make_collection(documents="b")
    before = seen(collection)

    def end(name, share, rows):
        if name == "writing":
            assert Ranking.written.count() == 1
            Job.objects.update(state="failed")

    report = intake.import_run(collection, [source(RUN)], progress=end)
    (refusal,) = report.refusals
    assert "taken for dead after 30 silent seconds" in refusal.problem and not report.counts
    assert (seen(collection), leftovers()) == (before, [0, 0, 0, 0, 0])
    assert not Ranking.written.exists() and not Job.objects.exists()


def test_long_documents_come_in_short_pieces(monkeypatch):
    monkeypatch.setattr(intake.documents, "HEAVY", 100)
    monkeypatch.setattr(intake.documents, "READ", 3)
    pieces = []
    whole = Landing.piece
    monkeypatch.setattr(Landing, "piece", lambda place, rows: pieces.append(rows) or whole(place, rows))
    lengths = [300, 42, 42, 12, 5, 5, 5, 5]
    lines = [json.dumps({"id": f"d{place}", "body": "x" * length}) for place, length in enumerate(lengths)]
    report = intake.import_documents(make_collection(documents=""), [source("\n".join(lines), "documents.jsonl")])
    assert report.counts["new"] == len(lengths)
    assert pieces == [1, 2, 3, 2]


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
    said = {"documents": 1, "raters": 1, "queries": 2, "grades": 0}
    assert report.counts == {"new": 3, "changed": 0, "unchanged": 0, **said}
    assert report.grades == {"0": 2, "3": 1}
    assert "3 ratings by 1 rater for 2 queries: 3 new, 0 changed, 0 unchanged." in report.facts
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
    assert undo_import(job) == []
    remove(job)
    after = seen(collection)
    assert (after.pop("version"), after["documents"]) == (before["version"] + 2, before["documents"])
    assert leftovers() == [0, 0, 0, 0, 0]


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
    assert undo_import(job) == []
    assert seen(collection) == before | {"version": 2}
    remove(job)
    assert (Document.written.count(), System.written.count(), Pair.objects.count()) == (1, 0, 0)
    # And it can come again.
    assert not intake.import_run(collection, [source(RUN)]).refused


def test_queries_are_undone_and_those_that_changed_are_as_before():
    collection = make_collection(queries=["q1"])
    intake.import_queries(collection, [source("q1\tother\tneed\nq2\tnew\n")])
    assert undo_import(Job.objects.get()) == []
    assert list(collection.queries.values_list("key", "text", "need")) == [("q1", "text of q1", "need of q1")]


def test_an_import_on_which_something_rests_stays():
    collection = make_collection(documents="b")
    intake.import_run(collection, [source(RUN)])
    run = Job.objects.get()
    alice = make_rater(collection)
    pair = make_pair(collection, "q1", "x")
    queue.claim(alice)
    assert undo_import(run) == ["1 pair of what it brought has been rated, or will be soon."]
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "2")))
    assert undo_import(run) == ["1 pair of what it brought has been rated, or will be soon."]
    intake.import_run(collection, [source("q1 Q0 x 1 1 dense\n")])
    assert undo_import(run)[1:] == [
        "dense returned documents that it brought. Undo their imports first, or delete those systems."
    ]
    intake.import_documents(collection, [texts(x="its text")])
    assert undo_import(run)[2:] == ["A later import changed what it brought. Undo that one first."]
    assert seen(collection)["systems"] == ["bm25", "dense"]
    assert undo_import(Job.objects.first()) == []


def test_what_a_round_drew_stays():
    collection = make_collection(documents="b")
    intake.import_run(collection, [source(RUN)])
    run, pairs = Job.objects.get(), [make_pair(collection, "q1", "x"), make_pair(collection, "q1", "b")]
    make_round(collection, pairs)
    said = "1 pair of what it brought stands in a round: the chances of others rest on it."
    assert undo_import(run) == [said]
    for gone in (pairs[0], collection.queries.get(key="q1"), collection.documents.filter(key="x")):
        with pytest.raises(IntegrityError), transaction.atomic():
            gone.delete()
    assert (Pair.objects.count(), Drawn.objects.count()) == (2, 2)


def test_what_was_rated_after_its_text_changed_keeps_that_text():
    collection = make_collection()
    intake.import_documents(collection, [texts(a="another")])
    alice = make_rater(collection)
    pair = make_pair(collection, "q1", "a")
    queue.claim(alice)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "2")))
    assert undo_import(Job.objects.get()) == ["1 rating came after it, of documents whose text it changed."]


def test_an_import_is_undone_directly_after_the_one_that_rested_on_it():
    collection = make_collection(documents="b")
    intake.import_run(collection, [source(RUN)])
    intake.import_run(collection, [source("q1 Q0 x 1 1 dense\n")])
    later, first = Job.objects.all()
    assert undo_import(first)
    assert undo_import(later) == []
    assert undo_import(first) == []  # no worker has removed anything yet
    remove(first)
    assert (Document.written.count(), System.written.count()) == (1, 0)


def test_the_command_lists_imports_and_undoes_one(tmp_path, capsys):
    make_collection()
    file = tmp_path / "bm25.run"
    file.write_text(RUN)
    call_command("import_run", "hills", str(file))
    job = Job.objects.get()
    assert job.report["facts"][0] == "bm25: 2 rankings with 3 results; 2 new, 0 unchanged."
    assert not undo_import(job)
    remove(job)
    assert System.written.count() == 0


# Ratings


def taken_in(collection: Collection, text: str) -> Job:
    """Qrels, or ratings with a head."""
    run_import = intake.import_ratings if "," in text else intake.import_qrels
    report = run_import(collection, [source(text)])
    assert not report.refused
    return Job.objects.get(pk=report.job)


def given() -> dict:
    """What is said of each pair, and what is kept of how it came about: (query, document, rater) -> it."""
    rows = Rating.objects.select_related("grade", "pair__query", "pair__document", "rater")
    return {
        (row.pair.query.key, row.pair.document.key, row.rater.name): (
            row.grade and int(row.grade.value),
            row.reason,
        )
        for row in rows
    }


def told_by_events() -> dict:
    """The same, from the history alone."""
    said = ["grade", "cannot", "import"]
    events = RatingEvent.objects.standing().filter(kind__in=said).order_by("pk")
    return {
        (row.pair.query.key, row.pair.document.key, row.rater.name): (
            None if row.value is None else int(row.value),
            row.reason,
        )
        for row in events.select_related("pair__query", "pair__document", "rater")
    }


def held_by(pair: Pair) -> list[tuple]:
    return list(pair.assignments.order_by("pk").values_list("state", "rater__name"))


def tables() -> list[int]:
    kinds = (Pair, Rating, RatingEvent, Rater, Grade, Document, Assignment)
    return [(kind.written if kind is Document else kind.objects).count() for kind in kinds]


@pytest.mark.parametrize("pieces", [0, 1, 3, 5])
def test_an_import_of_ratings_that_died_leaves_nothing_to_see_and_the_next_goes_through(
    dying, monkeypatch, pieces
):
    """Six pieces: for each of three lines its document and what is to be a rating."""
    monkeypatch.setattr(intake.ratings, "PIECE", 1)
    monkeypatch.setattr(publishing, "PIECE", 1)
    collection = make_collection(scale={}, documents="")
    before, rows = seen(collection), tables()
    dying(pieces)
    with pytest.raises(Died):
        taken_in(collection, "q1 0 a 3\nq1 0 b 0\nq2 0 c 1\n")
    assert StagedRating.objects.count() == pieces // 2
    rows[5] = Document.written.count()
    assert (seen(collection), tables()) == (before, rows)
    monkeypatch.undo()
    Job.objects.update(beat_at=timezone.now() - timedelta(minutes=2))
    taken_in(collection, "q1 0 a 3\nq1 0 b 0\nq2 0 c 1\n")
    assert tables() == [3, 3, 3, 1, 3, 3, 0]
    assert leftovers() == [0, 0, 0, 0, 0]


def test_what_was_staged_goes_when_it_is_published_even_where_the_worker_died_over_that(monkeypatch):
    collection = make_collection()
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_end", lambda job: None)
        taken_in(collection, "q1 0 a 3\n")
    assert (StagedRating.objects.count(), Rating.objects.count()) == (1, 1)
    jobs.reap()
    assert (StagedRating.objects.count(), Rating.objects.count()) == (0, 1)


def staged(collection: Collection, *rows: queue.ImportedRating) -> Job:
    facts = {"kind": "ratings", "state": "running", "staging": True}
    job = Job.objects.create(collection=collection, **facts)
    queue.stage(job, queue.differing(collection, rows))
    return job


def test_a_rating_that_changed_after_it_was_looked_at_is_not_overwritten():
    collection = make_collection()
    taken_in(collection, "q1 0 a 3\n")
    rating = Rating.objects.get()
    job = staged(collection, queue.ImportedRating("qrels", rating.query_id, rating.document_id, Decimal(1)))
    Rating.objects.update(revision=2, grade=grade(collection, "2"))
    with pytest.raises(IntegrityError, match="somebody changed these ratings"), transaction.atomic():
        queue.record_staged(job)
    assert given() == {("q1", "a", "qrels"): (2, "")}
    assert RatingEvent.objects.count() == 1


def test_a_name_that_became_a_persons_is_not_spoken_for():
    collection = make_collection()
    pair = make_pair(collection)
    job = staged(collection, queue.ImportedRating("alice", pair.query_id, pair.document_id, Decimal(1)))
    make_rater(collection, "alice")
    with pytest.raises(IntegrityError), transaction.atomic():
        queue.record_staged(job)
    assert given() == {}


def test_grades_of_several_imported_raters_fill_as_many_places_of_a_pair_the_first_the_first():
    collection = make_collection()
    pair, retired = make_pair(collection, wanted=3), make_pair(collection, "q2", "b")
    queue.retire([retired.pk])
    queue.claim(make_rater(collection, "carla"))
    head = "query,document,rater,grade,reason\n"
    taken_in(collection, f"{head}q1,a,ann,3,\nq1,a,ben,,language\nq1,a,dora,1,\nq2,b,ann,1,\nq1,a,eva,1,\n")
    assert held_by(pair) == [("leased", "carla"), ("done", "ann"), ("done", "dora")]
    assert held_by(retired) == []


def test_a_grade_that_becomes_a_reason_gives_its_place_back_and_the_other_way_round():
    collection = make_collection()
    pair, head = make_pair(collection), "query,document,rater,grade,reason\n"
    taken_in(collection, f"{head}q1,a,ann,3,\n")
    taken_in(collection, f"{head}q1,a,ann,,language\n")
    assert held_by(pair) == [("open", None)]
    taken_in(collection, f"{head}q1,a,ann,2,\n")
    assert held_by(pair) == [("done", "ann")]
    assert given() == told_by_events() == {("q1", "a", "ann"): (2, "")}


def test_ratings_are_taken_back_and_those_that_changed_are_as_before():
    collection = make_collection()
    ada = make_member(collection, "ada", "admin")
    head = "query,document,rater,grade,reason,comment\n"
    first = taken_in(collection, f"{head}q1,a,ann,3,,sure\nq1,b,ann,,language,\nq1,c,ann,0,,\n")
    before, events = given(), RatingEvent.objects.count()
    second = taken_in(collection, f"{head}q1,a,ann,1,,\nq1,b,ann,2,,\nq1,c,ann,0,,\nq1,d,ann,0,,\n")
    assert second.report["counts"] | {"new": 1, "changed": 2, "unchanged": 1} == second.report["counts"]
    version = collection.version
    assert undo_import(first, ada) == [
        f"2 ratings of it were changed later by ratings from file (import {second.pk}). Undo that first."
    ]
    assert undo_import(second, ada) == []
    assert given() == told_by_events() == before
    assert Rating.objects.get(document__key="a").comment == "sure"
    assert Rating.objects.get(document__key="a").revision == 3
    undos = RatingEvent.objects.filter(kind="undo")
    assert {(event.undoes.job_id, event.actor, event.rater.name) for event in undos} == {(second.pk, ada, "ann")}
    assert RatingEvent.objects.count() == events + 3 + 3
    assert Collection.objects.get(pk=collection.pk).version > version
    second.refresh_from_db()
    assert (second.state, second.staging) == ("undone", False)
    assert undo_import(second, ada) == ["It is not in the record: there is nothing to undo."]
    assert undo_import(first) == []
    assert given() == told_by_events() == {}
    # And it can come again, and go again.
    third = taken_in(collection, f"{head}q1,a,ann,3,,sure\n")
    assert given() == told_by_events() == {("q1", "a", "ann"): (3, "")}
    assert undo_import(third) == []
    assert given() == told_by_events() == {}


@pytest.mark.postgresql
def test_raters_do_not_wait_for_the_collection_while_links_are_checked():
    collection = make_collection()
    with CaptureQueriesContext(connection) as asked:
        assert undo_import(taken_in(collection, "q1 0 a 3\n")) == []
    said = [query["sql"] for query in asked.captured_queries]
    steps = [
        sql.split()[0]
        for sql in said
        if "CONSTRAINTS ALL IMMEDIATE" in sql or 'UPDATE "ratings_collection"' in sql
    ]
    assert steps == ["SET", "UPDATE"] * 2
    assert not [sql for sql in said if "FOR UPDATE" in sql and "ratings_collection" in sql]


def test_what_an_import_had_filled_is_open_again_or_filled_by_who_came_late():
    collection = make_collection()
    one, two, extra, retired = (make_pair(collection, "q1", document) for document in "abcd")
    job = taken_in(collection, "".join(f"q1 0 {document} 3\n" for document in "abcd"))
    # Alice's grade of the second pair filled nothing: it was done already.
    alice = make_rater(collection)
    queue.save(alice, two, queue.Submission(grade=grade(collection, "2")))
    extra.assignments.update(extra=True)
    queue.retire([retired.pk])
    assert held_by(two) == [("done", "qrels")]
    assert undo_import(job) == []
    assert held_by(one) == [("open", None)]
    assert held_by(two) == [("done", "alice")]
    assert held_by(extra) == held_by(retired) == []
    assert [task.pair for task in queue.claim(alice, 5)] == [one]


def test_what_people_said_and_decided_stands_when_an_import_is_undone():
    collection = make_collection(scale={}, documents="")
    job = taken_in(collection, "q1 0 a 3\nq1 0 b 0\n")
    pair = Pair.objects.get(document__key="a")
    alice = make_rater(collection)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "0")))
    adjudication.adjudicate(
        pair, grade(collection, "0"), reason="It is so.", actor=make_member(collection, "ada", "admin")
    )
    assert undo_import(job) == []
    assert given() == {("q1", "a", "alice"): (0, "")}
    assert pair.adjudication.grade.value == 0
    assert remains(job) == [
        "The history tells what was said and that it was taken back.",
        "2 documents that it brought stay for the history.",
        "1 grade of the scale that came with it stays, for something else uses it. You can change the scale.",
        "1 decision on its pairs stands until withdrawn.",
    ]
    assert (collection.documents.count(), collection.grades.count()) == (2, 1)


def test_a_scale_that_a_wrong_file_made_goes_with_it():
    collection = make_collection(scale={}, documents="")
    rows = "".join(f"q1 0 d{number} {number}\n" for number in range(1, 301))
    wrong = taken_in(collection, rows)
    same = taken_in(collection, "q2 0 d1 7\n")
    assert collection.grades.count() == 300 and "1 grade of the scale" in " ".join(remains(wrong))
    assert undo_import(same) == undo_import(wrong) == []
    assert collection.grades.count() == 0 and "scale" not in " ".join(remains(wrong))
    assert Collection.objects.get(pk=collection.pk).scale_version == 2
    wrong.refresh_from_db()
    right = taken_in(collection, "q1 0 d1 0\nq1 0 d2 1\n")
    assert [grade.plain for grade in collection.grades.all()] == ["0", "1"]
    assert given() == told_by_events() == {("q1", "d1", "qrels"): (0, ""), ("q1", "d2", "qrels"): (1, "")}
    assert "scale" not in " ".join(remains(wrong)), "the grades of today are not of the import that was undone"
    assert undo_import(right) == []


@pytest.mark.parametrize("use", ["worded", "anchor", "decision", "rated", "put back", "imported", "added"])
def test_a_grade_that_something_else_uses_stays_when_its_import_is_undone(use):
    collection = make_collection(scale={})
    job = taken_in(collection, "q1 0 a 3\nq1 0 b 0\n")
    three, other = grade(collection, "3"), make_pair(collection, "q2", "b")
    alice = make_rater(collection)
    match use:
        case "worded":
            collection.grades.filter(pk=three.pk).update(label="Perfect")
        case "anchor":
            Anchor.objects.create(pair=other, use="gold", grade=three, created_at=timezone.now())
        case "decision":
            boss = make_member(collection, "ada", "admin")
            adjudication.adjudicate(other, three, reason="It is so.", actor=boss)
        case "rated":
            queue.save(alice, other, queue.Submission(grade=three))
        case "put back":
            queue.save(alice, other, queue.Submission(grade=three))
            queue.save(alice, other, queue.Submission(reason="language", base_revision=1))
        case "imported":
            taken_in(collection, "q2 0 b 3\n")
        case "added":
            three = Grade.objects.create(collection=collection, value=2)
    before = remains(job)
    assert undo_import(job) == []
    left = list(collection.grades.all())
    assert left == [three]
    assert before == remains(job)
    assert ("1 grade of the scale that came with it stays" in " ".join(before)) == (use != "added")


def test_a_scale_that_was_there_is_left_alone_by_an_undo():
    collection = make_collection()
    before = collection.grades.count()
    assert undo_import(taken_in(collection, "q1 0 a 3\n")) == []
    collection.refresh_from_db()
    assert (collection.grades.count(), collection.scale_version) == (before, 1)


def test_ratings_are_not_taken_back_to_a_grade_that_is_gone_nor_while_another_import_writes():
    collection = make_collection()
    taken_in(collection, "q1 0 a 3\n")
    job = taken_in(collection, "q1 0 a 1\n")
    Grade.objects.filter(value=3).delete()
    other = staged(collection)
    assert undo_import(job) == [
        "Another import is under way. Wait until it is over, or cancel it.",
        "Ratings would go back to 3, which the scale no longer has. Add it to the scale first.",
    ]
    other.delete()
    Grade.objects.create(collection=collection, value=3)
    assert undo_import(job) == []
    assert given() == {("q1", "a", "qrels"): (3, "")}


def test_an_import_of_ratings_is_undone_where_its_archive_was_imported(tmp_path):
    collection = make_collection()
    make_pair(collection)
    taken_in(collection, "q1 0 a 3\nq1 0 b 0\n")
    assert undo_import(taken_in(collection, "q1 0 a 1\n")) == []
    path = tmp_path / "a.zip"
    path.write_bytes(content := archived(collection))
    with restoring.opened(path) as found:
        assert not restoring.restore(found, "there").refused
    there = Collection.objects.get(slug="there")
    last, first = there.jobs.exclude(kind="archive")
    assert [(job.state, str(job)) for job in (first, last)] == [
        ("published", "ratings from file"),
        ("undone", "ratings from file"),
    ]
    assert archived(there) != content  # tokens of a copy are others
    assert undo_import(first) == []
    assert not Rating.objects.filter(rater__collection=there).exists()
    assert Rating.objects.filter(rater__collection=collection).count() == 2


def archived(collection: Collection) -> bytes:
    out = io.BytesIO()
    archive.write(collection, out)
    return out.getvalue()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="on PostgreSQL nobody waits for an import")
@pytest.mark.django_db(transaction=True)
def test_raters_who_write_are_given_as_long_as_they_had_to_wait(monkeypatch):
    slept = []
    monkeypatch.setattr(publishing, "_seen", threading.local())
    monkeypatch.setattr(publishing.time, "sleep", slept.append)

    def by_another(write) -> None:
        def act() -> None:
            write()
            connection.close()

        thread = threading.Thread(target=act)
        thread.start()
        thread.join()

    publishing.pause_for_writers(0.08)
    by_another(lambda: Collection.objects.count())
    publishing.pause_for_writers(0.08)
    make_collection("own")
    publishing.pause_for_writers(0.08)
    by_another(lambda: make_collection("of-another"))
    publishing.pause_for_writers(0.08)
    publishing.pause_for_writers(0.08)
    monkeypatch.setattr(publishing, "QUIET", 0)
    publishing.pause_for_writers(0.08)
    assert slept == [0.02, 0.02, 0.02, 0.08, 0.08, 0.02]


@pytest.mark.parametrize("other", ["q1 Q0 b 1 2 bm25\n", RUN])
def test_what_somebody_brought_after_the_check_is_never_passed_over(monkeypatch, other):
    collection = make_collection()
    land = stage.land

    def later(*given):
        monkeypatch.setattr(stage, "land", land)
        assert not intake.import_run(collection, [source(other)]).refused
        return land(*given)

    monkeypatch.setattr(stage, "land", later)
    report = intake.import_run(collection, [source(RUN)])
    if other == RUN:
        assert (report.refused, report.counts["new"], report.counts["unchanged"]) == (0, 0, 2)
    else:
        assert "bm25 has another ranking for query q1" in report.refusals[0].problem
        assert Ranking.written.count() == 1
    assert not any(leftovers())


def test_of_two_first_imports_of_ratings_one_makes_the_scale(monkeypatch):
    collection = make_collection(scale={})
    land = stage.land

    def later(*given):
        monkeypatch.setattr(stage, "land", land)
        assert not intake.import_qrels(collection, [source("q1 0 b 5\n")], rater="other").refused
        return land(*given)

    monkeypatch.setattr(stage, "land", later)
    report = intake.import_qrels(collection, [source("q1 0 a 1\n")], rater="one")
    assert report.clashed and "got a scale meanwhile" in report.refusals[0].problem
    assert [grade.value for grade in collection.grades.all()] == [5]
    assert not any(leftovers())

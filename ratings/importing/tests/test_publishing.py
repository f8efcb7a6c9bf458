"""An import writes all or nothing, and can be taken back."""

import io
import json
import threading
from contextlib import nullcontext
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluation import record
from ratings.collection import removing
from ratings.desk import queue
from ratings.formats.source import Source
from ratings.importing import intake
from ratings.importing.intake import publishing, stage
from ratings.importing.intake.publishing import Superseded
from ratings.importing.intake.undoing import undo_import
from ratings.models import (
    Anchor,
    Collection,
    Document,
    Drawn,
    FormerText,
    Grade,
    Job,
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
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rater, make_round

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

RUN = "q1 Q0 x 1 3.5 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 b 1 9 bm25\n"


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


class Died(BaseException):
    """As kill -9 leaves things: nobody tidies up."""


def everything() -> dict[str, int]:
    kinds = (
        Document,
        FormerText,
        System,
        Ranking,
        Query,
        Pair,
        Rating,
        RatingEvent,
        Rater,
        Grade,
        StagedRating,
        Job,
    )
    return {kind.__name__: kind.objects.count() for kind in kinds}


FILES = {
    "results": (intake.import_run, RUN),
    "documents": (intake.import_documents, '{"id": "x", "text": "new"}\n{"id": "b", "text": "other"}\n'),
    "ratings": (intake.import_qrels, "q1 0 x 3\nq1 0 b 0\nq2 0 x 1\n"),
    "queries": (intake.import_queries, "q1\tother\nq3\tnew\n"),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("how", [Died, Superseded, IntegrityError])
def test_an_import_that_ends_before_its_last_step_leaves_nothing_and_can_come_again(monkeypatch, kind, how):
    run, text = FILES[kind]
    collection = make_collection(documents="b", scale={})
    before, kinds = seen(collection), everything()

    def fail(*_) -> None:
        assert everything() != kinds
        raise how

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "note_import", fail)
        if how is IntegrityError:
            assert run(collection, [source(text)]).clashed
        else:
            with pytest.raises(how):
                run(collection, [source(text)])
    assert (seen(collection), everything()) == (before, kinds)
    assert not run(collection, [source(text)]).refused
    assert seen(collection) != before and not StagedRating.objects.exists()


@pytest.mark.parametrize("change", [{"state": "cancelled"}, {"attempt": 2}])
@pytest.mark.parametrize("guarded", [True, False])
def test_who_lost_the_job_writes_nothing(monkeypatch, change, guarded):
    """The twin without the guard would publish what was cancelled, or publish it twice."""
    collection = make_collection(documents="b")
    before = seen(collection)
    job = Job.objects.create(collection=collection, kind="results", state="running", attempt=1)
    if not guarded:
        monkeypatch.setattr(Job, "mine", lambda self: Job.objects.filter(pk=self.pk))
    report = intake.runs.RunImport(collection, [source(RUN)], job=job)
    monkeypatch.setattr(report, "_tell", lambda: Job.objects.filter(pk=job.pk).update(**change))
    with pytest.raises(Superseded) if guarded else nullcontext():
        report.run()
    assert (seen(collection) == before) is guarded


@pytest.mark.parametrize("gone", ["deleted", "put away"])
def test_nothing_is_imported_into_a_collection_that_is_deleted_or_put_away_meanwhile(gone):
    collection = make_collection(documents="")
    change = {"slug": None} if gone == "deleted" else {"put_away_at": timezone.now()}
    Collection.objects.update(**change)
    (refusal,) = intake.import_documents(collection, [texts(a="1")]).refusals
    assert gone in refusal.problem
    assert not Document.objects.exists() and not Job.objects.exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("of_worker", [True, False])
def test_no_document_outlives_its_collection(of_worker):
    """No constraint of documents prevents it: the job does."""
    collection = make_collection(documents="")
    facts = {"kind": "documents", "state": "running", "attempt": 1}
    job = Job.objects.create(collection=collection, **facts) if of_worker else None

    def remove() -> None:
        Collection.objects.update(slug=None)
        removing.remove_collection(Collection.written.get(pk=collection.pk))
        connection.close()

    def after_writing(name, share, rows) -> None:
        if name == "writing":
            remover = threading.Thread(target=remove)
            remover.start()
            remover.join()

    with pytest.raises(Superseded) if of_worker else nullcontext():
        report = intake.import_documents(collection, [texts(late="1")], progress=after_writing, job=job)
        assert report.clashed
    assert not Collection.written.exists() and not Document.objects.exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_two_imports_into_a_collection_the_second_waits_and_sees_what_the_first_wrote():
    collection = make_collection(documents="")
    reports, begun = {}, threading.Event()

    def second() -> None:
        reports["second"] = intake.import_documents(collection, [texts(a="2", b="2")])
        connection.close()

    other = threading.Thread(target=second)

    def wait(name, share, rows) -> None:
        if name == "writing" and not begun.is_set():
            begun.set()
            other.start()
            other.join(1)
            assert other.is_alive()

    reports["first"] = intake.import_documents(collection, [texts(a="1")], progress=wait)
    other.join()
    assert [reports[name].counts["new"] for name in ("first", "second")] == [1, 1]
    assert seen(collection)["documents"] == {"a": "2", "b": "2"}


def test_an_import_is_kept_in_the_list_and_the_same_again_is_not():
    collection = make_collection()
    intake.import_run(collection, [source(RUN)])
    intake.import_run(collection, [source(RUN)])
    job = Job.objects.get()
    assert (job.state, job.kind, str(job)) == ("published", "results", "runs from file")
    assert job.report["counts"] == {"new": 2, "unchanged": 0, "documents": 1}
    assert list(Document.objects.filter(job=job).values_list("key", flat=True)) == ["x"]


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


def test_texts_are_changed_and_given_back():
    collection = make_collection(documents="")
    intake.import_documents(collection, [texts(a="1", b="2", c="3")])
    before = seen(collection)
    intake.import_documents(collection, [texts(a="I", b="II", c="3", d="IV")])
    assert seen(collection)["documents"] == {"a": "I", "b": "II", "c": "3", "d": "IV"}
    assert FormerText.objects.count() == 2
    assert undo_import(Job.objects.first()) == []
    assert seen(collection) == before | {"version": before["version"] + 2}
    assert not FormerText.objects.exists()


# Undo


def test_a_run_is_undone_with_all_that_came_with_it():
    collection = make_collection(documents="b")
    before = seen(collection)
    intake.import_run(collection, [source(RUN)])
    job = Job.objects.get()
    make_pair(collection, "q1", "x")  # nobody has rated it
    assert undo_import(job) == []
    assert seen(collection) == before | {"version": 2}
    assert (Document.objects.count(), System.objects.count(), Pair.objects.count()) == (1, 0, 0)
    # And it can come again.
    assert not intake.import_run(collection, [source(RUN)]).refused


def test_queries_are_undone_and_those_that_changed_are_as_before():
    collection = make_collection(queries=["q1"])
    intake.import_queries(collection, [source("q1\tother\twhy\nq2\tnew\n")])
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


def staged(collection: Collection, *rows: queue.ImportedRating) -> Job:
    job = Job.objects.create(collection=collection, kind="ratings", state="running")
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
    assert second.state == "undone"
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
    assert (collection.documents.count(), collection.grades.count()) == (2, 1)


def test_a_scale_that_a_wrong_file_made_goes_with_it():
    collection = make_collection(scale={}, documents="")
    rows = "".join(f"q1 0 d{number} {number}\n" for number in range(1, 301))
    wrong = taken_in(collection, rows)
    same = taken_in(collection, "q2 0 d1 7\n")
    assert collection.grades.count() == 300
    assert undo_import(same) == undo_import(wrong) == []
    assert collection.grades.count() == 0
    assert Collection.objects.get(pk=collection.pk).scale_version == 2
    right = taken_in(collection, "q1 0 d1 0\nq1 0 d2 1\n")
    assert [grade.plain for grade in collection.grades.all()] == ["0", "1"]
    assert given() == told_by_events() == {("q1", "d1", "qrels"): (0, ""), ("q1", "d2", "qrels"): (1, "")}
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
    assert undo_import(job) == []
    assert list(collection.grades.all()) == [three]


def test_a_scale_that_was_there_is_left_alone_by_an_undo():
    collection = make_collection()
    before = collection.grades.count()
    assert undo_import(taken_in(collection, "q1 0 a 3\n")) == []
    collection.refresh_from_db()
    assert (collection.grades.count(), collection.scale_version) == (before, 1)


def test_ratings_are_not_taken_back_to_a_grade_that_is_gone():
    collection = make_collection()
    taken_in(collection, "q1 0 a 3\n")
    job = taken_in(collection, "q1 0 a 1\n")
    Grade.objects.filter(value=3).delete()
    assert undo_import(job) == [
        "Ratings would go back to 3, which the scale no longer has. Add it to the scale first.",
    ]
    Grade.objects.create(collection=collection, value=3)
    assert undo_import(job) == []
    assert given() == {("q1", "a", "qrels"): (3, "")}


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
        assert Ranking.objects.count() == 1


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

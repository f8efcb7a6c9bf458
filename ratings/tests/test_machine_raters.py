"""Migration 0010: raters that were machines become judges, and what people gave stays as it was."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from ratings import queue
from ratings.models import (
    Assignment,
    Check,
    Judge,
    JudgeRun,
    LostLease,
    MachineGrade,
    Rater,
    Rating,
    RatingEvent,
)

from .cast import NOW, Imported, grade, make_collection, make_pair, make_rated_pair, make_rater, record_imported

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE, AFTER = [("ratings", "0009_judges")], [("ratings", "0010_machine_raters")]


def migrated(to: list[tuple[str, str]]):
    """The models as they are there."""
    executor = MigrationExecutor(connection)
    executor.migrate(to)
    return executor.loader.project_state(to).apps.get_model


@pytest.fixture
def latest():
    """Migrates all the way, whatever became of the test."""
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    yield lambda: migrated(leaves)
    migrated(leaves)


def facts_of(rater: Rater) -> list:
    """All that the record has of a rater."""
    by = {"rater": rater}
    return [
        sorted(Rating.objects.filter(**by).values_list("pair", "grade__value", "reason", "changed_at")),
        sorted(RatingEvent.objects.filter(**by).values_list("pk", "kind", "value", "undoes", "created_at")),
        sorted(Assignment.objects.filter(**by).values_list("pk", "state")),
        sorted(Check.objects.filter(**by).values_list("pk", "kind")),
    ]


def test_a_machine_becomes_a_judge_and_people_stay_as_they_were(latest):
    pair, person = make_rated_pair()
    collection = pair.query.collection
    others = [make_pair(collection, "q1", document) for document in "bcd"]
    machine = Rater.objects.create(collection=collection, name="gpt-4o", kind="imported")
    elsewhere = Rater.objects.create(collection=make_collection("sea"), name="gpt-4o", kind="imported")
    values = ["3", "-1", None]
    record_imported(
        machine,
        [
            Imported(each.query_id, each.document_id, value and grade(collection, value), "" if value else "other")
            for each, value in zip([pair, *others[:2]], values, strict=True)
        ],
        at=NOW,
    )
    # All that a rater can have: an undone event, a pair of its queue, a check, a lost lease, queries of its own.
    first = RatingEvent.objects.filter(rater=machine).order_by("pk").first()
    undo = {"kind": "undo", "undoes": first, "scale_version": 1, "created_at": NOW}
    RatingEvent.objects.create(rater=machine, pair=pair, **undo)
    queue.save(machine, others[2], queue.Submission(grade=grade(collection, "2")), now=NOW)
    Check.objects.create(rater=machine, pair=pair, kind="repeat", created_at=NOW)
    LostLease.objects.create(rater=machine, pair=pair)
    machine.queries.add(pair.query)
    second = make_rater(collection, "boris")
    queue.save(second, others[0], queue.Submission(grade=grade(collection, "1")), now=NOW)
    before = {rater.pk: facts_of(rater) for rater in (person, second)}
    ratings = Rating.objects.filter(rater__in=[person, second]).count()

    model = migrated(BEFORE)
    model("ratings", "Rater").objects.filter(pk__in=[machine.pk, elsewhere.pk]).update(kind="machine")
    migrated(AFTER)
    latest()

    assert set(Rater.objects.values_list("pk", flat=True)) == {person.pk, second.pk}
    assert {rater.pk: facts_of(rater) for rater in (person, second)} == before
    assert Rating.objects.count() == ratings and RatingEvent.objects.filter(rater=None).count() == 0
    assert not LostLease.objects.exists() and not Rater.queries.through.objects.exists()
    judge = Judge.objects.get(collection=collection)
    (version,) = judge.versions.all()
    assert (judge.name, version.number, version.model, version.parser, version.endpoint) == (
        "gpt-4o", 1, "gpt-4o", 0, ""
    )  # fmt: skip
    run = JudgeRun.objects.get(version=version)
    assert (run.choice, run.state, run.pairs, run.graded, run.calls) == ("imported", "done", 3, 3, 0)
    # What it could not judge was no grade, and is none now.
    rows = MachineGrade.objects.order_by("pk").values_list("query", "document", "value", "state", "repeat")
    assert {row[1]: row[2:] for row in rows} == {
        each.document_id: (value, "graded", 1) for each, value in ((pair, 3), (others[0], -1), (others[2], 2))
    }
    assert {row[0] for row in rows} == {pair.query_id}
    assert set(MachineGrade.objects.values_list("at", flat=True)) == {NOW}
    # One of the other collection had rated nothing.
    (empty,) = JudgeRun.objects.filter(version__judge__collection__slug="sea")
    assert (empty.pairs, empty.graded, empty.version.judge.name) == (0, 0, "gpt-4o")
    # And it has no place in the queue any more.
    assert queue.claim(second, now=NOW)


def test_without_machines_nothing_changes(latest):
    pair, person = make_rated_pair()
    named = Rater.objects.create(collection=pair.query.collection, name="old qrels", kind="imported")
    before = facts_of(person)
    migrated(BEFORE)
    migrated(AFTER)
    latest()
    assert facts_of(person) == before and not Judge.objects.exists()
    assert set(Rater.objects.values_list("name", "kind")) == {("rater", "person"), (named.name, "imported")}

"""No migration since the last release keeps pages waiting, and planted ones that would are refused."""

import uuid

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently as PostgresOnly
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Random

from config.backup import locks, package
from ratings.database.operations import AddIndexConcurrently

from .release import FOLDER

OURS = {"ratings", "evaluation"}
INDEX = models.Index(fields=["comment"], name="by_comment")
LARGE, GRADE = "rating", "grade"


def released() -> set[tuple[str, str]]:
    """The migrations of all releases."""
    found = set()
    for path in FOLDER.glob("*.zip"):
        with package.open_backup(path) as backup:
            found |= set(backup.migrations)
    return found


def test_no_new_migration_keeps_pages_waiting():
    loader, base = MigrationLoader(None), released()
    assert base
    new = [node for node in loader.graph.nodes if node[0] in OURS and node not in base]
    told = [
        locks.lock_warnings(loader.graph.nodes[node], loader.project_state(node, at_end=False)) for node in new
    ]
    assert sum(told, []) == []


def judged(*operations, atomic: bool = True) -> list[str]:
    loader = MigrationLoader(None)
    migration = migrations.Migration("9999_planted", "ratings")
    migration.operations, migration.atomic = list(operations), atomic
    return locks.lock_warnings(migration, loader.project_state())


def over_all_rows(apps, schema_editor) -> None:
    apps.get_model("ratings", "rating").objects.update(comment="")


def added(field: models.Field, model: str = LARGE) -> migrations.AddField:
    return migrations.AddField(model, "planted", field)


def altered(name: str, field: models.Field, model: str = LARGE) -> migrations.AlterField:
    return migrations.AlterField(model, name, field)


TRUE = models.CheckConstraint(condition=models.Q(revision__gte=0), name="planted")
ONCE = models.UniqueConstraint(fields=["comment"], name="planted")
KEY = {"to": "ratings.job", "on_delete": models.DO_NOTHING, "null": True}
BAD = {
    "an index": migrations.AddIndex(LARGE, INDEX),
    "one said to be concurrent, in a transaction": AddIndexConcurrently(LARGE, INDEX),
    "an indexed field": added(models.CharField(max_length=9, db_index=True, default="")),
    "a unique field": added(models.UUIDField(null=True, unique=True)),
    "a foreign key": added(models.ForeignKey(**KEY)),
    "a foreign key without a constraint, and with an index": added(models.ForeignKey(**KEY, db_constraint=False)),
    "a default for each row": added(models.FloatField(db_default=Random())),
    "a generated field": added(
        models.GeneratedField(expression=models.F("revision"), output_field=models.IntegerField(), db_persist=True)
    ),
    "another type": altered("revision", models.FloatField()),
    "a shorter text": altered("reason", models.CharField(max_length=5)),
    "a text that becomes limited": altered("comment", models.CharField(max_length=500)),
    "not null": altered("grade", models.ForeignKey("ratings.grade", models.RESTRICT)),
    "more digits": altered("value", models.DecimalField(max_digits=20, decimal_places=9), "ratingevent"),
    "a check": migrations.AddConstraint(LARGE, TRUE),
    "a unique constraint": migrations.AddConstraint(LARGE, ONCE),
    "unique together": migrations.AlterUniqueTogether(LARGE, {("pair", "comment")}),
    "code over all rows in one transaction": migrations.RunPython(over_all_rows),
    "statements": migrations.RunSQL("UPDATE ratings_rating SET comment = ''"),
    "something new": migrations.AlterModelTable(LARGE, "other"),
    "hidden beside a state": migrations.SeparateDatabaseAndState([migrations.AddIndex(LARGE, INDEX)]),
}
GOOD = {
    "a field that may be null": added(models.TextField(null=True)),
    "a default that is the same for all": added(models.IntegerField(default=3)),
    "a default of the database": added(models.IntegerField(db_default=3)),
    "a default that is drawn once": added(models.UUIDField(default=uuid.uuid4)),
    "an index of a small table": migrations.AddIndex(GRADE, models.Index(fields=["label"], name="by_label")),
    "a longer text": altered("reason", models.CharField(max_length=50)),
    "a text without an end": altered("reason", models.TextField()),
    "other choices": altered("reason", models.CharField(max_length=10, choices=[("a", "b")], blank=True)),
    "null": altered("revision", models.PositiveIntegerField(null=True)),
    "a field less": migrations.RemoveField(LARGE, "comment"),
    "nothing": migrations.RunPython(migrations.RunPython.noop),
    "statements that say why": migrations.RunSQL("SELECT 1", hints={locks.HINT: "It reads nothing."}),
}


@pytest.mark.parametrize("operation", BAD.values(), ids=BAD)
def test_what_would_keep_pages_waiting_is_refused(operation):
    (told,) = judged(operation)
    assert told.startswith("ratings.9999_planted: ")


@pytest.mark.parametrize("operation", GOOD.values(), ids=GOOD)
def test_what_is_quick_is_let_through(operation):
    assert judged(operation) == []


def test_a_new_table_is_empty_and_may_have_anything():
    field = ("id", models.BigAutoField(primary_key=True))
    made = migrations.CreateModel("planted", [field])
    index = migrations.AddIndex("planted", models.Index(fields=["id"], name="planted_index"))
    assert judged(made, index) == []


@pytest.mark.parametrize("operation", [AddIndexConcurrently(LARGE, INDEX), migrations.RunPython(over_all_rows)])
def test_outside_a_transaction_it_is_let_through(operation):
    assert judged(operation, atomic=False) == []


@pytest.mark.django_db(transaction=True)
def test_an_index_is_made_and_removed_on_either_database():
    state = MigrationLoader(None).project_state()
    operation = AddIndexConcurrently(LARGE, INDEX)
    after = state.clone()
    operation.state_forwards("ratings", after)
    assert not isinstance(operation, PostgresOnly)
    for act, there in ((operation.database_forwards, True), (operation.database_backwards, False)):
        with connection.schema_editor(atomic=False) as editor:
            act("ratings", editor, *((state, after) if there else (after, state)))
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, "ratings_rating")
        assert ("by_comment" in found) is there


@pytest.mark.django_db
@pytest.mark.postgresql
@pytest.mark.parametrize("table", ["ratings_assignment", "ratings_rating", "ratings_ratingevent"])
def test_what_raters_write_is_counted_anew_after_some_thousand_changes(table):
    """By a tenth of a million rows, a new rater would be planned for as one without a rating."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE oid = %s::regclass", [table])
        (options,) = cursor.fetchone()
    assert {"autovacuum_analyze_scale_factor=0", "autovacuum_analyze_threshold=2000"} <= set(options)

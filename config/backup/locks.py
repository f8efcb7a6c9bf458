"""Finds migrations that keep pages waiting, because they lock a large table for as long as it takes to read it.

This is about PostgreSQL, where an organisation migrates while people work. SQLite has one writer anyway.
"""

from collections.abc import Iterator

from django.db import migrations
from django.db.migrations.migration import Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Field, GeneratedField, Value

# Tables that stay small even where there are millions of ratings.
SMALL_TABLES = {
    *("adjudication", "anchor", "apitoken", "collection", "deletion", "frozenevaluation", "grade", "guidelines"),
    *("invitation", "job", "judgerun", "judgeuse", "membership", "presentation", "rater", "round", "system"),
}
# Operations that change no table, or only its entry in the catalogue.
QUICK_OPERATIONS = (
    migrations.CreateModel,
    migrations.DeleteModel,
    migrations.RenameModel,
    migrations.RenameField,
    migrations.RenameIndex,
    migrations.RemoveField,
    migrations.RemoveIndex,
    migrations.RemoveConstraint,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.AlterModelTableComment,
    migrations.AlterOrderWithRespectTo,
)
HINT = "locks"  # the hint of RunSQL and RunPython that says why they lock nothing for long
IN_BATCHES = "Work in batches, with atomic = False in the migration."
CONCURRENTLY = "Use ratings.database.operations.AddIndexConcurrently, with atomic = False in the migration."
VALIDATE_APART = (
    "Check it in the program, or add it NOT VALID and validate it later, by SQL with the hint {'locks': why}."
)


def lock_warnings(migration: Migration, state_before: ProjectState) -> list[str]:
    """A sentence for each operation of the migration that keeps pages waiting, with its cure; [] if there is none.

    `state_before`: the models before the migration.
    """
    state, created, warnings = state_before.clone(), set(), []
    for operation in _flattened(migration.operations):
        if isinstance(operation, migrations.CreateModel):
            created.add(operation.name_lower)
        is_small = _model_name(operation) in SMALL_TABLES | created
        if not is_small and (warning := _warning(operation, migration, state)):
            warnings.append(f"{migration.app_label}.{migration.name}: {operation.describe()}: {warning}")
        operation.state_forwards(migration.app_label, state)
    return warnings


def _flattened(operations: list[Operation]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, migrations.SeparateDatabaseAndState):
            yield from _flattened(operation.database_operations)
        else:
            yield operation


def _model_name(operation: Operation) -> str:
    return (getattr(operation, "model_name", "") or getattr(operation, "name", "") or "").lower()


def _warning(operation: Operation, migration: Migration, state: ProjectState) -> str:
    if isinstance(operation, migrations.AddField):
        return _warning_of_added_field(operation.field)
    if isinstance(operation, migrations.AlterField):
        model = state.models[migration.app_label, operation.model_name_lower]
        return _warning_of_altered_field(model.fields[operation.name], operation.field)
    if isinstance(operation, migrations.AddIndex):
        concurrently = not operation.atomic and not migration.atomic
        return "" if concurrently else f"Nobody can write while it is built. {CONCURRENTLY}"
    if isinstance(operation, migrations.AddConstraint):
        return f"It reads the whole table under a lock. {VALIDATE_APART}"
    if isinstance(operation, migrations.RunPython | migrations.RunSQL):
        return _warning_of_run(operation, migration)
    return (
        ""
        if isinstance(operation, QUICK_OPERATIONS)
        else "This check does not know it. Add it to config/backup/locks.py."
    )


def _warning_of_run(operation: Operation, migration: Migration) -> str:
    if operation.hints.get(HINT):
        return ""
    if isinstance(operation, migrations.RunSQL):
        return "It is unknown what it locks. Say it in the hint {'locks': why}."
    if operation.code is migrations.RunPython.noop or not (operation.atomic or migration.atomic):
        return ""
    return f"It locks what it changes until its end. {IN_BATCHES}"


def _warning_of_added_field(field: Field) -> str:
    if isinstance(field, GeneratedField):
        return "It rewrites the whole table. Add a plain field, and fill it in batches."
    if hasattr(field.db_default, "resolve_expression") and not isinstance(field.db_default, Value):
        return (
            "A default that is computed for each row rewrites the whole table. Add the field without, and fill it."
        )
    if field.remote_field and field.db_constraint:
        return "A foreign key is checked under a lock of both tables. Give db_constraint=False."
    if field.unique or field.db_index:
        return f"Nobody can write while its index is built. Give db_index=False. {CONCURRENTLY}"
    return ""


def _warning_of_altered_field(old: Field, new: Field) -> str:
    if old.null and not new.null:
        return "NOT NULL reads the whole table under a lock. Let it be null, and check it in the program."
    if (new.unique and not old.unique) or (new.db_index and not old.db_index):
        return f"Nobody can write while its index is built. {CONCURRENTLY}"
    if new.remote_field and new.db_constraint and not (old.remote_field and old.db_constraint):
        return "A foreign key is checked under a lock of both tables. Give db_constraint=False."
    return "" if _same_column(old, new) else "Another type rewrites the whole table. Add a field, and fill it."


def _same_column(old: Field, new: Field) -> bool:
    """Whether the type is the same, or a text type whose limit is the same, higher or gone."""
    texts = {"CharField", "SlugField", "TextField"}
    kinds = old.get_internal_type(), new.get_internal_type()
    if set(kinds) <= texts:
        return new.max_length is None or (old.max_length is not None and old.max_length <= new.max_length)
    sizes = [
        (f.max_length, getattr(f, "max_digits", None), getattr(f, "decimal_places", None)) for f in (old, new)
    ]
    return kinds[0] == kinds[1] and sizes[0] == sizes[1]

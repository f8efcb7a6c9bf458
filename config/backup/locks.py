"""Which migrations keep pages waiting: those that hold a lock for as long as a large table takes to be read.

What is judged is PostgreSQL, on which an organisation migrates while others work. SQLite has one writer anyway.
"""

from collections.abc import Iterator

from django.db import migrations
from django.db.migrations.migration import Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Field, GeneratedField, Value

# Tables that stay small, in an organisation with millions of ratings.
SMALL = {
    *("adjudication", "anchor", "apitoken", "collection", "deletion", "frozenevaluation", "grade", "guidelines"),
    *("invitation", "job", "judgerun", "judgeuse", "membership", "presentation", "rater", "round", "system"),
}
# They change no table, or only its entry in the catalogue.
QUICK = (
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
MARK = "locks"  # a hint of RunSQL and RunPython that says why it locks nothing for long
BY_PIECES = "Work in pieces, with atomic = False in the migration."
CONCURRENTLY = "Use ratings.database.operations.AddIndexConcurrently, with atomic = False in the migration."
UNCHECKED = "Let the program hold it, or add it in a migration with the hint {'locks': why} that validates apart."


def complaints(migration: Migration, before: ProjectState) -> list[str]:
    """What in the migration keeps pages waiting, and the cure; nothing where all is quick."""
    state, made, found = before.clone(), set(), []
    for operation in _flat(migration.operations):
        if isinstance(operation, migrations.CreateModel):
            made.add(operation.name_lower)
        if _model(operation) not in SMALL | made and (wrong := _wrong(operation, migration, state)):
            found.append(f"{migration.app_label}.{migration.name}: {operation.describe()}: {wrong}")
        operation.state_forwards(migration.app_label, state)
    return found


def _flat(operations: list[Operation]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, migrations.SeparateDatabaseAndState):
            yield from _flat(operation.database_operations)
        else:
            yield operation


def _model(operation: Operation) -> str:
    return (getattr(operation, "model_name", "") or getattr(operation, "name", "") or "").lower()


def _wrong(operation: Operation, migration: Migration, state: ProjectState) -> str:
    if isinstance(operation, migrations.AddField):
        return _added(operation.field)
    if isinstance(operation, migrations.AlterField):
        model = state.models[migration.app_label, operation.model_name_lower]
        return _altered(model.fields[operation.name], operation.field)
    if isinstance(operation, migrations.AddIndex):
        concurrently = not operation.atomic and not migration.atomic
        return "" if concurrently else f"It keeps all from writing while it is made. {CONCURRENTLY}"
    if isinstance(operation, migrations.AddConstraint):
        return f"It reads the whole table under a lock. {UNCHECKED}"
    if isinstance(operation, migrations.RunPython | migrations.RunSQL):
        return _run(operation, migration)
    return (
        "" if isinstance(operation, QUICK) else "This check does not know it. Teach it in config/backup/locks.py."
    )


def _run(operation: Operation, migration: Migration) -> str:
    if operation.hints.get(MARK):
        return ""
    if isinstance(operation, migrations.RunSQL):
        return "Nobody knows what it locks. Say it in the hint {'locks': why}."
    if operation.code is migrations.RunPython.noop or not (operation.atomic or migration.atomic):
        return ""
    return f"It holds what it changes until all is done. {BY_PIECES}"


def _added(field: Field) -> str:
    if isinstance(field, GeneratedField):
        return "It writes the whole table anew. Add a plain field, and fill it in pieces."
    if hasattr(field.db_default, "resolve_expression") and not isinstance(field.db_default, Value):
        return "A default that is computed for each row writes the whole table anew. Add it without, and fill it."
    if field.remote_field and field.db_constraint:
        return "A foreign key is checked under a lock of both tables. Give db_constraint=False."
    if field.unique or field.db_index:
        return f"Its index keeps all from writing while it is made. Give db_index=False. {CONCURRENTLY}"
    return ""


def _altered(old: Field, new: Field) -> str:
    if old.null and not new.null:
        return "NOT NULL reads the whole table under a lock. Let it be null, and let the program hold it."
    if (new.unique and not old.unique) or (new.db_index and not old.db_index):
        return f"Its index keeps all from writing while it is made. {CONCURRENTLY}"
    if new.remote_field and new.db_constraint and not (old.remote_field and old.db_constraint):
        return "A foreign key is checked under a lock of both tables. Give db_constraint=False."
    return "" if _same_column(old, new) else "Another type writes the whole table anew. Add a field, and fill it."


def _same_column(old: Field, new: Field) -> bool:
    """Whether the type stays, or is a text that may only be longer now."""
    texts = {"CharField", "SlugField", "TextField"}
    kinds = old.get_internal_type(), new.get_internal_type()
    if set(kinds) <= texts:
        return new.max_length is None or (old.max_length is not None and old.max_length <= new.max_length)
    sizes = [
        (f.max_length, getattr(f, "max_digits", None), getattr(f, "decimal_places", None)) for f in (old, new)
    ]
    return kinds[0] == kinds[1] and sizes[0] == sizes[1]

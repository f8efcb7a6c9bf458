"""Whether the tables have the columns of this version, also where the names of their migrations are the same.

Until version 1.0, the first migration is made anew in place of a second one.
"""

from django.apps import apps
from django.db import connection

CURE = (
    "Before version 1.0, nothing carries data over. Start the program that made this, export there what you need"
    " as files (export_ratings, export_qrels, export_run), and import them by this version into a new"
    " IDEALIST_DATA or an empty DATABASE_URL."
)


def differing() -> list[str]:
    """The columns that only the models or only the database has, as table.column in alphabetical order."""
    columns: list[str] = []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for model in apps.get_models(include_auto_created=True):
            table = model._meta.db_table
            if not model._meta.managed or model._meta.proxy:
                continue
            names_in_database = set()
            if table in tables:
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)} LIMIT 0")
                names_in_database = {name for name, *_ in cursor.description}
            names_in_model = {field.column for field in model._meta.local_concrete_fields}
            columns += [f"{table}.{name}" for name in names_in_model ^ names_in_database]
    return sorted(columns)

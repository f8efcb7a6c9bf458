"""PostgreSQL's statistics of tables, by which it decides how to read them."""

from django.db import connection
from django.db.models import Model

MANY_ROWS = 10_000


def renew_statistics(rows: int, *tables: type[Model]) -> None:
    """Renew the statistics of tables that grew by `rows`, if these are many.

    Autovacuum does it only after a minute or more, and until then a rater may wait seconds for the next document.
    """
    if rows > MANY_ROWS and connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(table._meta.db_table for table in tables)}")

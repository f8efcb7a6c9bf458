"""PostgreSQL counts anew the rows of tables that grow while people rate, after some thousand changes.

By default it waits for a tenth of the table. Where there are a million ratings, it then takes a new rater, who has
rated five hundred pairs, for one without a rating, reads all that they did for each candidate, and a claim takes
seconds in place of a tenth of one.
"""

from django.db import migrations

TABLES = ("ratings_assignment", "ratings_rating", "ratings_ratingevent")
FRESH = "autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000"
USUAL = "autovacuum_analyze_scale_factor, autovacuum_analyze_threshold"


def set_on(schema_editor, setting: str) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(f"ALTER TABLE {table} {setting}")


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0008_extra_assignments"),
    ]

    operations = [
        migrations.RunPython(
            lambda apps, schema_editor: set_on(schema_editor, f"SET ({FRESH})"),
            lambda apps, schema_editor: set_on(schema_editor, f"RESET ({USUAL})"),
            hints={"locks": "It changes settings; rows are read and written meanwhile."},
        ),
    ]

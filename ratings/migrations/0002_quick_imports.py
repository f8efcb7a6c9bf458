"""Large imports into PostgreSQL write documents without a check of each row, and compress rankings faster."""

import django.db.models.deletion
from django.db import migrations, models

LZ4 = """DO $$ BEGIN
    ALTER TABLE ratings_ranking ALTER documents SET COMPRESSION lz4, ALTER scores SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL; END $$"""


def compress_by_lz4(apps, schema_editor) -> None:
    """Compress new rankings by lz4, in a tenth of the time of PostgreSQL's default, if it was built with lz4."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(LZ4)


class Migration(migrations.Migration):
    dependencies = [("ratings", "0001_record")]

    operations = [
        migrations.AlterField(
            "document",
            "collection",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="documents",
                to="ratings.collection",
            ),
        ),
        migrations.RunPython(
            compress_by_lz4, migrations.RunPython.noop, hints={"locks": "It changes only the catalogue."}
        ),
    ]

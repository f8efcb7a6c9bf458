"""Indexes that began another one are dropped. SQLite copies the tables for it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0009_archive_job"),
    ]

    operations = [
        migrations.AlterField(
            model_name="document",
            name="collection",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="documents",
                to="ratings.collection",
            ),
        ),
        migrations.AlterField(
            model_name="othertext",
            name="job",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="other_texts",
                to="ratings.job",
            ),
        ),
        migrations.AlterField(
            model_name="pair",
            name="query",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="pairs",
                to="ratings.query",
            ),
        ),
        migrations.AlterField(
            model_name="ranking",
            name="system",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="rankings",
                to="ratings.system",
            ),
        ),
        migrations.AlterField(
            model_name="rating",
            name="pair",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="ratings",
                to="ratings.pair",
            ),
        ),
        migrations.AlterField(
            model_name="ratingevent",
            name="rater",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="events",
                to="ratings.rater",
            ),
        ),
    ]

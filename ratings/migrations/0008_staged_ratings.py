import uuid

import django.db.models.deletion
from django.db import migrations, models

FACT = {"db_constraint": False, "db_index": False, "on_delete": django.db.models.deletion.DO_NOTHING}


class Migration(migrations.Migration):
    dependencies = [("ratings", "0007_token")]

    operations = [
        migrations.CreateModel(
            name="StagedRating",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("rater", models.CharField(max_length=150)),
                ("token", models.UUIDField(default=uuid.uuid4)),
                ("value", models.DecimalField(decimal_places=9, max_digits=15, null=True)),
                ("reason", models.CharField(max_length=10)),
                ("comment", models.TextField()),
                ("seconds", models.FloatField(null=True)),
                ("rated_at", models.DateTimeField(null=True)),
                ("revision", models.PositiveIntegerField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="staged_ratings",
                        to="ratings.job",
                    ),
                ),
                ("query", models.ForeignKey(**FACT, related_name="+", to="ratings.query")),
                ("document", models.ForeignKey(**FACT, related_name="+", to="ratings.document")),
                ("rating", models.ForeignKey(**FACT, null=True, related_name="+", to="ratings.rating")),
            ],
        ),
        migrations.AddField(
            model_name="ratingevent",
            name="job",
            field=models.ForeignKey(**FACT, editable=False, null=True, related_name="events", to="ratings.job"),
        ),
        migrations.AddIndex(
            model_name="ratingevent",
            index=models.Index(condition=models.Q(("job__isnull", False)), fields=["job"], name="event_of_import"),
        ),
    ]

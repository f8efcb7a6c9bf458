"""Frozen evaluations."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("ratings", "0001_record"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="FrozenEvaluation",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="frozen_evaluations",
                        to="ratings.collection",
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("note", models.TextField(blank=True)),
                ("hash", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField()),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("settings", models.TextField()),
                ("files", models.TextField()),
                ("about", models.TextField()),
                ("summary", models.TextField()),
            ],
            options={
                "ordering": ["created_at", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "hash"), name="one_frozen_evaluation_per_content"
                    ),
                    models.UniqueConstraint(fields=("collection", "name"), name="one_frozen_evaluation_per_name"),
                ],
            },
        ),
        migrations.CreateModel(
            name="FrozenPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "frozen",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="parts",
                        to="evaluation.frozenevaluation",
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="The canonical file or the array that it is a part of.", max_length=250
                    ),
                ),
                ("place", models.PositiveIntegerField(help_text="The number of this piece, from 0.")),
                ("content", models.BinaryField()),
            ],
            options={
                "ordering": ["name", "place"],
                "constraints": [
                    models.UniqueConstraint(fields=("frozen", "name", "place"), name="one_frozen_part_per_place")
                ],
            },
        ),
    ]

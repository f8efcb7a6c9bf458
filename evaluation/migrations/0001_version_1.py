"""Frozen evaluations, and watches with their nights."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import evaluation.models.frozen
import evaluation.models.watch
import ratings.models.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [("ratings", "0001_version_1"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

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
            name="FrozenLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "key",
                    models.CharField(
                        default=evaluation.models.frozen.new_key, editable=False, max_length=32, unique=True
                    ),
                ),
                ("created_at", models.DateTimeField()),
                (
                    "frozen",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="link",
                        to="evaluation.frozenevaluation",
                    ),
                ),
            ],
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
        migrations.CreateModel(
            name="Watch",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("name", models.CharField(max_length=100)),
                ("depth", models.PositiveSmallIntegerField(default=20)),
                ("at", models.TimeField(blank=True, null=True)),
                ("days", models.JSONField(default=list, help_text="Of the week, 0 for Monday.")),
                ("zone", models.CharField(default="UTC", max_length=50)),
                (
                    "tag",
                    models.CharField(
                        blank=True, help_text="Of the queries that it asks for; empty: all.", max_length=100
                    ),
                ),
                (
                    "asked",
                    models.JSONField(
                        default=dict, help_text="Measure and options as texts, as addresses have them."
                    ),
                ),
                ("margin", models.FloatField(default=0.02)),
                ("budget", models.FloatField(default=0.05, help_text="The chance of a false alarm in a year.")),
                ("seed", models.BigIntegerField(default=evaluation.models.watch.new_seed, editable=False)),
                ("keep_days", models.PositiveSmallIntegerField(default=400)),
                ("next_at", models.DateTimeField(editable=False, null=True)),
                ("paused", models.BooleanField(default=False)),
                ("holiday_until", models.DateField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "collection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="watches",
                        to="ratings.collection",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "engine",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="ratings.engine",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="NightRanking",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("digest", models.CharField(help_text="Of the documents, in their order.", max_length=32)),
                (
                    "documents",
                    ratings.models.fields.PackedArrayField("<u4", help_text="Document ids, best first."),
                ),
                (
                    "query",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.query"
                    ),
                ),
                (
                    "watch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rankings",
                        to="evaluation.watch",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Night",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("due_at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asking", "at work"),
                            ("fetched", "to be scored"),
                            ("again", "asks again before it tells"),
                            ("told", "done"),
                            ("gap", "a gap"),
                        ],
                        default="asking",
                        max_length=10,
                    ),
                ),
                ("system", models.CharField(blank=True, help_text="That a call named.", max_length=200)),
                ("problem", models.CharField(blank=True, max_length=300)),
                ("failed", models.JSONField(default=dict, help_text="Queries that are gaps: key → problem.")),
                ("noise", models.JSONField(default=dict, help_text="How far second answers of the night differ.")),
                ("queries", ratings.models.fields.PackedArrayField("<i8", null=True)),
                (
                    "rankings",
                    ratings.models.fields.PackedArrayField(
                        "<i8", help_text="Ids of NightRanking; 0 for a gap.", null=True
                    ),
                ),
                (
                    "again",
                    ratings.models.fields.PackedArrayField(
                        "<i8", help_text="Those that were asked for before it told.", null=True
                    ),
                ),
                (
                    "values",
                    ratings.models.fields.PackedArrayField(
                        "<f8", help_text="nan for a query without a value.", null=True
                    ),
                ),
                ("means", models.JSONField(default=dict, help_text="See evaluation.watching.scoring.Means.")),
                (
                    "terms",
                    models.JSONField(default=dict, help_text="What a change between two nights may come from."),
                ),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="ratings.job"
                    ),
                ),
                (
                    "watch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="nights",
                        to="evaluation.watch",
                    ),
                ),
            ],
            options={
                "ordering": ["due_at"],
            },
        ),
        migrations.CreateModel(
            name="Verdict",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "baseline",
                    models.CharField(
                        choices=[("fixed", "the fixed baseline"), ("release", "the last release")], max_length=7
                    ),
                ),
                ("name", models.CharField(help_text="Of the system.", max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("worse", "worse"),
                            ("not worse", "not worse"),
                            ("cannot tell", "cannot tell"),
                            ("judgments", "judgments decide it"),
                        ],
                        max_length=11,
                    ),
                ),
                ("numbers", models.JSONField(help_text="See evaluation.watching.verdicts.Numbers.")),
                (
                    "differences",
                    ratings.models.fields.PackedArrayField(
                        "<f8", help_text="By query of the night; nan where one has no value."
                    ),
                ),
                ("path", models.PositiveIntegerField()),
                ("spent_before", models.FloatField()),
                ("spent", models.FloatField(help_text="With what was spent before.")),
                (
                    "crossed",
                    ratings.models.fields.PackedArrayField(
                        "|u1", help_text="Bits: the flips that have crossed so far."
                    ),
                ),
                (
                    "answer",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("fault", "a fault, which is repaired"),
                            ("release", "a new release to compare with"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("answered_at", models.DateTimeField(null=True)),
                (
                    "answered_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "night",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verdicts",
                        to="evaluation.night",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="ratings.system",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("night", "baseline"), name="one_verdict_per_baseline"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["worse", "not worse", "cannot tell", "judgments"])),
                        name="verdict_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("answer__in", ["", "fault", "release"])),
                        name="answer_to_verdict_is_known",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="watch",
            index=models.Index(
                condition=models.Q(("next_at__isnull", False)), fields=["next_at"], name="watch_by_next"
            ),
        ),
        migrations.AddConstraint(
            model_name="watch",
            constraint=models.UniqueConstraint(fields=("collection", "name"), name="one_watch_per_name"),
        ),
        migrations.AddConstraint(
            model_name="nightranking",
            constraint=models.UniqueConstraint(fields=("watch", "query", "digest"), name="one_night_ranking"),
        ),
        migrations.AddConstraint(
            model_name="night",
            constraint=models.UniqueConstraint(fields=("watch", "due_at"), name="one_night_at_a_time"),
        ),
        migrations.AddConstraint(
            model_name="night",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["asking", "fetched", "again", "told", "gap"])),
                name="state_of_night_is_known",
            ),
        ),
    ]

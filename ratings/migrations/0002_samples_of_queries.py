"""Samples of queries from a log of searches, and the jobs that draw them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0001_record"),
    ]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("queries", "queries"),
                    ("documents", "documents"),
                    ("results", "runs"),
                    ("ratings", "ratings"),
                    ("archive", "collection"),
                    ("pictures", "pictures"),
                    ("copy", "copy"),
                    ("log", "log"),
                ],
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="Sample",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("number", models.PositiveIntegerField(help_text="From 1 in each collection.")),
                (
                    "method",
                    models.CharField(
                        choices=[
                            ("proportional", "by number of searches"),
                            ("strata", "by strata"),
                            ("even", "each query alike"),
                        ],
                        max_length=12,
                    ),
                ),
                ("seed", models.BigIntegerField()),
                (
                    "size",
                    models.PositiveIntegerField(
                        help_text="How many queries were asked for: the sum of all chances."
                    ),
                ),
                ("log", models.CharField(help_text="The name of the log's file.", max_length=200)),
                (
                    "days",
                    models.CharField(
                        blank=True, help_text="On which the log was kept. Empty: unknown.", max_length=100
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                ("searches", models.PositiveBigIntegerField(help_text="In the whole log.")),
                ("queries", models.PositiveBigIntegerField(help_text="Distinct ones in the whole log.")),
                (
                    "head_searches",
                    models.PositiveBigIntegerField(help_text="Of the queries that were drawn for certain."),
                ),
                (
                    "head_queries",
                    models.PositiveIntegerField(help_text="How many queries were drawn for certain."),
                ),
                ("strata", models.JSONField()),
                ("created_at", models.DateTimeField()),
                (
                    "collection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="samples",
                        to="ratings.collection",
                    ),
                ),
                (
                    "former",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="ratings.sample",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="samples",
                        to="ratings.job",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
            },
        ),
        migrations.CreateModel(
            name="SampledQuery",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "place",
                    models.PositiveBigIntegerField(
                        help_text="In the order of the log from 1: by stratum, the most frequent first."
                    ),
                ),
                (
                    "text",
                    models.TextField(
                        blank=True, help_text="As the log has it most often. Empty: it was personal."
                    ),
                ),
                ("count", models.PositiveBigIntegerField(help_text="Searches for it in the log.")),
                (
                    "chance",
                    models.FloatField(help_text="With which the sample has it; 1 for a query drawn for certain."),
                ),
                ("stratum", models.CharField(blank=True, max_length=100)),
                (
                    "left_out",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("held", "waits: it may be personal"),
                            ("personal", "personal"),
                            ("no_search", "not a search"),
                            ("other", "another reason"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="sampled",
                        to="ratings.query",
                    ),
                ),
                (
                    "sample",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drawn",
                        to="ratings.sample",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "sampled queries",
                "ordering": ["place"],
            },
        ),
        migrations.AddConstraint(
            model_name="sample",
            constraint=models.UniqueConstraint(fields=("collection", "number"), name="one_sample_per_number"),
        ),
        migrations.AddConstraint(
            model_name="sample",
            constraint=models.CheckConstraint(
                condition=models.Q(("method__in", ["proportional", "strata", "even"])),
                name="method_of_sample_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="sample",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("head_queries__lte", models.F("queries")), ("head_searches__lte", models.F("searches"))
                ),
                name="the_head_is_a_part_of_the_log",
            ),
        ),
        migrations.AddConstraint(
            model_name="sampledquery",
            constraint=models.UniqueConstraint(fields=("sample", "place"), name="a_query_is_sampled_once"),
        ),
        migrations.AddConstraint(
            model_name="sampledquery",
            constraint=models.CheckConstraint(
                condition=models.Q(("chance__gt", 0), ("chance__lte", 1)), name="the_chance_of_a_query_is_above_0"
            ),
        ),
        migrations.AddConstraint(
            model_name="sampledquery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("query__isnull", True), models.Q(("left_out", "held"), _negated=True), _connector="OR"
                ),
                name="a_held_query_is_not_in_the_record",
            ),
        ),
        migrations.AddConstraint(
            model_name="sampledquery",
            constraint=models.CheckConstraint(
                condition=models.Q(("left_out__in", ["", "held", "personal", "no_search", "other"])),
                name="reason_to_leave_out_is_known",
            ),
        ),
    ]

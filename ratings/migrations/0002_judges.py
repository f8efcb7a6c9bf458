"""Judges: versions, runs, grades, samples, uses and probes. No rater is a machine any more."""

from decimal import Decimal

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0001_record"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Judge",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("name", models.CharField(max_length=150)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="judges",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "name"),
                        name="one_judge_per_name",
                        violation_error_message="The collection has a judge of this name already.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgeSample",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "drawn",
                    models.BooleanField(
                        default=True, help_text="False: the pairs that people had rated, which nobody drew."
                    ),
                ),
                ("seed", models.BigIntegerField(null=True)),
                ("options", models.JSONField(default=dict, help_text="How it was drawn.")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "judge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="samples", to="ratings.judge"
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("drawn", False), ("seed__isnull", False), _connector="OR"),
                        name="a_draw_has_its_seed",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgeVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("number", models.PositiveIntegerField(help_text="From 1 for each judge.")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("template", models.CharField(help_text="The name of the template of the prompt.", max_length=20)),
                (
                    "prompt",
                    models.TextField(help_text="The whole text, with places for what differs between pairs."),
                ),
                ("parts", models.JSONField(default=dict)),
                (
                    "scale",
                    models.JSONField(
                        help_text="The values of the scale that it was told, as texts, lowest first."
                    ),
                ),
                ("scale_version", models.PositiveIntegerField(default=1)),
                ("guidelines_version", models.PositiveIntegerField(default=0, help_text="0: there were none.")),
                ("presentation_version", models.PositiveIntegerField(default=0, help_text="0: there was none.")),
                ("prompt_sha256", models.CharField(max_length=64)),
                ("guidelines_sha256", models.CharField(max_length=64)),
                ("presentation_sha256", models.CharField(max_length=64)),
                (
                    "endpoint",
                    models.CharField(
                        blank=True, help_text="Empty: the grades were made elsewhere.", max_length=500
                    ),
                ),
                ("model", models.CharField(help_text="The model that is asked for.", max_length=200)),
                (
                    "sampling",
                    models.JSONField(default=dict, help_text="Parameters that are sent with every call."),
                ),
                ("schema", models.JSONField(default=dict, help_text="The JSON schema of an answer.")),
                (
                    "structured",
                    models.BooleanField(
                        default=True, help_text="The schema is sent, for servers that hold to it."
                    ),
                ),
                (
                    "parser",
                    models.PositiveSmallIntegerField(
                        help_text="The version of the parser of answers. 0: unknown."
                    ),
                ),
                ("seed", models.BigIntegerField(help_text="Sent with every call. Empty: unknown.", null=True)),
                ("price_in", models.DecimalField(decimal_places=6, default=Decimal("0"), max_digits=14)),
                ("price_out", models.DecimalField(decimal_places=6, default=Decimal("0"), max_digits=14)),
                (
                    "fingerprint",
                    models.CharField(
                        help_text="SHA-256 of all of this but number, moment and account.", max_length=64
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "judge",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="ratings.judge",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "versions of judges",
                "ordering": ["-number"],
                "constraints": [
                    models.UniqueConstraint(fields=("judge", "number"), name="one_judge_version_per_number"),
                    models.UniqueConstraint(fields=("judge", "fingerprint"), name="one_judge_version_per_content"),
                    models.CheckConstraint(
                        condition=models.Q(("number__gte", 1), ("price_in__gte", 0), ("price_out__gte", 0)),
                        name="judge_version_counts",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgeRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "choice",
                    models.CharField(
                        choices=[
                            ("sample", "the judge's own sample"),
                            ("pool", "the pool"),
                            ("holes", "holes"),
                            ("rated", "pairs that people rated"),
                            ("random", "a random part of the pool"),
                            ("imported", "imported"),
                            ("probes", "probes"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "options",
                    models.JSONField(default=dict, help_text="Of the choice: depth, size, seed, repeats."),
                ),
                ("concurrency", models.PositiveSmallIntegerField(default=4, help_text="Calls at the same time.")),
                (
                    "per_minute",
                    models.PositiveIntegerField(default=0, help_text="Calls a minute at most. 0: no limit."),
                ),
                ("most_calls", models.PositiveIntegerField(help_text="Calls at most, tries included.")),
                (
                    "most_cost",
                    models.DecimalField(
                        decimal_places=6, help_text="Cost at most. Empty: no limit.", max_digits=14, null=True
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "waiting"),
                            ("running", "at work"),
                            ("paused", "paused"),
                            ("capped", "stopped at its cap"),
                            ("done", "done"),
                            ("cancelled", "cancelled"),
                            ("failed", "failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("message", models.CharField(blank=True, max_length=300)),
                (
                    "pairs",
                    models.PositiveIntegerField(
                        default=0, help_text="Pairs to be graded, each as often as it is repeated."
                    ),
                ),
                ("graded", models.PositiveIntegerField(default=0)),
                ("ungraded", models.PositiveIntegerField(default=0)),
                ("calls", models.PositiveIntegerField(default=0)),
                ("tokens_in", models.PositiveBigIntegerField(default=0)),
                ("tokens_out", models.PositiveBigIntegerField(default=0)),
                ("cost", models.DecimalField(decimal_places=6, default=Decimal("0"), max_digits=14)),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("beat_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="ratings.judgeversion"
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "paused", "capped", "done", "cancelled", "failed"])
                        ),
                        name="judge_run_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("calls__lte", models.F("most_calls")), ("concurrency__gte", 1)),
                        name="judge_run_within_its_cap",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("choice__in", ["sample", "pool", "holes", "rated", "random", "imported", "probes"])
                        ),
                        name="judge_run_choice_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgeUse",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "use",
                    models.CharField(
                        choices=[
                            ("expected", "to predict missing judgments in expected values"),
                            ("alone", "for columns of their own, machine only"),
                        ],
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "judge",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="uses",
                        to="ratings.judge",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="uses", to="ratings.judgeversion"
                    ),
                ),
            ],
            options={
                "ordering": ["judge", "use"],
                "constraints": [
                    models.UniqueConstraint(fields=("judge", "use"), name="one_version_of_a_judge_per_use"),
                    models.CheckConstraint(
                        condition=models.Q(("use__in", ["expected", "alone"])), name="judge_use_is_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SampledPair",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("stratum", models.CharField(blank=True, max_length=100)),
                ("probability", models.FloatField(help_text="Empty: it was not drawn.", null=True)),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.document"
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.query"
                    ),
                ),
                (
                    "sample",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pairs",
                        to="ratings.judgesample",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("sample", "query", "document"), name="a_pair_is_sampled_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("probability__isnull", True),
                            models.Q(("probability__gt", 0), ("probability__lte", 1)),
                            _connector="OR",
                        ),
                        name="a_chance_is_above_0_and_at_most_1",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MachineGrade",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "repeat",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="From 1: the same pair asked once more."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "waiting"), ("graded", "graded"), ("ungraded", "no grade")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                (
                    "value",
                    models.DecimalField(
                        decimal_places=9, help_text="On the collection's scale.", max_digits=15, null=True
                    ),
                ),
                (
                    "problem",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("not_json", "the answer is not the JSON that was asked for"),
                            ("off_scale", "the grade is not on the scale"),
                            ("refusal", "the model refused"),
                            ("cut", "the answer was cut off"),
                            ("empty", "the answer is empty"),
                            ("no_answer", "the server's answer is none of its convention"),
                            ("busy", "the server was too busy"),
                            ("error", "the server reported an error"),
                            ("timeout", "there was no answer in time"),
                            ("network", "the connection failed"),
                            ("unknown", "made elsewhere, without a reason"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "detail",
                    models.CharField(blank=True, help_text="What the server or the parser said.", max_length=300),
                ),
                ("answer", models.TextField(blank=True, help_text="The raw answer, as the model gave it.")),
                (
                    "model",
                    models.CharField(blank=True, help_text="The model that the answer names.", max_length=200),
                ),
                ("tokens_in", models.PositiveIntegerField(null=True)),
                ("tokens_out", models.PositiveIntegerField(null=True)),
                ("cost", models.DecimalField(decimal_places=6, max_digits=14, null=True)),
                ("seconds", models.FloatField(help_text="Of the last try.", null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("at", models.DateTimeField(help_text="When it was answered.", null=True)),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.document"
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.query"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grades",
                        to="ratings.judgerun",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grades",
                        to="ratings.judgeversion",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [models.Index(fields=["run", "state", "id"], name="machine_grade_by_run")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("version", "query", "document", "repeat"), name="a_judge_is_asked_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("problem", ""), ("state", "graded"), ("value__isnull", False)),
                            models.Q(
                                ("state", "ungraded"),
                                ("value__isnull", True),
                                models.Q(("problem", ""), _negated=True),
                            ),
                            models.Q(("problem", ""), ("state", "waiting"), ("value__isnull", True)),
                            _connector="OR",
                        ),
                        name="a_machine_grade_or_its_problem",
                    ),
                    models.CheckConstraint(condition=models.Q(("repeat__gte", 1)), name="repeats_count_from_1"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Probe",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "waiting"), ("graded", "graded"), ("ungraded", "no grade")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                (
                    "value",
                    models.DecimalField(
                        decimal_places=9, help_text="On the collection's scale.", max_digits=15, null=True
                    ),
                ),
                (
                    "problem",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("not_json", "the answer is not the JSON that was asked for"),
                            ("off_scale", "the grade is not on the scale"),
                            ("refusal", "the model refused"),
                            ("cut", "the answer was cut off"),
                            ("empty", "the answer is empty"),
                            ("no_answer", "the server's answer is none of its convention"),
                            ("busy", "the server was too busy"),
                            ("error", "the server reported an error"),
                            ("timeout", "there was no answer in time"),
                            ("network", "the connection failed"),
                            ("unknown", "made elsewhere, without a reason"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "detail",
                    models.CharField(blank=True, help_text="What the server or the parser said.", max_length=300),
                ),
                ("answer", models.TextField(blank=True, help_text="The raw answer, as the model gave it.")),
                (
                    "model",
                    models.CharField(blank=True, help_text="The model that the answer names.", max_length=200),
                ),
                ("tokens_in", models.PositiveIntegerField(null=True)),
                ("tokens_out", models.PositiveIntegerField(null=True)),
                ("cost", models.DecimalField(decimal_places=6, max_digits=14, null=True)),
                ("seconds", models.FloatField(help_text="Of the last try.", null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("at", models.DateTimeField(help_text="When it was answered.", null=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("stuffed", "stuffed with the query"),
                            ("injection", "an instruction to give the best grade"),
                            ("empty", "empty"),
                            ("language", "in another language"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.query"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="probes",
                        to="ratings.judgerun",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="probes",
                        to="ratings.judgeversion",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [models.Index(fields=["run", "state", "id"], name="probe_by_run")],
                "constraints": [
                    models.UniqueConstraint(fields=("version", "query", "kind"), name="a_probe_is_asked_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("problem", ""), ("state", "graded"), ("value__isnull", False)),
                            models.Q(
                                ("state", "ungraded"),
                                ("value__isnull", True),
                                models.Q(("problem", ""), _negated=True),
                            ),
                            models.Q(("problem", ""), ("state", "waiting"), ("value__isnull", True)),
                            _connector="OR",
                        ),
                        name="a_probe_or_its_problem",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["stuffed", "injection", "empty", "language"])),
                        name="probe_kind_is_known",
                    ),
                ],
            },
        ),
        migrations.RemoveConstraint(
            model_name="rater",
            name="kind_is_known",
        ),
        migrations.AlterField(
            model_name="rater",
            name="kind",
            field=models.CharField(
                choices=[("person", "person"), ("imported", "imported")], default="person", max_length=10
            ),
        ),
        migrations.AddConstraint(
            model_name="rater",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["person", "imported"])), name="kind_is_known"
            ),
        ),
    ]

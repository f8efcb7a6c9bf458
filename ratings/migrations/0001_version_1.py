"""The record as version 1.0 has it."""

import uuid
from decimal import Decimal

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import ratings.models.allowed_host
import ratings.models.fields
import ratings.models.notice
import ratings.models.rating

# PostgreSQL counts anew the rows of tables that grow while people rate, after some thousand changes. By default it
# waits for a tenth of the table. Where there are a million ratings, it then takes a new rater, who has rated five
# hundred pairs, for one without a rating, reads all that they did for each candidate, and a claim takes seconds in
# place of a tenth of one.
TABLES = ("ratings_assignment", "ratings_rating", "ratings_ratingevent")
FRESH = "autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000"


def keep_statistics_fresh(apps, schema_editor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(f"ALTER TABLE {table} SET ({FRESH})")


LZ4 = """DO $$ BEGIN
    ALTER TABLE ratings_ranking ALTER documents SET COMPRESSION lz4, ALTER scores SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL; END $$"""


def compress_by_lz4(apps, schema_editor) -> None:
    """Compress rankings by lz4, in a tenth of the time of PostgreSQL's default, if it was built with lz4."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(LZ4)


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        # Not needed, but quicker before than after: each change of a table costs time for each known model.
        ("mfa", "0003_authenticator_type_uniq"),
        ("socialaccount", "0006_alter_socialaccount_extra_data"),
    ]

    operations = [
        migrations.CreateModel(
            name="AccountLanguage",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="language",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("code", models.CharField(max_length=10)),
            ],
        ),
        migrations.CreateModel(
            name="SuperuserByGroup",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("at", models.DateTimeField(db_index=True)),
                ("act", models.CharField(max_length=40)),
                (
                    "way",
                    models.CharField(
                        choices=[
                            ("page", "page"),
                            ("token", "token"),
                            ("command", "command"),
                            ("worker", "worker"),
                        ],
                        max_length=7,
                    ),
                ),
                ("account", models.BigIntegerField(help_text="The number of the account that did it.", null=True)),
                (
                    "name",
                    models.CharField(
                        blank=True,
                        help_text="Of that account; of a command, the user of the operating system.",
                        max_length=150,
                    ),
                ),
                (
                    "token",
                    models.CharField(
                        blank=True,
                        help_text="The name of the token, or of the command, by which it was done.",
                        max_length=100,
                    ),
                ),
                ("address", models.CharField(blank=True, max_length=45)),
                ("collection", models.BigIntegerField(null=True)),
                (
                    "slug",
                    models.CharField(
                        blank=True, help_text="What the collection was called in addresses.", max_length=80
                    ),
                ),
                ("about", models.CharField(blank=True, help_text="What or whom it was done to.", max_length=200)),
                ("detail", models.JSONField(default=dict)),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(fields=["collection", "-id"], name="audit_of_collection"),
                    models.Index(fields=["account", "-id"], name="audit_of_account"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Collection",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "slug",
                    models.SlugField(
                        help_text="The name in addresses and commands.", max_length=80, null=True, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                (
                    "relevant_from",
                    models.DecimalField(
                        decimal_places=9,
                        default=Decimal("1"),
                        help_text="The lowest grade that counts as relevant for P, R, AP and RR.",
                        max_digits=15,
                    ),
                ),
                (
                    "order",
                    models.CharField(
                        choices=[
                            ("query", "query by query, in random order"),
                            ("depth", "best ranked first"),
                            ("random", "at random"),
                            ("decisive", "most useful first"),
                        ],
                        default="query",
                        help_text="In which order raters get documents. With the best first they can guess what ranks high.",
                        max_length=10,
                        verbose_name="order of rating",
                    ),
                ),
                ("aim", models.JSONField(blank=True, default=dict, editable=False)),
                ("default_options", models.JSONField(blank=True, default=dict, editable=False)),
                (
                    "gold_share",
                    models.DecimalField(
                        decimal_places=2,
                        default=Decimal("0"),
                        help_text="Share of gold in a rater's work: 0.1 is one pair in ten.",
                        max_digits=3,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(Decimal("0.5")),
                        ],
                        verbose_name="share of gold pairs",
                    ),
                ),
                (
                    "repeat_share",
                    models.DecimalField(
                        decimal_places=2,
                        default=Decimal("0"),
                        help_text="Share of a rater's work that they graded before. It shows whether they agree with themselves.",
                        max_digits=3,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(Decimal("0.5")),
                        ],
                        verbose_name="share of repeats",
                    ),
                ),
                (
                    "break_after",
                    models.PositiveSmallIntegerField(
                        default=50,
                        help_text="After how many ratings in a row a rater is offered a break. 0: never.",
                        verbose_name="offer a break after",
                    ),
                ),
                (
                    "reminds",
                    models.BooleanField(
                        default=False,
                        help_text="At most one a day, and one a week to somebody who does nothing. Each has a link to end them.",
                        verbose_name="mail raters when work waits",
                    ),
                ),
                ("scale_version", models.PositiveIntegerField(default=1, editable=False)),
                ("version", models.PositiveBigIntegerField(default=0, editable=False)),
                ("decided", models.PositiveBigIntegerField(default=0, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("put_away_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("order__in", ["query", "depth", "random", "decisive"])),
                        name="order_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("gold_share__gte", 0),
                            ("gold_share__lte", Decimal("0.5")),
                            ("repeat_share__gte", 0),
                            ("repeat_share__lte", Decimal("0.5")),
                        ),
                        name="shares_are_from_0_to_a_half",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AllowedHost",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "host",
                    models.CharField(
                        help_text="Its name in small letters; with a port, for that port alone.",
                        max_length=255,
                        validators=[
                            django.core.validators.RegexValidator(
                                rf"\A{ratings.models.allowed_host.NAME}\Z",
                                "Write the name of a public host, such as images.example.org or es.example.org:9243.",
                            )
                        ],
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("pictures", "pictures"),
                            ("engines", "search engines"),
                            ("webhooks", "webhooks"),
                        ],
                        max_length=8,
                    ),
                ),
                ("allowed_at", models.DateTimeField(auto_now_add=True)),
                (
                    "allowed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["host"],
                "constraints": [
                    models.UniqueConstraint(fields=("purpose", "host"), name="one_allowed_host_per_purpose"),
                    models.CheckConstraint(
                        condition=models.Q(("purpose__in", ["pictures", "engines", "webhooks"])),
                        name="purpose_of_host_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("name", models.CharField(help_text="What it is for.", max_length=100)),
                ("key_hash", models.CharField(editable=False, max_length=64, unique=True)),
                ("scopes", models.JSONField(default=list)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(null=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="Deletion",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("slug", models.SlugField(help_text="What it had as its name in addresses.", max_length=80)),
                ("deleted_at", models.DateTimeField()),
                ("remove_at", models.DateTimeField()),
                (
                    "removing",
                    models.BooleanField(
                        default=False, help_text="A worker removes its rows: it cannot be restored."
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
                    "collection",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deletion",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "ordering": ["-deleted_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="Document",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "key",
                    models.CharField(
                        help_text="The id outside Idealist.",
                        max_length=500,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[^\\s\\x00-\\x1f\\x7f]+$", "A key has no blanks and no control characters."
                            )
                        ],
                    ),
                ),
                ("title", models.TextField(blank=True)),
                ("body", models.TextField(blank=True)),
                ("url", models.TextField(blank=True)),
                ("fields", models.JSONField(blank=True, default=dict)),
                (
                    "collection",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="documents",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "key"), name="one_document_per_key"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Grade",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("value", models.DecimalField(decimal_places=9, max_digits=15)),
                ("label", models.CharField(blank=True, max_length=60)),
                ("meaning", models.TextField(blank=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="grades", to="ratings.collection"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "value"),
                        name="one_grade_per_value",
                        violation_error_message="The scale has this value already.",
                    ),
                ],
                "ordering": ["value"],
            },
        ),
        migrations.CreateModel(
            name="Guidelines",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("version", models.PositiveIntegerField()),
                ("text", models.TextField(help_text="Markdown.")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="guidelines",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "version"), name="one_guidelines_per_version"),
                ],
                "verbose_name_plural": "guidelines",
                "ordering": ["-version"],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("rater", "rater"), ("analyst", "analyst"), ("admin", "admin")],
                        default="rater",
                        max_length=10,
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Whom it is for: a name or an address, for the list only.", max_length=150
                    ),
                ),
                ("mailed", models.BooleanField(default=False, editable=False)),
                ("language", models.CharField(default="en", max_length=10)),
                ("key_hash", models.CharField(editable=False, max_length=64, unique=True)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(null=True)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                (
                    "accepted_by",
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
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
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["rater", "analyst", "admin"])),
                        name="invitation_role_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("accepted_at__isnull", True), ("withdrawn_at__isnull", True), _connector="OR"
                        ),
                        name="accepted_or_withdrawn",
                    ),
                ],
                "ordering": ["-created_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("queries", "queries"),
                            ("documents", "documents"),
                            ("results", "runs"),
                            ("ratings", "ratings"),
                            ("beir", "data set"),
                            ("archive", "collection"),
                            ("pictures", "pictures"),
                            ("copy", "copy"),
                            ("log", "log"),
                            ("engine", "results"),
                            ("night", "results"),
                        ],
                        max_length=10,
                    ),
                ),
                ("options", models.JSONField(default=dict, help_text="The answers on how to read the files.")),
                ("header", models.JSONField(default=list, help_text="The names of the columns, in their order.")),
                ("files", models.JSONField(default=list)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "waiting"),
                            ("running", "at work"),
                            ("checked", "checked"),
                            ("published", "imported"),
                            ("refused", "refused"),
                            ("cancelled", "cancelled"),
                            ("failed", "failed"),
                            ("undone", "undone"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "checking",
                    models.BooleanField(default=False, help_text="Reads and checks, and writes nothing."),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                (
                    "deaths",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="How many workers died while they did it."
                    ),
                ),
                ("beat_at", models.DateTimeField(null=True)),
                ("message", models.CharField(blank=True, max_length=200)),
                ("report", models.JSONField(default=dict)),
                ("former", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
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
                    "collection",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="jobs",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "queued",
                                    "running",
                                    "checked",
                                    "published",
                                    "refused",
                                    "cancelled",
                                    "failed",
                                    "undone",
                                ],
                            )
                        ),
                        name="job_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["archive", "copy"]), ("collection__isnull", False), _connector="OR"
                        ),
                        name="job_has_its_collection",
                    ),
                ],
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="FormerText",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("title", models.TextField()),
                ("body", models.TextField()),
                ("url", models.TextField()),
                ("fields", models.JSONField()),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="former_texts",
                        to="ratings.document",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="former_texts",
                        to="ratings.job",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("job", "document"), name="one_former_text"),
                ],
            },
        ),
        migrations.AddField(
            model_name="document",
            name="job",
            field=models.ForeignKey(
                db_constraint=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="documents",
                to="ratings.job",
            ),
        ),
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "name"),
                        name="one_judge_per_name",
                        violation_error_message="The collection has a judge of this name already.",
                    ),
                ],
                "ordering": ["name"],
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
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("drawn", False), ("seed__isnull", False), _connector="OR"),
                        name="a_draw_has_its_seed",
                    ),
                ],
                "ordering": ["-pk"],
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
                "constraints": [
                    models.UniqueConstraint(fields=("judge", "number"), name="one_judge_version_per_number"),
                    models.UniqueConstraint(fields=("judge", "fingerprint"), name="one_judge_version_per_content"),
                    models.CheckConstraint(
                        condition=models.Q(("number__gte", 1), ("price_in__gte", 0), ("price_out__gte", 0)),
                        name="judge_version_counts",
                    ),
                ],
                "verbose_name_plural": "versions of judges",
                "ordering": ["-number"],
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
                            ("triage", "to draw first what people are likely to grade otherwise"),
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
                "constraints": [
                    models.UniqueConstraint(fields=("judge", "use"), name="one_version_of_a_judge_per_use"),
                    models.CheckConstraint(
                        condition=models.Q(("use__in", ["expected", "alone", "triage"])), name="judge_use_is_known"
                    ),
                ],
                "ordering": ["judge", "use"],
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
                            ("again", "pairs that it graded, once more"),
                            ("imported", "imported"),
                            ("probes", "probes"),
                        ],
                        max_length=10,
                    ),
                ),
                ("options", models.JSONField(default=dict, help_text="Of the choice: depth, size, seed.")),
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
                ("pairs", models.PositiveIntegerField(default=0, help_text="Pairs to be graded.")),
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
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "paused", "capped", "done", "cancelled", "failed"])
                        ),
                        name="judge_run_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "choice__in",
                                ["sample", "pool", "holes", "rated", "random", "again", "imported", "probes"],
                            )
                        ),
                        name="judge_run_choice_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("calls__lte", models.F("most_calls")), ("concurrency__gte", 1)),
                        name="judge_run_within_its_cap",
                    ),
                ],
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("rater", "rater"), ("analyst", "analyst"), ("admin", "admin")], max_length=10
                    ),
                ),
                (
                    "by_group",
                    models.BooleanField(
                        default=False,
                        help_text="Given by a group of the sign-in provider, and taken back with it.",
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="ratings.collection",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "user"),
                        name="one_role_per_person",
                        violation_error_message="This person has a role in the collection already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["rater", "analyst", "admin"])), name="role_is_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Pair",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("token", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "wanted",
                    models.PositiveSmallIntegerField(default=0, help_text="How many grades this pair should get."),
                ),
                ("depth", models.PositiveIntegerField(default=2147483647, editable=False)),
                ("born", models.PositiveIntegerField(default=0, editable=False)),
                ("known", models.PositiveIntegerField(editable=False, null=True)),
                ("retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="pairs", to="ratings.document"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Anchor",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("use", models.CharField(choices=[("warm_up", "warm-up"), ("gold", "gold")], max_length=7)),
                (
                    "explanation",
                    models.TextField(blank=True, help_text="Why this grade: shown after the answer in a warm-up."),
                ),
                ("created_at", models.DateTimeField()),
                (
                    "grade",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="anchors", to="ratings.grade"
                    ),
                ),
                (
                    "pair",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="anchor", to="ratings.pair"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("use__in", ["warm_up", "gold"])), name="use_of_anchor_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("use", "gold"), models.Q(("explanation", ""), _negated=True), _connector="OR"
                        ),
                        name="a_warm_up_has_an_explanation",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Adjudication",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("reason", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "grade",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="adjudications",
                        to="ratings.grade",
                    ),
                ),
                (
                    "pair",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="adjudication", to="ratings.pair"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Picture",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("digest", models.CharField(max_length=64)),
                ("source", models.TextField(help_text="Of data: its beginning.")),
                (
                    "named_by",
                    models.TextField(
                        blank=True, help_text="The key of the first document or query that names it."
                    ),
                ),
                ("token", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("wanted", "not here yet"), ("ready", "ready"), ("refused", "missing")],
                        default="wanted",
                        max_length=7,
                    ),
                ),
                ("problem", models.CharField(blank=True, max_length=300)),
                ("small", models.CharField(blank=True, max_length=64)),
                ("large", models.CharField(blank=True, max_length=64)),
                ("width", models.PositiveIntegerField(default=0, help_text="Of the small one, in pixels.")),
                ("height", models.PositiveIntegerField(default=0)),
                (
                    "collection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pictures",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["collection", "state", "id"], name="picture_by_state"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "digest"), name="one_picture_per_source"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["wanted", "ready", "refused"])),
                        name="picture_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "ready"), _negated=True),
                            models.Q(
                                models.Q(("small", ""), _negated=True), models.Q(("large", ""), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="a_ready_picture_has_files",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Presentation",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("version", models.PositiveIntegerField()),
                ("content", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="presentations",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "version"), name="one_presentation_per_version"),
                ],
                "ordering": ["-version"],
            },
        ),
        migrations.CreateModel(
            name="Query",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "key",
                    models.CharField(
                        help_text="The id outside Idealist.",
                        max_length=500,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[^\\s\\x00-\\x1f\\x7f]+$", "A key has no blanks and no control characters."
                            )
                        ],
                    ),
                ),
                ("text", models.TextField()),
                ("need", models.TextField(blank=True, verbose_name="information need")),
                ("tags", models.JSONField(blank=True, default=list)),
                ("fields", models.JSONField(blank=True, default=dict)),
                ("weight", models.FloatField(default=1, validators=[django.core.validators.MinValueValidator(0)])),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="queries",
                        to="ratings.collection",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="queries",
                        to="ratings.job",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "key"), name="one_query_per_key"),
                    models.CheckConstraint(condition=models.Q(("weight__gte", 0)), name="weight_is_not_negative"),
                ],
                "verbose_name_plural": "queries",
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
                (
                    "query",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.query"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run", "state", "id"], name="probe_by_run"),
                ],
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
                "ordering": ["pk"],
            },
        ),
        migrations.AddField(
            model_name="pair",
            name="query",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="pairs",
                to="ratings.query",
            ),
        ),
        migrations.CreateModel(
            name="MachineGrade",
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
                    "repeat",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="From 1: the same pair asked once more."
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.document"
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
                (
                    "query",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.query"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run", "state", "id"], name="machine_grade_by_run"),
                ],
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
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Rater",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("name", models.CharField(max_length=150)),
                (
                    "kind",
                    models.CharField(
                        choices=[("person", "person"), ("imported", "imported")], default="person", max_length=10
                    ),
                ),
                (
                    "weight",
                    models.DecimalField(
                        decimal_places=3,
                        default=Decimal("1"),
                        help_text="The weight of this rater's grades in judgments by the weighted mean. At 0 they do not count.",
                        max_digits=7,
                        validators=[django.core.validators.MinValueValidator(0)],
                    ),
                ),
                (
                    "active",
                    models.BooleanField(
                        default=True,
                        help_text="A rater who is not active gets nothing to rate. What they rated stays and counts.",
                    ),
                ),
                ("left_out_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "limit",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="How many pairs this rater may rate at most. Empty: no limit.",
                        null=True,
                    ),
                ),
                ("guidelines_read", models.PositiveIntegerField(default=0, editable=False)),
                ("warmed_up_at", models.DateTimeField(editable=False, null=True)),
                ("reminded_at", models.DateTimeField(editable=False, null=True)),
                (
                    "no_mail",
                    models.BooleanField(
                        default=False, editable=False, help_text="They want no mail about work that waits."
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="raters", to="ratings.collection"
                    ),
                ),
                (
                    "queries",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Rates only these queries. Empty: all.",
                        related_name="+",
                        to="ratings.query",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="raters",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("collection", "name"),
                        name="one_rater_per_name",
                        violation_error_message="The collection has a rater of this name already.",
                    ),
                    models.UniqueConstraint(fields=("collection", "user"), name="one_rater_per_person"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["person", "imported"])), name="kind_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("weight__gte", 0)), name="rater_weight_is_not_negative"
                    ),
                ],
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="LostLease",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.pair"
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="ratings.rater",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("rater", "pair"), name="one_lost_lease"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "open"), ("leased", "leased"), ("done", "done")],
                        default="open",
                        max_length=6,
                    ),
                ),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                (
                    "extra",
                    models.BooleanField(
                        default=False, help_text="Beyond the number wanted: a gold pair for this rater."
                    ),
                ),
                (
                    "depth",
                    models.PositiveIntegerField(
                        default=2147483647,
                        help_text="The best place that a system of the pool gives the document.",
                    ),
                ),
                (
                    "lot",
                    models.PositiveIntegerField(
                        default=ratings.models.rating.drawn_lot,
                        help_text="Drawn once: the order of pairs that are otherwise equal.",
                    ),
                ),
                ("round", models.PositiveIntegerField(default=2147483647, editable=False)),
                ("turn", models.IntegerField(default=0, editable=False)),
                (
                    "collection",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ratings.collection",
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="assignments", to="ratings.pair"
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ratings.query",
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="assignments",
                        to="ratings.rater",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(
                            models.Q(("rater__isnull", True), ("leased_until__isnull", False), _connector="OR"),
                            ("round__isnull", False),
                        ),
                        fields=["collection", "round", "lot"],
                        name="assignment_by_lot",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("rater__isnull", True), ("leased_until__isnull", False), _connector="OR"
                        ),
                        fields=["query", "lot"],
                        name="assignment_by_query",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("rater__isnull", True), ("leased_until__isnull", False), _connector="OR"
                        ),
                        fields=["collection", "depth", "lot"],
                        name="assignment_by_depth",
                    ),
                    models.Index(
                        condition=models.Q(
                            models.Q(("rater__isnull", True), ("leased_until__isnull", False), _connector="OR"),
                            ("round__isnull", False),
                        ),
                        fields=["collection", "round", "query", "lot"],
                        name="assignment_by_round",
                    ),
                    models.Index(
                        condition=models.Q(("leased_until__isnull", False)),
                        fields=["collection", "leased_until"],
                        name="assignment_leased",
                    ),
                    models.Index(
                        condition=models.Q(("rater__isnull", False)),
                        fields=["rater", "state"],
                        name="assignment_of_rater",
                    ),
                    models.Index(
                        condition=models.Q(("extra", True)),
                        fields=["collection", "state"],
                        name="assignment_extra",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("rater__isnull", False)),
                        fields=("pair", "rater"),
                        name="one_assignment_per_rater",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("leased_until__isnull", True), ("rater__isnull", True), ("state", "open")),
                            models.Q(
                                ("leased_until__isnull", False), ("rater__isnull", False), ("state", "leased")
                            ),
                            models.Q(("leased_until__isnull", True), ("rater__isnull", False), ("state", "done")),
                            _connector="OR",
                        ),
                        name="assignment_state_is_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("extra", False), ("rater__isnull", False), _connector="OR"),
                        name="extra_assignment_has_a_rater",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Rating",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("broken", "The text is missing or broken"),
                            ("language", "I do not read this language"),
                            ("knowledge", "I do not know the subject"),
                            ("unclear", "The query is unclear"),
                            ("other", "Another reason"),
                            ("picture", "The picture is missing"),
                        ],
                        max_length=10,
                    ),
                ),
                ("comment", models.TextField(blank=True)),
                ("revision", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("set_aside_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ratings.document",
                    ),
                ),
                (
                    "grade",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="ratings",
                        to="ratings.grade",
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ratings",
                        to="ratings.pair",
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ratings.query",
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="ratings", to="ratings.rater"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("pair", "rater"), name="one_rating_per_rater"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("grade__isnull", False), ("reason", "")),
                            models.Q(
                                ("grade__isnull", True),
                                ("reason__in", ["broken", "language", "knowledge", "unclear", "other", "picture"]),
                            ),
                            _connector="OR",
                        ),
                        name="grade_or_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RatingEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("grade", "graded"),
                            ("cannot", "could not judge"),
                            ("skip", "put off"),
                            ("undo", "undid"),
                            ("import", "imported"),
                            ("adjudicate", "adjudicated"),
                            ("warm_up", "warmed up"),
                            ("repeat", "graded again"),
                            ("ask_again", "asked again"),
                        ],
                        max_length=10,
                    ),
                ),
                ("value", models.DecimalField(decimal_places=9, max_digits=15, null=True)),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("broken", "The text is missing or broken"),
                            ("language", "I do not read this language"),
                            ("knowledge", "I do not know the subject"),
                            ("unclear", "The query is unclear"),
                            ("other", "Another reason"),
                            ("picture", "The picture is missing"),
                        ],
                        max_length=10,
                    ),
                ),
                ("comment", models.TextField(blank=True)),
                ("scale_version", models.PositiveIntegerField()),
                ("guidelines_version", models.PositiveIntegerField(default=0)),
                (
                    "presentation_version",
                    models.PositiveIntegerField(default=0, help_text="How the document was shown."),
                ),
                (
                    "opened",
                    models.BooleanField(
                        default=False, help_text="Whether the rater opened a link of the document."
                    ),
                ),
                ("seconds", models.FloatField(help_text="Time spent on the pair.", null=True)),
                (
                    "shown",
                    models.CharField(
                        blank=True,
                        choices=[("one", "alone"), ("list", "in a list")],
                        help_text="How the document was shown: alone or in a list.",
                        max_length=4,
                    ),
                ),
                (
                    "client_key",
                    models.UUIDField(
                        help_text="Made by the client: a retry has the same key and is the same act.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField()),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="events",
                        to="ratings.job",
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="ratings.pair",
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="events",
                        to="ratings.rater",
                    ),
                ),
                (
                    "undoes",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="undone_by",
                        to="ratings.ratingevent",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["rater", "-id"], name="event_latest_of_rater"),
                    models.Index(fields=["pair", "rater"], name="event_of_rater_on_pair"),
                    models.Index(
                        condition=models.Q(("job__isnull", False)), fields=["job"], name="event_of_import"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("rater", "client_key"), name="one_event_per_client_key"),
                    models.CheckConstraint(
                        condition=models.Q(("seconds__isnull", True), ("seconds__gte", 0), _connector="OR"),
                        name="seconds_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind__in", ["undo", "ask_again"]), ("undoes__isnull", False)),
                            models.Q(
                                models.Q(("kind__in", ["undo", "ask_again"]), _negated=True),
                                ("undoes__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="an_undo_undoes_one_event",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rater__isnull", False), ("kind__in", ["adjudicate", "undo"]), _connector="OR"
                        ),
                        name="event_has_a_rater",
                    ),
                ],
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Check",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("kind", models.CharField(choices=[("warm_up", "warm-up"), ("repeat", "repeat")], max_length=7)),
                ("token", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("created_at", models.DateTimeField()),
                ("turn", models.IntegerField(editable=False, null=True)),
                ("place", models.PositiveIntegerField(default=0, editable=False)),
                (
                    "pair",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="checks", to="ratings.pair"
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="checks", to="ratings.rater"
                    ),
                ),
                (
                    "event",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="+",
                        to="ratings.ratingevent",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("rater", "pair", "kind"), name="one_check_of_a_kind"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["warm_up", "repeat"])), name="kind_of_check_is_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Receipt",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("key", models.CharField(max_length=200)),
                ("digest", models.CharField(help_text="SHA-256 of what was sent, and where to.", max_length=64)),
                ("answer", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(db_index=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.collection"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user", "collection", "key"), name="one_receipt_per_key"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Round",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("number", models.PositiveIntegerField(help_text="From 1 in each collection.")),
                ("method", models.CharField(help_text="The version of the method.", max_length=20)),
                ("seed", models.BigIntegerField()),
                ("aim", models.JSONField()),
                ("threshold", models.FloatField(null=True)),
                ("precision", models.FloatField(help_text="What the round weighs, known before any answer.")),
                ("seen", models.JSONField()),
                ("frame", models.PositiveIntegerField(help_text="How many pairs could be drawn.")),
                ("judged", models.PositiveIntegerField(help_text="How many pairs were judged before.")),
                (
                    "version",
                    models.PositiveBigIntegerField(help_text="The version of the collection that was read."),
                ),
                ("created_at", models.DateTimeField()),
                (
                    "collection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rounds",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "number"), name="one_round_per_number"),
                    models.CheckConstraint(condition=models.Q(("number__gte", 1)), name="rounds_count_from_1"),
                    models.CheckConstraint(
                        condition=models.Q(("precision__gte", 0)), name="precision_not_negative"
                    ),
                ],
                "ordering": ["number"],
            },
        ),
        migrations.CreateModel(
            name="Drawn",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "place",
                    models.PositiveIntegerField(help_text="In the round, from 1: greedy ones first, then by key."),
                ),
                ("kind", models.CharField(choices=[("greedy", "greedy"), ("random", "at random")], max_length=6)),
                ("unit", models.PositiveIntegerField(help_text="From 1, in the order of keys.", null=True)),
                ("key", models.FloatField(null=True)),
                ("rate", models.FloatField(null=True)),
                ("within", models.FloatField(null=True)),
                (
                    "born",
                    models.PositiveIntegerField(
                        help_text="How many rounds there were before the pair came to the pool."
                    ),
                ),
                ("chances", models.JSONField()),
                (
                    "pair",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="drawn", to="ratings.pair"
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drawn",
                        to="ratings.round",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("round", "place"), name="one_pair_per_place"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("key__isnull", True),
                                ("kind", "greedy"),
                                ("rate__isnull", True),
                                ("unit__isnull", True),
                                ("within__isnull", True),
                            ),
                            models.Q(
                                ("key__gte", 0),
                                ("kind", "random"),
                                ("rate__gt", 0),
                                ("unit__gte", 1),
                                ("within__gt", 0),
                                ("within__lte", 1),
                                ("key__isnull", False),
                                ("rate__isnull", False),
                                ("unit__isnull", False),
                                ("within__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="what_is_random_has_its_chance",
                    ),
                ],
                "verbose_name_plural": "drawn pairs",
                "ordering": ["round", "place"],
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
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                (
                    "session_key",
                    models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name="session key"),
                ),
                ("session_data", models.TextField(verbose_name="session data")),
                ("expire_date", models.DateTimeField(db_index=True, verbose_name="expire date")),
                ("signed_in_at", models.DateTimeField(null=True)),
                ("browser", models.CharField(default="", max_length=60)),
                ("provider_person", models.CharField(default="", max_length=64)),
                ("provider_session", models.CharField(default="", max_length=64)),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("provider_person", ""), _negated=True),
                        fields=["provider_person"],
                        name="session_by_person",
                    ),
                    models.Index(
                        condition=models.Q(("provider_session", ""), _negated=True),
                        fields=["provider_session"],
                        name="session_by_session",
                    ),
                ],
                "ordering": ["-signed_in_at", "session_key"],
            },
        ),
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
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ratings.document",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="staged_ratings",
                        to="ratings.job",
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ratings.query",
                    ),
                ),
                (
                    "rating",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ratings.rating",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="System",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "gaps",
                    models.BooleanField(
                        default=False,
                        help_text="A query without a ranking was not answered, and has no score. Otherwise it has an empty list.",
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="systems",
                        to="ratings.collection",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="systems",
                        to="ratings.job",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "name"), name="one_system_per_name"),
                ],
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Ranking",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "documents",
                    ratings.models.fields.PackedArrayField("<u4", help_text="Document ids, best first."),
                ),
                (
                    "scores",
                    ratings.models.fields.PackedArrayField(
                        "<f8", help_text="The system's scores beside them, as read.", null=True
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="rankings",
                        to="ratings.job",
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rankings", to="ratings.query"
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rankings",
                        to="ratings.system",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("system", "query"), name="one_ranking_per_query"),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="pair",
            constraint=models.UniqueConstraint(fields=("query", "document"), name="one_pair"),
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
        migrations.CreateModel(
            name="Baseline",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("fixed", "the fixed baseline"), ("release", "the last release")], max_length=7
                    ),
                ),
                ("name", models.CharField(help_text="Of the system.", max_length=200)),
                ("reason", models.CharField(max_length=500)),
                ("chosen_at", models.DateTimeField(auto_now_add=True)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="baselines",
                        to="ratings.collection",
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
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["fixed", "release"])), name="kind_of_baseline_is_known"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Engine",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "dialect",
                    models.CharField(
                        choices=[
                            ("elasticsearch", "Elasticsearch"),
                            ("opensearch", "OpenSearch"),
                            ("solr", "Solr"),
                            ("vespa", "Vespa"),
                            ("algolia", "Algolia or alike"),
                            ("json", "another engine with JSON answers"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "address",
                    models.CharField(help_text="With {query}, {need}, {key} and {depth}.", max_length=2000),
                ),
                (
                    "body",
                    models.TextField(
                        blank=True, help_text="JSON with the same placeholders. Empty: the request is a GET."
                    ),
                ),
                ("headers", models.TextField(blank=True, help_text="NAME: value, a line each. Nothing secret.")),
                ("secret", models.CharField(blank=True, max_length=100)),
                ("secret_header", models.CharField(default="Authorization", max_length=100)),
                ("results_at", models.CharField(max_length=200)),
                ("id_at", models.CharField(max_length=200)),
                ("score_at", models.CharField(blank=True, max_length=200)),
                ("title_at", models.CharField(blank=True, max_length=200)),
                ("text_at", models.CharField(blank=True, max_length=200)),
                ("link_at", models.CharField(blank=True, max_length=200)),
                (
                    "more_at",
                    models.JSONField(
                        default=list, help_text="Paths of what else is kept of a document, as its fields."
                    ),
                ),
                (
                    "replaces_texts",
                    models.BooleanField(default=False, help_text="Also those that came from a file."),
                ),
                ("answer", models.TextField(blank=True)),
                ("answered", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "collection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="engines",
                        to="ratings.collection",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "name"), name="one_engine_per_name"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("dialect__in", ["elasticsearch", "opensearch", "solr", "vespa", "algolia", "json"])
                        ),
                        name="dialect_of_engine_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EngineAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "again",
                    models.BooleanField(
                        default=False, help_text="The second answer, which shows how the engine differs."
                    ),
                ),
                ("hits", models.BinaryField(default=b"[]", help_text="As JSON, best first.")),
                ("problem", models.CharField(blank=True, max_length=500)),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answers",
                        to="ratings.job",
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.query"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("job", "query", "again"), name="one_answer_per_query")
                ],
            },
        ),
        migrations.RunPython(keep_statistics_fresh, migrations.RunPython.noop),
        migrations.RunPython(compress_by_lz4, migrations.RunPython.noop),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "to be sent"), ("delivered", "delivered"), ("given_up", "given up")],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("next_at", models.DateTimeField(null=True)),
                ("answer", models.CharField(blank=True, max_length=300)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("watch.worse", "an alarm of a watch"),
                            ("watch.judgments", "unjudged documents decide a night"),
                            ("watch.gap", "a night without an answer"),
                            ("import.done", "an import is done"),
                            ("import.failed", "an import failed or was refused"),
                            ("rating.finished", "all wanted ratings are given"),
                            ("round.drawn", "a round was drawn"),
                            ("rater.gold", "a rater misses known grades"),
                            ("judge.drifted", "a judge answers otherwise than before"),
                            ("test", "a test"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "key",
                    models.CharField(help_text="Names what happened, so that it is noted once.", max_length=100),
                ),
                ("text", models.CharField(max_length=500)),
                ("path", models.CharField(help_text="Of the page that shows it.", max_length=300)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="Receiver",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("address", models.CharField(blank=True, max_length=2000)),
                ("salt", models.CharField(default=ratings.models.notice.new_salt, editable=False, max_length=32)),
                ("kinds", models.JSONField(default=list, help_text="Of the notices that it gets.")),
                ("gone", models.BooleanField(default=False, help_text="It answered that it is gone (410).")),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.AddField(
            model_name="notice",
            name="collection",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notices",
                to="ratings.collection",
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="notice",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="ratings.notice"
            ),
        ),
        migrations.AddField(
            model_name="receiver",
            name="collection",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="receivers",
                to="ratings.collection",
            ),
        ),
        migrations.AddField(
            model_name="receiver",
            name="user",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="receiver",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="ratings.receiver",
            ),
        ),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(fields=["collection", "-at"], name="notices_by_time"),
        ),
        migrations.AddConstraint(
            model_name="notice",
            constraint=models.UniqueConstraint(fields=("collection", "key"), name="noted_once"),
        ),
        migrations.AddConstraint(
            model_name="receiver",
            constraint=models.UniqueConstraint(fields=("collection", "user"), name="one_receiver_per_person"),
        ),
        migrations.AddConstraint(
            model_name="receiver",
            constraint=models.CheckConstraint(
                condition=models.Q(("user__isnull", True), ("address", ""), _connector="XOR"),
                name="receiver_is_person_or_address",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state", "waiting")), fields=["next_at"], name="delivery_by_next"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(fields=("receiver", "notice"), name="one_delivery_per_receiver"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["waiting", "delivered", "given_up"])),
                name="state_of_delivery_is_known",
            ),
        ),
    ]

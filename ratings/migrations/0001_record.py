"""The record: collections, content, rankings, ratings, people and jobs."""

import uuid
from decimal import Decimal

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ratings.models.fields
import ratings.models.rating


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
                            ("depth", "what systems rank best first"),
                            ("random", "at random"),
                        ],
                        default="query",
                        help_text="In which order raters get documents. With the best first they can guess what ranks high.",
                        max_length=10,
                        verbose_name="order of rating",
                    ),
                ),
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
                ("scale_version", models.PositiveIntegerField(default=1, editable=False)),
                ("version", models.PositiveBigIntegerField(default=0, editable=False)),
                ("version_of_all", models.PositiveBigIntegerField(default=0, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("order__in", ["query", "depth", "random"])), name="order_is_known"
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
                            ("archive", "collection"),
                        ],
                        max_length=10,
                    ),
                ),
                ("options", models.JSONField(default=dict, help_text="The answers on how to read the files.")),
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
                ("attended", models.BooleanField(default=False)),
                (
                    "staging",
                    models.BooleanField(default=False, help_text="What it wrote is hidden, or is being removed."),
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
                ("done", models.PositiveBigIntegerField(default=0)),
                (
                    "share",
                    models.FloatField(help_text="The share that is done, 0 to 1. Empty: unknown.", null=True),
                ),
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
                "ordering": ["-pk"],
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
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="documents",
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
                        related_name="documents",
                        to="ratings.job",
                    ),
                ),
            ],
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
        ),
        migrations.CreateModel(
            name="OtherText",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("title", models.TextField()),
                ("body", models.TextField()),
                ("url", models.TextField()),
                ("fields", models.JSONField()),
                ("exchanged", models.BooleanField(default=False)),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="other_texts",
                        to="ratings.document",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="other_texts",
                        to="ratings.job",
                    ),
                ),
            ],
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
        ),
        migrations.CreateModel(
            name="Adjudication",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("reason", models.TextField()),
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
                "verbose_name_plural": "queries",
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
                        choices=[("person", "person"), ("imported", "imported"), ("machine", "machine")],
                        default="person",
                        max_length=10,
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
                ("act", models.BigIntegerField(editable=False, null=True)),
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
                        ],
                        max_length=10,
                    ),
                ),
                ("comment", models.TextField(blank=True)),
                ("revision", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
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
                        ],
                        max_length=10,
                    ),
                ),
                ("comment", models.TextField(blank=True)),
                ("scale_version", models.PositiveIntegerField()),
                ("guidelines_version", models.PositiveIntegerField(default=0)),
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
                ("version", models.PositiveBigIntegerField(editable=False, null=True)),
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
                    "collection",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ratings.collection",
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
        ),
        migrations.AddConstraint(
            model_name="grade",
            constraint=models.UniqueConstraint(
                fields=("collection", "value"),
                name="one_grade_per_value",
                violation_error_message="The scale has this value already.",
            ),
        ),
        migrations.AddConstraint(
            model_name="guidelines",
            constraint=models.UniqueConstraint(
                fields=("collection", "version"), name="one_guidelines_per_version"
            ),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["rater", "analyst", "admin"])), name="invitation_role_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.CheckConstraint(
                condition=models.Q(("accepted_at__isnull", True), ("withdrawn_at__isnull", True), _connector="OR"),
                name="accepted_or_withdrawn",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.UniqueConstraint(
                condition=models.Q(("staging", True)), fields=("collection",), name="one_import_at_a_time"
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        ["queued", "running", "checked", "published", "refused", "cancelled", "failed", "undone"],
                    )
                ),
                name="job_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "published"), _negated=True), ("staging", False), _connector="OR"
                ),
                name="what_is_published_is_seen",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "archive"), ("staging", False)),
                    ("collection__isnull", False),
                    _connector="OR",
                ),
                name="job_has_its_collection",
            ),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.UniqueConstraint(fields=("collection", "key"), name="one_document_per_key"),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                fields=("collection", "user"),
                name="one_role_per_person",
                violation_error_message="This person has a role in the collection already.",
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["rater", "analyst", "admin"])), name="role_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="othertext",
            constraint=models.UniqueConstraint(fields=("job", "document"), name="one_other_text"),
        ),
        migrations.AddConstraint(
            model_name="anchor",
            constraint=models.CheckConstraint(
                condition=models.Q(("use__in", ["warm_up", "gold"])), name="use_of_anchor_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="anchor",
            constraint=models.CheckConstraint(
                condition=models.Q(("use", "gold"), models.Q(("explanation", ""), _negated=True), _connector="OR"),
                name="a_warm_up_has_an_explanation",
            ),
        ),
        migrations.AddConstraint(
            model_name="adjudication",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="adjudication_has_a_reason"
            ),
        ),
        migrations.AddConstraint(
            model_name="query",
            constraint=models.UniqueConstraint(fields=("collection", "key"), name="one_query_per_key"),
        ),
        migrations.AddConstraint(
            model_name="query",
            constraint=models.CheckConstraint(
                condition=models.Q(("weight__gte", 0)), name="weight_is_not_negative"
            ),
        ),
        migrations.AddConstraint(
            model_name="pair",
            constraint=models.UniqueConstraint(fields=("query", "document"), name="one_pair"),
        ),
        migrations.AddConstraint(
            model_name="rater",
            constraint=models.UniqueConstraint(
                fields=("collection", "name"),
                name="one_rater_per_name",
                violation_error_message="The collection has a rater of this name already.",
            ),
        ),
        migrations.AddConstraint(
            model_name="rater",
            constraint=models.UniqueConstraint(fields=("collection", "user"), name="one_rater_per_person"),
        ),
        migrations.AddConstraint(
            model_name="rater",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["person", "imported", "machine"])), name="kind_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="rater",
            constraint=models.CheckConstraint(
                condition=models.Q(("weight__gte", 0)), name="rater_weight_is_not_negative"
            ),
        ),
        migrations.AddConstraint(
            model_name="lostlease",
            constraint=models.UniqueConstraint(fields=("rater", "pair"), name="one_lost_lease"),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("rater__isnull", True), ("leased_until__isnull", False), _connector="OR"),
                fields=["collection", "lot"],
                name="assignment_at_random",
            ),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("rater__isnull", True), ("leased_until__isnull", False), _connector="OR"),
                fields=["query", "lot"],
                name="assignment_by_query",
            ),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("rater__isnull", True), ("leased_until__isnull", False), _connector="OR"),
                fields=["collection", "depth", "lot"],
                name="assignment_by_depth",
            ),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("leased_until__isnull", False)),
                fields=["collection", "leased_until"],
                name="assignment_leased",
            ),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("rater__isnull", False)), fields=["rater", "state"], name="assignment_of_rater"
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("rater__isnull", False)),
                fields=("pair", "rater"),
                name="one_assignment_per_rater",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("leased_until__isnull", True), ("rater__isnull", True), ("state", "open")),
                    models.Q(("leased_until__isnull", False), ("rater__isnull", False), ("state", "leased")),
                    models.Q(("leased_until__isnull", True), ("rater__isnull", False), ("state", "done")),
                    _connector="OR",
                ),
                name="assignment_state_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(("extra", False), ("rater__isnull", False), _connector="OR"),
                name="extra_assignment_has_a_rater",
            ),
        ),
        migrations.AddConstraint(
            model_name="rating",
            constraint=models.UniqueConstraint(fields=("pair", "rater"), name="one_rating_per_rater"),
        ),
        migrations.AddConstraint(
            model_name="rating",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("grade__isnull", False), ("reason", "")),
                    models.Q(
                        ("grade__isnull", True),
                        ("reason__in", ["broken", "language", "knowledge", "unclear", "other"]),
                    ),
                    _connector="OR",
                ),
                name="grade_or_reason",
            ),
        ),
        migrations.AddIndex(
            model_name="ratingevent",
            index=models.Index(fields=["rater", "-id"], name="event_latest_of_rater"),
        ),
        migrations.AddIndex(
            model_name="ratingevent",
            index=models.Index(fields=["pair", "rater"], name="event_of_rater_on_pair"),
        ),
        migrations.AddIndex(
            model_name="ratingevent",
            index=models.Index(
                condition=models.Q(("version__isnull", False)),
                fields=["collection", "version"],
                name="event_of_version",
            ),
        ),
        migrations.AddIndex(
            model_name="ratingevent",
            index=models.Index(condition=models.Q(("job__isnull", False)), fields=["job"], name="event_of_import"),
        ),
        migrations.AddConstraint(
            model_name="ratingevent",
            constraint=models.UniqueConstraint(fields=("rater", "client_key"), name="one_event_per_client_key"),
        ),
        migrations.AddConstraint(
            model_name="ratingevent",
            constraint=models.CheckConstraint(
                condition=models.Q(("seconds__isnull", True), ("seconds__gte", 0), _connector="OR"),
                name="seconds_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="ratingevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "undo"), ("undoes__isnull", False)),
                    models.Q(models.Q(("kind", "undo"), _negated=True), ("undoes__isnull", True)),
                    _connector="OR",
                ),
                name="an_undo_undoes_one_event",
            ),
        ),
        migrations.AddConstraint(
            model_name="ratingevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("rater__isnull", False), ("kind__in", ["adjudicate", "undo"]), _connector="OR"
                ),
                name="event_has_a_rater",
            ),
        ),
        migrations.AddConstraint(
            model_name="check",
            constraint=models.UniqueConstraint(fields=("rater", "pair", "kind"), name="one_check_of_a_kind"),
        ),
        migrations.AddConstraint(
            model_name="check",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["warm_up", "repeat"])), name="kind_of_check_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="receipt",
            constraint=models.UniqueConstraint(fields=("user", "collection", "key"), name="one_receipt_per_key"),
        ),
        migrations.AddConstraint(
            model_name="system",
            constraint=models.UniqueConstraint(fields=("collection", "name"), name="one_system_per_name"),
        ),
        migrations.AddConstraint(
            model_name="ranking",
            constraint=models.UniqueConstraint(fields=("system", "query"), name="one_ranking_per_query"),
        ),
    ]

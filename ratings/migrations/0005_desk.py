"""What the desk needs: anchors, checks, invitations, retired pairs, limits, versions by event, facts on ratings."""

import uuid
from decimal import Decimal

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import OuterRef, Subquery

FACT = {
    "on_delete": django.db.models.deletion.DO_NOTHING,
    "db_constraint": False,
    "db_index": False,
    "editable": False,
    "related_name": "+",
}


def fill(apps, schema_editor) -> None:
    """Ratings that are there already get the facts of their pairs."""
    pair = apps.get_model("ratings", "Pair").objects.filter(pk=OuterRef("pair")).order_by()
    apps.get_model("ratings", "Rating").objects.update(
        query=Subquery(pair.values("query")), document=Subquery(pair.values("document"))
    )


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0004_order_of_rating"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
            ],
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
            ],
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
            ],
            options={
                "ordering": ["-created_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="LostLease",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
            ],
        ),
        migrations.RemoveIndex(
            model_name="query",
            name="query_changed",
        ),
        migrations.RemoveField(
            model_name="query",
            name="version",
        ),
        migrations.AddField(
            model_name="assignment",
            name="extra",
            field=models.BooleanField(
                default=False, help_text="Beside the number wanted: a gold pair, for this rater."
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="turn",
            field=models.IntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name="collection",
            name="break_after",
            field=models.PositiveSmallIntegerField(
                default=50,
                help_text="After how many ratings in a row a rater is offered a break. 0: never.",
                verbose_name="offer a break after",
            ),
        ),
        migrations.AddField(
            model_name="collection",
            name="gold_share",
            field=models.DecimalField(
                decimal_places=2,
                default=Decimal("0"),
                help_text="How much of a rater's work are pairs whose grade is known: 0.1 is one in ten.",
                max_digits=3,
                validators=[
                    django.core.validators.MinValueValidator(0),
                    django.core.validators.MaxValueValidator(Decimal("0.5")),
                ],
                verbose_name="share of gold pairs",
            ),
        ),
        migrations.AddField(
            model_name="collection",
            name="repeat_share",
            field=models.DecimalField(
                decimal_places=2,
                default=Decimal("0"),
                help_text="How much of a rater's work are pairs that they graded before, to see whether they agree.",
                max_digits=3,
                validators=[
                    django.core.validators.MinValueValidator(0),
                    django.core.validators.MaxValueValidator(Decimal("0.5")),
                ],
                verbose_name="share of repeats",
            ),
        ),
        migrations.AddField(
            model_name="pair",
            name="depth",
            field=models.PositiveIntegerField(default=2147483647, editable=False),
        ),
        migrations.AddField(
            model_name="pair",
            name="retired_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="rater",
            name="active",
            field=models.BooleanField(
                default=True, help_text="Who is not active gets nothing to rate. What they rated stays and counts."
            ),
        ),
        migrations.AddField(
            model_name="rater",
            name="guidelines_read",
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name="rater",
            name="limit",
            field=models.PositiveIntegerField(
                blank=True, help_text="How many pairs this rater may rate at most. Empty: no limit.", null=True
            ),
        ),
        migrations.AddField(
            model_name="rater",
            name="queries",
            field=models.ManyToManyField(
                blank=True, help_text="Rates only these queries. Empty: all.", related_name="+", to="ratings.query"
            ),
        ),
        migrations.AddField(
            model_name="rater",
            name="warmed_up_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="ratingevent",
            name="collection",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="ratings.collection",
            ),
        ),
        migrations.AddField(
            model_name="ratingevent",
            name="shown",
            field=models.CharField(
                blank=True,
                choices=[("one", "alone"), ("list", "in a list")],
                help_text="How the document was shown: alone or in a list.",
                max_length=4,
            ),
        ),
        migrations.AddField(
            model_name="ratingevent",
            name="version",
            field=models.PositiveBigIntegerField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="ratingevent",
            name="kind",
            field=models.CharField(
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
        migrations.AddIndex(
            model_name="ratingevent",
            index=models.Index(
                condition=models.Q(("version__isnull", False)),
                fields=["collection", "version"],
                name="event_of_version",
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
            model_name="collection",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("gold_share__gte", 0),
                    ("gold_share__lte", Decimal("0.5")),
                    ("repeat_share__gte", 0),
                    ("repeat_share__lte", Decimal("0.5")),
                ),
                name="shares_are_from_0_to_a_half",
            ),
        ),
        migrations.AddField(
            model_name="anchor",
            name="grade",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.RESTRICT, related_name="anchors", to="ratings.grade"
            ),
        ),
        migrations.AddField(
            model_name="anchor",
            name="pair",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="anchor", to="ratings.pair"
            ),
        ),
        migrations.AddField(
            model_name="check",
            name="event",
            field=models.OneToOneField(
                null=True, on_delete=django.db.models.deletion.RESTRICT, related_name="+", to="ratings.ratingevent"
            ),
        ),
        migrations.AddField(
            model_name="check",
            name="pair",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="checks", to="ratings.pair"
            ),
        ),
        migrations.AddField(
            model_name="check",
            name="rater",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.RESTRICT, related_name="checks", to="ratings.rater"
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="accepted_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="collection",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="invitations", to="ratings.collection"
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="created_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="lostlease",
            name="pair",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.pair"
            ),
        ),
        migrations.AddField(
            model_name="lostlease",
            name="rater",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="ratings.rater"
            ),
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
            model_name="lostlease",
            constraint=models.UniqueConstraint(fields=("rater", "pair"), name="one_lost_lease"),
        ),
        migrations.AddField("rating", "query", models.ForeignKey(to="ratings.query", null=True, **FACT)),
        migrations.AddField("rating", "document", models.ForeignKey(to="ratings.document", null=True, **FACT)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField("rating", "query", models.ForeignKey(to="ratings.query", **FACT)),
        migrations.AlterField("rating", "document", models.ForeignKey(to="ratings.document", **FACT)),
    ]

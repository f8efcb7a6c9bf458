"""Adjudicated grades, and weights of raters."""

from decimal import Decimal

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0001_record"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="adjudication",
                        to="ratings.pair",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="adjudication",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="adjudication_has_a_reason"
            ),
        ),
        migrations.AlterField(
            model_name="ratingevent",
            name="rater",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="events",
                to="ratings.rater",
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
        migrations.AddField(
            model_name="rater",
            name="weight",
            field=models.DecimalField(
                decimal_places=3,
                default=Decimal(1),
                help_text="How heavy this rater's grades are in judgments by the weighted mean. At 0 they do not count.",
                max_digits=7,
                validators=[django.core.validators.MinValueValidator(0)],
            ),
        ),
        migrations.AddConstraint(
            model_name="rater",
            constraint=models.CheckConstraint(
                condition=models.Q(("weight__gte", 0)), name="rater_weight_is_not_negative"
            ),
        ),
    ]

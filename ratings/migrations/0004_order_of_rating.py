"""The order of rating, and what its indexes need on each assignment. Depths come with the next `pool`."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Cast, Floor, Random

import ratings.models.rating

WAITING = Q(rater__isnull=True) | Q(leased_until__isnull=False)
FACT = {
    "on_delete": django.db.models.deletion.DO_NOTHING,
    "db_constraint": False,
    "db_index": False,
    "related_name": "+",
}


def fill(apps, schema_editor) -> None:
    """The default gives every row of a new column the same lot; here each draws its own."""
    pair = apps.get_model("ratings", "Pair").objects.filter(pk=OuterRef("pair")).order_by()
    apps.get_model("ratings", "Assignment").objects.update(
        query=Subquery(pair.values("query")),
        collection=Subquery(pair.annotate(of=F("query__collection")).values("of")),
        lot=Cast(Floor(Random() * ratings.models.rating.LOTS), models.BigIntegerField()),
    )


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0003_changed_queries"),
    ]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="order",
            field=models.CharField(
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
        migrations.AddConstraint(
            model_name="collection",
            constraint=models.CheckConstraint(
                condition=Q(("order__in", ["query", "depth", "random"])), name="order_is_known"
            ),
        ),
        migrations.RemoveIndex(model_name="assignment", name="assignment_free"),
        migrations.AlterField(
            model_name="assignment",
            name="rater",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="assignments",
                to="ratings.rater",
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="collection",
            field=models.ForeignKey(null=True, to="ratings.collection", **FACT),
        ),
        migrations.AddField(
            model_name="assignment",
            name="query",
            field=models.ForeignKey(null=True, to="ratings.query", **FACT),
        ),
        migrations.AddField(
            model_name="assignment",
            name="depth",
            field=models.PositiveIntegerField(
                default=2147483647, help_text="The best place that a system of the pool gives the document."
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="lot",
            field=models.PositiveIntegerField(
                default=ratings.models.rating.drawn_lot, help_text="Drawn once: the order within equals."
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="assignment",
            name="collection",
            field=models.ForeignKey(to="ratings.collection", **FACT),
        ),
        migrations.AlterField(
            model_name="assignment",
            name="query",
            field=models.ForeignKey(to="ratings.query", **FACT),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(condition=WAITING, fields=["collection", "lot"], name="assignment_at_random"),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(condition=WAITING, fields=["query", "lot"], name="assignment_by_query"),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=WAITING, fields=["collection", "depth", "lot"], name="assignment_by_depth"
            ),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=Q(("leased_until__isnull", False)),
                fields=["collection", "leased_until"],
                name="assignment_leased",
            ),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=Q(("rater__isnull", False)), fields=["rater", "state"], name="assignment_of_rater"
            ),
        ),
        migrations.AlterField(
            model_name="ratingevent",
            name="pair",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="events",
                to="ratings.pair",
            ),
        ),
        migrations.AddIndex(
            model_name="ratingevent",
            index=models.Index(fields=["pair", "rater"], name="event_of_rater_on_pair"),
        ),
    ]

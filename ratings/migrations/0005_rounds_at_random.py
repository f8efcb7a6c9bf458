from django.db import migrations, models

from ratings.database.operations import AddIndexConcurrently


class Migration(migrations.Migration):
    """The new index first: raters get pairs meanwhile."""

    atomic = False

    dependencies = [
        ("ratings", "0004_sessions_by_provider"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(
                    models.Q(("rater__isnull", True), ("leased_until__isnull", False), _connector="OR"),
                    ("round__isnull", False),
                ),
                fields=["collection", "round", "lot"],
                name="assignment_by_lot",
            ),
        ),
        migrations.RemoveIndex(
            model_name="assignment",
            name="assignment_at_random",
        ),
    ]

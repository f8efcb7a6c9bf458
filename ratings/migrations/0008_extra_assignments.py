from django.db import migrations, models

from ratings.database.operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("ratings", "0007_order_labels"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("extra", True)), fields=["collection", "state"], name="assignment_extra"
            ),
        ),
    ]

from django.db import migrations, models

from ratings.database.operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("ratings", "0003_sessions_of_providers"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                fields=["provider_person"],
                condition=~models.Q(provider_person=""),
                name="session_by_person",
            ),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                fields=["provider_session"],
                condition=~models.Q(provider_session=""),
                name="session_by_session",
            ),
        ),
    ]

"""Which queries changed since a version: see Collection.touch."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0002_adjudication"),
    ]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="version_of_all",
            field=models.PositiveBigIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name="query",
            name="version",
            field=models.PositiveBigIntegerField(default=0, editable=False),
        ),
        migrations.AddIndex(
            model_name="query",
            index=models.Index(fields=["collection", "version"], name="query_changed"),
        ),
    ]

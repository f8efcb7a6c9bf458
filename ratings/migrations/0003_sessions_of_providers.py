from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ratings", "0002_judges"),
    ]

    operations = [
        migrations.AddField(
            model_name="session",
            name="provider_person",
            field=models.CharField(default="", max_length=64),
        ),
        migrations.AddField(
            model_name="session",
            name="provider_session",
            field=models.CharField(default="", max_length=64),
        ),
    ]

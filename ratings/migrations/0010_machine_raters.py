"""Raters that were machines become judges: their grades leave the table of people's ratings."""

from hashlib import sha256

from django.db import migrations

AT_ONCE = 2_000


def move(apps, schema_editor) -> None:
    model = apps.get_model
    for rater in model("ratings", "Rater").objects.filter(kind="machine"):
        keep(model, rater)
        for name in ("Check", "LostLease", "Assignment", "Rating"):
            model("ratings", name).objects.filter(rater=rater).delete()
        events = model("ratings", "RatingEvent").objects.filter(rater=rater)
        events.filter(undoes__isnull=False).delete()
        events.delete()
        rater.queries.clear()
        rater.delete()


def keep(model, rater) -> None:
    """Its grades as those of a version of which nothing but the name is known."""
    judge = model("ratings", "Judge").objects.create(collection_id=rater.collection_id, name=rater.name)
    nothing = sha256(b"").hexdigest()
    facts = dict.fromkeys(("prompt_sha256", "guidelines_sha256", "presentation_sha256"), nothing)
    facts |= {"template": "own", "model": rater.name, "parser": 0, "seed": None, "scale": [], "structured": False}
    version = model("ratings", "JudgeVersion").objects.create(judge=judge, number=1, fingerprint=nothing, **facts)
    rated = model("ratings", "Rating").objects.filter(rater=rater, grade__isnull=False)
    n = rated.count()
    run = model("ratings", "JudgeRun").objects.create(
        version=version, choice="imported", state="done", most_calls=0, pairs=n, graded=n
    )
    grade = model("ratings", "MachineGrade")
    rows = (
        grade(run=run, version=version, query_id=query, document_id=document, state="graded", value=value, at=at)
        for query, document, value, at in rated.values_list(
            "pair__query", "pair__document", "grade__value", "changed_at"
        ).iterator(AT_ONCE)
    )
    grade.objects.bulk_create(rows, batch_size=AT_ONCE)


class Migration(migrations.Migration):
    dependencies = [("ratings", "0009_judges")]
    operations = [
        migrations.RunPython(
            move,
            migrations.RunPython.noop,
            hints={"locks": "no page and no import ever made such a rater: there are none, or a few"},
        ),
    ]

"""Load the sample collection from the files of this folder, with its accounts, at the first start."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from ...formats.source import opened
from ...models import Collection, Grade, Guidelines, Membership, Role
from ...people import accounts, visits

FOLDER = Path(__file__).resolve().parent
SLUG = "trail-advice"


def prepare() -> None:
    """Load the sample into an empty database, and open or close its accounts: called at each start."""
    if settings.DEMO:
        load_on_first_start()
    visits.open_or_close()


def load_on_first_start() -> bool:
    """Load the sample with its accounts if there is no collection and never was a sample; True if it did."""
    with transaction.atomic():
        sample_accounts = get_user_model().objects.filter(username__in=visits.SAMPLE_USERNAMES)
        if Collection.written.exists() or sample_accounts.exists():
            return False
        load()
        make_accounts()
    return True


@transaction.atomic
def load() -> Collection:
    """Make the sample collection by the ordinary imports, and return it."""
    # Imported here, because only the first start needs these modules.
    from ...importing import intake
    from ...pool import pooling

    about = json.loads((FOLDER / "collection.json").read_text(encoding="utf-8"))
    collection = Collection.objects.create(slug=SLUG, name=about["name"], description=about["description"])
    for grade in about["grades"]:
        Grade.objects.create(
            collection=collection, value=Decimal(grade["value"]), label=grade["label"], meaning=grade["meaning"]
        )
    guidelines = (FOLDER / "guidelines.md").read_text(encoding="utf-8")
    Guidelines.objects.create(collection=collection, version=1, text=guidelines)
    _import(intake.import_queries, collection, "queries.tsv")
    _import(intake.import_documents, collection, "documents.jsonl")
    _import(intake.import_run, collection, "systems.run")
    # The pool comes first, so that the ratings fill its assignments.
    pooling.pool(collection, depth=about["depth"], wanted=about["ratings_wanted"])
    _import(intake.import_ratings, collection, "ratings.csv")
    return collection


def make_accounts() -> None:
    """One account for each role, without a password: links of the terminal sign in to it."""
    collection = Collection.objects.get(slug=SLUG)
    for role in Role.values:
        user, _ = get_user_model().objects.get_or_create(username=visits.username(role))
        user.set_unusable_password()
        user.save()
        Membership.objects.get_or_create(collection=collection, user=user, defaults={"role": role})
        if role == Role.ADMIN:  # who looks around can make a collection of their own
            user.user_permissions.add(accounts.right_to_make())


def _import(load: Callable, collection: Collection, name: str) -> None:
    with opened(str(FOLDER / name)) as source:
        report = load(collection, [source])
    if report.refused:
        raise ValueError(f"The sample is broken: {report.refusals[0]}")

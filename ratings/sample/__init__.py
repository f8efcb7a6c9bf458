"""The sample collection: its files beside this one, its accounts, and how both are made on the first start."""

import json
import os
import secrets
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from .. import intake, pooling
from ..formats.source import opened
from ..models import Collection, Grade, Guidelines, Membership, Role

FOLDER = Path(__file__).resolve().parent
SLUG = "trail-advice"


def username(role: str) -> str:
    return f"sample-{role}"


def sign_ins_file() -> Path:
    return Path(settings.DATA_DIR) / "sign-ins.txt"


def load_on_first_start() -> bool:
    """Load the sample where there is no collection yet; says whether it did."""
    with transaction.atomic():
        if Collection.objects.exists():
            return False
        load()
        passwords = make_accounts()
    write_sign_ins(passwords)
    return True


@transaction.atomic
def load() -> Collection:
    """The collection with its queries, documents, rankings and ratings, by the imports that anybody would use."""
    about = json.loads((FOLDER / "collection.json").read_text(encoding="utf-8"))
    collection = Collection.objects.create(slug=SLUG, name=about["name"], description=about["description"])
    for grade in about["grades"]:
        Grade.objects.create(
            collection=collection, value=Decimal(grade["value"]), label=grade["label"], meaning=grade["meaning"]
        )
    guidelines = (FOLDER / "guidelines.md").read_text(encoding="utf-8")
    Guidelines.objects.create(collection=collection, version=1, text=guidelines)
    _imported(intake.import_queries, collection, "queries.tsv")
    _imported(intake.import_documents, collection, "documents.jsonl")
    _imported(intake.import_run, collection, "systems.run")
    # Pooled before the ratings come: each rating then fills one of those that are wanted.
    pooling.pool(collection, depth=about["depth"], wanted=about["ratings_wanted"])
    _imported(intake.import_ratings, collection, "ratings.csv")
    return collection


def make_accounts() -> dict[str, str]:
    """One account for each role, with a random password: username -> password."""
    collection, passwords = Collection.objects.get(slug=SLUG), {}
    for role in Role.values:
        password = secrets.token_urlsafe(9)
        user, _ = get_user_model().objects.get_or_create(username=username(role))
        user.set_password(password)
        user.is_staff = role == Role.ADMIN
        user.save()
        Membership.objects.get_or_create(collection=collection, user=user, defaults={"role": role})
        passwords[user.username] = password
    return passwords


def write_sign_ins(passwords: dict[str, str]) -> None:
    """Passwords in a file that only its owner can read; made anew, so that no wider mode is inherited."""
    sign_ins_file().unlink(missing_ok=True)
    with open(os.open(sign_ins_file(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.writelines(f"{name}  {password}\n" for name, password in passwords.items())


def _imported(load: Callable, collection: Collection, name: str) -> None:
    with opened(str(FOLDER / name)) as source:
        report = load(collection, [source])
    if report.refused:
        raise ValueError(f"The sample is broken: {report.refusals[0]}")

import re

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand
from django.db import transaction

from ratings.formats import values
from ratings.models import Collection, Grade

from ._collection_command import Refused


class Command(BaseCommand):
    help = "Make a collection. Without --grades its scale is taken from the first qrels."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs):
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        # A scale may begin with a negative grade; argparse would take "-1:Harmful,…" for an option.
        parser._negative_number_matcher = re.compile(r"^-[\d.]")
        return parser

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", help="the name in addresses and commands: letters, digits, - and _")
        parser.add_argument("--name", help="the name on pages (the slug)")
        parser.add_argument("--grades", metavar="VALUE:LABEL,…", help='such as "0:Irrelevant,0.5:Half,1:Related"')

    def handle(self, *, slug: str, name: str | None, grades: str | None, **options) -> None:
        collection = Collection(slug=slug, name=name or slug)
        try:
            scale = scale_of(grades or "")
            collection.full_clean()
        except (ValueError, ValidationError) as error:
            raise Refused(said(error, slug)) from error
        with transaction.atomic():
            collection.save()
            Grade.objects.bulk_create(Grade(collection=collection, value=v, label=label) for v, label in scale)
        steps = f"{len(scale)} grades" if scale else "no scale yet"
        self.stdout.write(f"Collection {slug} made, with {steps}.")


def scale_of(text: str) -> list[tuple]:
    """(value, label) of "-1:Harmful,0:Irrelevant"; the label may be left out. Raises ValueError."""
    scale = {}
    for step in filter(None, [step.strip() for step in text.split(",")]) if text else []:
        value, _, label = step.partition(":")
        try:
            value = values.grade(value.strip())
        except ValueError as error:
            raise ValueError(f"In --grades, {error}. Write VALUE:LABEL,VALUE:LABEL.") from error
        if value in scale:
            raise ValueError(f"In --grades, {step!r} has a value that stands there already.")
        if len(label.strip()) > Grade._meta.get_field("label").max_length:
            raise ValueError(f"In --grades, the label {values.shown(label.strip())} is longer than 60 characters.")
        scale[value] = label.strip()
    return sorted(scale.items())


def said(error: Exception, slug: str) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    if "slug" not in error.message_dict:
        return " ".join(error.messages)
    if Collection.objects.filter(slug=slug).exists():
        return f"There is a collection {slug!r} already. Choose another name."
    return f"The name {slug!r} cannot stand in an address. Use at most 80 letters, digits, - and _."

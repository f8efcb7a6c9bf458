import re

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand

from ratings.collection import making, scales
from ratings.models import Collection

from ._collection_command import Refused


class Command(BaseCommand):
    help = "Create a collection. Without --grades its scale is that of the first qrels."

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
        try:
            scale = scale_of(grades or "")
            making.make(slug, name or slug, scale)
        except (ValueError, ValidationError) as error:
            raise Refused(message_of(error, slug)) from error
        steps = f"{len(scale)} grades" if scale else "no scale yet"
        self.stdout.write(f"Collection {slug} made, with {steps}.")


def scale_of(text: str) -> list[scales.Step]:
    """The steps of "-1:Harmful,0:Irrelevant"; a label may be left out. Raises ValueError."""
    scale = {}
    for typed in filter(None, map(str.strip, text.split(","))):
        value, _, label = typed.partition(":")
        try:
            step = scales.step(value, label)
        except ValueError as error:
            raise ValueError(f"In --grades, {error}. Write VALUE:LABEL,VALUE:LABEL.") from error
        if step.value in scale:
            raise ValueError(f"In --grades, {typed!r} repeats a value. Give each value once.")
        scale[step.value] = step
    return sorted(scale.values())


def message_of(error: Exception, slug: str) -> str:
    """What is wrong with the collection, and the cure."""
    if not isinstance(error, ValidationError):
        return str(error)
    if "slug" not in error.message_dict:
        return " ".join(error.messages)
    if Collection.objects.filter(slug=slug).exists():
        return f"There is a collection {slug!r} already. Choose another name."
    return f"The name {slug!r} cannot be part of an address. Use at most 80 letters, digits, - and _."

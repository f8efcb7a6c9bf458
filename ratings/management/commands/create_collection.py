import re

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand

from ratings.collection import making, scales
from ratings.copies.restoring import wrong_slug

from ._collection_command import Refused


class Command(BaseCommand):
    help = "Create a collection. Without --grades its scale is that of the first qrels."

    def add_arguments(self, parser) -> None:
        # A scale may begin with a negative grade; argparse would take "-1:Harmful,…" for an option.
        parser._negative_number_matcher = re.compile(r"^-[\d.]")
        parser.add_argument("slug", help="the name in addresses and commands: letters, digits, - and _")
        parser.add_argument("--name", help="the name on pages (the slug)")
        parser.add_argument("--grades", metavar="VALUE:LABEL,…", help='such as "0:Irrelevant,0.5:Half,1:Related"')

    def handle(self, *, slug: str, name: str | None, grades: str | None, **options) -> None:
        try:
            scale = scales.read((grades or "").replace(",", "\n"))  # which has a grade on each line
        except ValueError as error:
            # Such as "Of the grades, in line 2 … . Write value: label: meaning, with a comma between two."
            raise Refused(f"Of the grades, {error}, with a comma between two.") from error
        if problem := wrong_slug(slug):
            raise Refused(f"{problem}.")
        try:
            making.make(slug, name or slug, scale)
        except ValidationError as error:
            raise Refused(" ".join(error.messages)) from error
        steps = f"{len(scale)} grades" if scale else "no scale yet"
        self.stdout.write(f"Collection {slug} made, with {steps}.")

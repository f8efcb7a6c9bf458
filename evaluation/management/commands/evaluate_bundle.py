from django.core.management.base import BaseCommand

from evaluation import bundle, frozen
from ratings.management.commands._collection_command import Refused

PRINTED = 20  # numbers that differ


class Command(BaseCommand):
    help = "Compute a bundle again from its own files, and say whether every digit is the same."

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", metavar="FILE", help="a ZIP that `bundle` or the page of a frozen one made")

    def handle(self, *, file: str, **options) -> None:
        try:
            found = bundle.check(file)
        except OSError as error:
            raise Refused(f"{file}: {error.strerror or error}.") from error
        except frozen.Broken as error:
            raise Refused(f"{error} Nothing was compared.") from error
        for line in found.different[:PRINTED]:
            self.stderr.write(line)
        if len(found.different) > PRINTED:
            self.stderr.write(f"and {len(found.different) - PRINTED:,} more")
        of = f"{found.numbers:,} values of {found.systems} systems by {found.measures} measures"
        if not found.is_equal:
            raise Refused(f"{found.name}: {len(found.different):,} of {of} differ.")
        if found.different:
            self.stdout.write(f"{found.name}: equal but for rounding, at most {found.largest:.1e}, in {of}.")
        else:
            self.stdout.write(f"{found.name}: equal to the last digit, {of}.")

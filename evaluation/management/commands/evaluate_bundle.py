from django.core.management.base import BaseCommand

from evaluation.frozen import bundle
from ratings.management.commands._collection_command import NO_CHECKS, Refused
from ratings.management.refusals import refusing
from ratings.words import counted

PRINTED_VALUES = 20  # values that differ, at most


class Command(BaseCommand):
    help = "Compute a bundle again from its own files, and print the values that differ."
    requires_system_checks = NO_CHECKS

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", metavar="FILE", help="the ZIP of a bundle")

    def handle(self, *, file: str, **options) -> None:
        with refusing("Nothing was compared."):
            checked = bundle.check(file)
        for line in checked.different[:PRINTED_VALUES]:
            self.stderr.write(line)
        if len(checked.different) > PRINTED_VALUES:
            self.stderr.write(f"and {len(checked.different) - PRINTED_VALUES:,} more")
        systems, measures = counted(checked.systems, "system"), counted(checked.measures, "measure")
        values = f"{checked.numbers:,} values of {systems} by {measures}"
        if not checked.is_equal:
            raise Refused(f"{checked.name}: {len(checked.different):,} of {values} differ.")
        if checked.different:  # by rounding errors alone
            self.stdout.write(
                f"{checked.name}: equal but for rounding, at most {checked.largest:.1e}, in {values}."
            )
        else:
            self.stdout.write(f"{checked.name}: equal to the last digit, {values}.")

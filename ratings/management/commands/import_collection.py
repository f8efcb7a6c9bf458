from django.conf import settings

from ratings.copies import restoring
from ratings.management.progress import ProgressLine
from ratings.management.refusals import refusing

from ._collection_command import Refused, ReportingCommand


class Command(ReportingCommand):
    help = "Create a collection from an archive that export_collection wrote, here or on another server."

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", metavar="FILE", help="the archive")
        parser.add_argument("--slug", required=True, metavar="NEW", help="the name in addresses and commands")

    def handle(self, *, file: str, slug: str, **options) -> None:
        if problem := restoring.wrong_slug(slug):
            raise Refused(f"{problem} with --slug. Nothing was written.")
        with refusing(), ProgressLine(self.stderr) as progress, restoring.opened(file) as opened:
            report = restoring.restore(opened, slug, progress=progress)
        self.print_report(report)
        self.stderr.write(f"It has no members yet: {settings.PROGRAM} manage add_member {slug} NAME admin")

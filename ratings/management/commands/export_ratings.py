from ratings import outlet

from ._collection_command import ExportRowsCommand


class Command(ExportRowsCommand):
    help = "Export every rating, as comma-separated values or in another format, which import_ratings reads."
    kind = "ratings"
    default = "csv"

    def handle(self, *, slug: str, format: str, output: str | None, **options) -> None:
        self.write(outlet.ratings(self.collection(slug)), format, output, raw=options["raw"])

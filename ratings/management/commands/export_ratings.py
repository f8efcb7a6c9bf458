from ratings.copies import rows as record_rows
from ratings.formats.registry import BY_NAME

from ._collection_command import ExportRowsCommand


class Command(ExportRowsCommand):
    help = "Export every rating, as comma-separated values or in another format, which import_ratings reads."
    kind = "ratings"
    default = "csv"

    def handle(self, *, slug: str, format: str, output: str | None, **options) -> None:
        rows = record_rows.ratings(self.collection(slug), BY_NAME[format])
        self.write(rows, format, output, raw=options["raw"])

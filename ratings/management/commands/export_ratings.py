from ratings import outlet
from ratings.formats import delimited

from ._collection_command import ExportCommand


class Command(ExportCommand):
    help = "Export every rating as comma-separated values, which import_ratings reads."

    def handle(self, *, slug: str, output: str | None, **options) -> None:
        self.put_out(delimited.write_ratings(outlet.ratings(self.collection(slug))), output)

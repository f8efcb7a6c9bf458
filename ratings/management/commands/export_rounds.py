from ratings.archive import rounds
from ratings.database.snapshot import snapshot
from ratings.formats import spreadsheet

from ._collection_command import RAW, ExportCommand


class Command(ExportCommand):
    help = "Export the rounds of drawn pairs as comma-separated values, one row for each pair of each round."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--raw", action="store_true", help=RAW)

    def handle(self, *, slug: str, output: str | None, raw: bool, **options) -> None:
        collection = self.collection(slug)
        with snapshot():
            self.put_out(spreadsheet.written(rounds.table(collection), raw=raw), output)

from ratings.database.snapshot import snapshot
from ratings.formats.registry import BY_NAME
from ratings.management.commands._collection_command import ExportRowsCommand

from .evaluate import add_judgments, judgments_of


class Command(ExportRowsCommand):
    help = "Export the judgments as TREC qrels (query, 0, document, grade) or in another format."
    kind = "judgments"
    default = "trec-qrels"

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        add_judgments(parser)

    def handle(self, *, slug: str, format: str, output: str | None, **arguments) -> None:
        collection = self.collection(slug)
        with snapshot():
            rows, _ = judgments_of(collection, arguments, BY_NAME[format])
        self.write(rows, format, output, raw=arguments["raw"])
        if not rows:
            self.stderr.write(f"{slug} has no ratings yet: import_qrels {slug} FILE, or pool {slug} and rate")
        negative = sum(row.grade < 0 for row in rows)
        if negative and format == self.default:
            self.stderr.write(f"{negative:,} grades are negative: trec_eval takes such documents for unjudged")

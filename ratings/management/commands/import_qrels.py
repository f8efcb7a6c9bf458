from ratings.importing import intake

from ._import_command import ImportRowsCommand


class Command(ImportRowsCommand):
    help = "Import TREC qrels (query, iteration, document, grade) as ratings by one imported rater."
    kind = "ratings"

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--rater", metavar="NAME", default="qrels", help="who gave the grades (qrels)")

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        self.run_row_import(intake.import_qrels, slug, files, options, "rater", "repeats")

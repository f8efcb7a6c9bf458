from ratings import intake

from ._collection_command import ImportRowsCommand


class Command(ImportRowsCommand):
    help = "Import ratings of several raters, as export_ratings writes them or in another format."
    kind = "ratings"

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--rater", metavar="NAME", help="who gave the ratings that name nobody")

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        self.take_in_rows(intake.import_ratings, slug, files, options, "rater")

from ratings.importing import intake

from ._import_command import ImportRowsCommand


class Command(ImportRowsCommand):
    help = "Import queries: tab-separated lines (key, text, information need), TREC topics or another format."
    kind = "queries"

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        self.run_row_import(intake.import_queries, slug, files, options)

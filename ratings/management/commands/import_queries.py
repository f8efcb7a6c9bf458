from ratings import intake

from ._collection_command import ImportCommand


class Command(ImportCommand):
    help = "Import queries: tab-separated lines (key, text, information need) or TREC topics."

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        self.take_in(intake.import_queries, slug, files)

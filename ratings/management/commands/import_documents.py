from ratings import intake

from ._collection_command import ImportCommand


class Command(ImportCommand):
    help = "Import documents: one JSON object on each line, with id, title, body, url and any other fields."

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        self.take_in(intake.import_documents, slug, files)

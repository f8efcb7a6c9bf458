from ratings.importing import intake

from ._import_command import ImportRowsCommand


class Command(ImportRowsCommand):
    help = "Import documents: one JSON object on each line, with id, title, body, url and any other fields."
    kind = "documents"

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        self.run_row_import(intake.import_documents, slug, files, options)

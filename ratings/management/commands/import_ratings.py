from ratings import intake

from ._collection_command import ImportCommand


class Command(ImportCommand):
    help = "Import ratings of several raters, as export_ratings writes them."

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        self.take_in(intake.import_ratings, slug, files)

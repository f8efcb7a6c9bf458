from ratings.importing import intake

from ._collection_command import ImportCommand


class Command(ImportCommand):
    help = "Make pairs with a known grade warm-ups or gold, from CSV: query, document, grade, kind, explanation."

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        self.run_import(intake.import_anchors, slug, files)

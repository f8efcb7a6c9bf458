from pathlib import Path

from ratings.copies import archive
from ratings.management.progress import ProgressLine
from ratings.management.refusals import refusing
from ratings.management.whole_file import whole_file
from ratings.people import audit

from ._collection_command import CollectionCommand


class Command(CollectionCommand):
    help = "Write everything that a collection holds as one archive, which import_collection reads anywhere."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        text = "where to write it (the collection's name, with .zip)"
        parser.add_argument("--output", metavar="FILE", help=text)
        text = "also write judges, what they were asked and what they answered"
        parser.add_argument("--judges", action="store_true", help=text)

    def handle(self, *, slug: str, output: str | None, judges: bool = False, **options) -> None:
        collection = self.collection(slug)
        path = Path(output or f"{slug}.zip")
        with refusing(), ProgressLine(self.stderr) as progress, whole_file(path) as file:
            snapshot = archive.write(collection, file, judges=judges, progress=progress)
        audit.note(audit.Act.EXPORTED, collection, about=archive.file_name(slug, snapshot))
        self.stdout.write(f"{path}: snapshot {snapshot}.")

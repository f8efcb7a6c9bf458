from collections.abc import Iterator
from pathlib import Path

from ratings.formats import beir
from ratings.importing import intake

from ._collection_command import CollectionCommand
from ._import_command import ImportCommand


class Command(ImportCommand):
    help = "Import a data set of BEIR, or in Hugging Face's layout of Parquet: queries, documents and qrels."

    def add_arguments(self, parser) -> None:
        CollectionCommand.add_arguments(self, parser)  # a path in place of files
        parser.add_argument("path", metavar="PATH", help="the folder, or a ZIP or tar of it")
        text = "the splits to import, with their queries alone: dev,test; by default all"
        parser.add_argument("--splits", metavar="NAME,…", default="", help=text)
        parser.add_argument("--rater", metavar="NAME", default="qrels", help="who gave the grades (qrels)")

    def handle(self, *, slug: str, path: str, splits: str, rater: str, **options) -> None:
        files = list(map(str, files_at(Path(path))))
        self.run_import(intake.import_beir, slug, files, splits=splits, rater=rater)


def files_at(path: Path) -> Iterator[Path]:
    """The files of a data set in a folder; another path itself."""
    if not path.is_dir():
        yield path
        return
    files = sorted(file for file in path.rglob("*") if beir.part_of(file.as_posix())[0])
    yield from files or [path]  # opening a folder raises an OSError that names it

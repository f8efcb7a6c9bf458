from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ratings.formats import beir
from ratings.formats.source import stream_at
from ratings.importing import intake, jobs
from ratings.importing.intake import opening
from ratings.management.progress import ProgressLine
from ratings.management.refusals import refusing

from ._collection_command import CollectionCommand, ReportingCommand


class Command(ReportingCommand, CollectionCommand):
    help = "Import a data set of BEIR, or in Hugging Face's layout of Parquet: queries, documents and qrels."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("path", metavar="PATH", help="the folder, or a ZIP or tar of it")
        text = "the splits to import, with their queries alone: dev,test; by default all"
        parser.add_argument("--splits", metavar="NAME,…", default="", help=text)
        parser.add_argument("--rater", metavar="NAME", default="qrels", help="who gave the grades (qrels)")

    def handle(self, *, slug: str, path: str, splits: str, rater: str, **options) -> None:
        collection = self.collection(slug, to_change=True)
        with refusing(), ProgressLine(self.stderr) as progress, ExitStack() as stack:
            streams = [stack.enter_context(stream_at(str(file))) for file in files_at(Path(path))]
            sources = stack.enter_context(opening.sources(streams))
            report = intake.import_beir(collection, sources, splits=splits, rater=rater, progress=progress)
        self.print_report(report)
        jobs.fetch_pictures(collection, None)


def files_at(path: Path) -> Iterator[Path]:
    """The files of a data set in a folder; another path itself."""
    if not path.is_dir():
        yield path
        return
    files = sorted(file for file in path.rglob("*") if beir.part_of(file.as_posix())[0])
    yield from files or [path]  # opening a folder raises an OSError that names it

from ratings import intake
from ratings.formats.rankings import SYSTEM_FROM

from ._collection_command import ImportRowsCommand


class Command(ImportRowsCommand):
    help = "Import runs: TREC (query, Q0, document, rank, score, system) or another format."
    kind = "results"

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--system", metavar="NAME", help="another name for the one system of the files")
        parser.add_argument(
            "--system-from",
            choices=SYSTEM_FROM,
            help="what names the systems where several files name the same one: file, their names; tag, what their"
            " lines name, and the files are parts of one system that have no query together",
        )
        parser.add_argument(
            "--order",
            choices=["rank", "score"],
            help="what orders the results where ranks and scores contradict; score breaks ties as trec_eval does",
        )
        parser.add_argument(
            "--keep-first",
            action="store_true",
            help="where a ranking of one file names a document twice, keep its better place",
        )

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        own = "system", "system_from", "order", "keep_first"
        self.take_in_rows(intake.import_run, slug, files, options, *own)

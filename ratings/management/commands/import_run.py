from ratings import intake

from ._collection_command import ImportRowsCommand


class Command(ImportRowsCommand):
    help = "Import runs: TREC (query, Q0, document, rank, score, system) or another format."
    kind = "results"

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--system", metavar="NAME", help="another name for the one system of the files")
        parser.add_argument(
            "--order",
            choices=["rank", "score"],
            help="what orders the results where ranks and scores contradict; score breaks ties as trec_eval does",
        )
        parser.add_argument(
            "--keep-first",
            action="store_true",
            help="where a ranking names a document twice, keep its better place instead of refusing the file",
        )

    def handle(self, *, slug: str, files: list[str], system, order, keep_first: bool, **options) -> None:
        self.take_in_rows(
            intake.import_run, slug, files, options, system=system, order=order, keep_first=keep_first
        )

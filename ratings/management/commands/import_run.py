from ratings.formats.rankings import ORDERS, SYSTEM_FROM
from ratings.importing import intake

from ._import_command import ImportRowsCommand


class Command(ImportRowsCommand):
    help = "Import runs: TREC (query, Q0, document, rank, score, system) or another format."
    kind = "results"

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--system", metavar="NAME", help="another name for the one system of the files")
        text = "what names the systems if several files name the same one: file, their names; tag, what their"
        text += " lines name, where the files are parts of one system without a common query"
        parser.add_argument("--system-from", choices=SYSTEM_FROM, help=text)
        text = "what orders the results if ranks and scores contradict; score breaks ties as trec_eval does"
        parser.add_argument("--order", choices=ORDERS, help=text)
        text = "if a ranking names a document twice, keep its better rank"
        parser.add_argument("--keep-first", action="store_true", help=text)

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        own_options = "system", "system_from", "order", "keep_first"
        self.run_row_import(intake.import_run, slug, files, options, *own_options)

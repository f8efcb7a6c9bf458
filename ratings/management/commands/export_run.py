from ratings.copies import rows, run_metadata
from ratings.database.snapshot import snapshot

from ._collection_command import ExportRowsCommand, Refused


class Command(ExportRowsCommand):
    help = "Export the rankings of a system, as a TREC run or in another format."
    kind = "results"
    default = "trec-run"

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("system")
        text = "also what is known of the run, as ir_metadata: comments before a TREC run; file, alone as YAML"
        parser.add_argument("--ir-metadata", choices=run_metadata.METADATA_PLACES, default="", help=text)

    def handle(self, *, slug: str, system: str, format: str, output: str | None, **options) -> None:
        (chosen,) = self.systems(self.collection(slug), [system])
        how = options["ir_metadata"]
        if how == "comments" and format != self.default:
            raise Refused(f"Only {self.default} can have comments. Give --ir-metadata file.")
        written = self.written(rows.run(chosen), format, output, raw=options["raw"])
        with snapshot():
            self.put_out(run_metadata.with_metadata(written, chosen, how), output)

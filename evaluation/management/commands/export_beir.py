import re

from evaluation.frozen import dataset
from evaluation.record import judgment_rows
from evaluation.scores import Asked
from ratings.database.snapshot import snapshot
from ratings.management.commands._collection_command import ExportCommand, Refused

from .evaluate import add_rule_and_adjudications


class Command(ExportCommand):
    help = "Export queries, documents and judgments as one data set, which import_beir reads, in a ZIP."

    def add_arguments(self, parser) -> None:
        # A map may begin with a negative grade; argparse would take "-1=0" for an option.
        parser._negative_number_matcher = re.compile(r"^-[\d.]")
        super().add_arguments(parser)
        text = "; ".join(f"{name}, {title}" for name, title in dataset.LAYOUTS.items())
        parser.add_argument("--layout", choices=dataset.LAYOUTS, default="beir", help=f"{text} (beir)")
        add_rule_and_adjudications(parser)
        parser.add_argument("--map", default="", help="a whole number for each other grade: -1=0,0.5=1")

    def handle(self, *, slug: str, layout: str, rule: str | None, output: str | None, **options) -> None:
        collection = self.collection(slug)
        if not output:
            raise Refused("A ZIP is not text. Give --output FILE.")
        with snapshot():
            try:
                asked = Asked.of(collection, rule=rule, adjudications=options["adjudications"])
                replacing = judgment_rows.parse_map(options["map"])
                rows = judgment_rows.judgments(
                    collection, asked.rule, replacing, asked.adjudications, dataset.AS_QRELS
                )
            except ValueError as error:
                raise Refused(f"{error} The options --map and --rule decide.") from error
            self.put_out(dataset.written(collection, layout, rows, asked.rule), output)

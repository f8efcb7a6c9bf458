import re

from evaluation.record import judgment_rows
from evaluation.scores import Asked
from ratings.database.snapshot import snapshot
from ratings.formats.registry import BY_NAME
from ratings.management.commands._collection_command import ExportRowsCommand, Refused

from .evaluate import add_rule_and_adjudications


class Command(ExportRowsCommand):
    help = "Export the judgments as TREC qrels (query, 0, document, grade) or in another format."
    kind = "judgments"
    default = "trec-qrels"

    def add_arguments(self, parser) -> None:
        # A map may begin with a negative grade; argparse would take "-1=0" for an option.
        parser._negative_number_matcher = re.compile(r"^-[\d.]")
        super().add_arguments(parser)
        add_rule_and_adjudications(parser)
        parser.add_argument(
            "--map", default="", help="a whole number for each grade that the format cannot hold: -1=0,0.5=1"
        )

    def handle(self, *, slug: str, rule: str | None, format: str, output: str | None, **options) -> None:
        collection = self.collection(slug)
        try:
            asked = Asked.of(collection, rule=rule, adjudications=options["adjudications"])
            with snapshot():
                replacing = judgment_rows.parse_map(options["map"])
                rows = judgment_rows.judgments(
                    collection, asked.rule, replacing, asked.adjudications, BY_NAME[format]
                )
        except ValueError as error:
            raise Refused(f"{error} The options --map and --rule decide.") from error
        self.write(rows, format, output, raw=options["raw"])
        if not rows:
            self.stderr.write(f"{slug} has no ratings yet: import_qrels {slug} FILE, or pool {slug} and rate")
        negative = sum(row.grade < 0 for row in rows)
        if negative and format == self.default:
            self.stderr.write(f"{negative:,} grades are negative: trec_eval takes such documents for unjudged")

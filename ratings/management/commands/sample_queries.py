from contextlib import ExitStack

from ratings.formats import searches
from ratings.formats.source import stream_at
from ratings.importing.intake import opening
from ratings.importing.sampling.samples import MOST_QUERIES, USUAL_SIZE, Design, LogReport, sample_log
from ratings.management.progress import ProgressLine
from ratings.management.refusals import Refused, refusing
from ratings.models import Sample

from ._import_command import ImportCommand, pairs

METHOD_HELP = (
    "how: proportional, the most frequent for certain and others with a chance by their searches (the default);"
    " strata, in thirds of the searches or by a column; even, all with the same chance"
)


class Command(ImportCommand):
    help = "Draw queries from a log of searches, so that they stand for all of its searches."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        text = f"queries to draw, all together ({USUAL_SIZE})"
        parser.add_argument("--count", type=int, default=USUAL_SIZE, metavar="N", help=text)
        parser.add_argument("--method", choices=Sample.Method.values, help=METHOD_HELP)
        text = "of strata: the shares of the queries, such as head=2,torso=1,tail=1"
        parser.add_argument("--shares", default="", metavar="NAME=SHARE,…", help=text)
        parser.add_argument("--strata", metavar="COLUMN", help="the column that divides the log into strata")
        parser.add_argument("--seed", type=int, metavar="N", help="the seed of the draw; by default a random one")
        parser.add_argument("--days", default="", help="when the log was kept; by default the days that it names")
        text = "draw in addition to the last sample, which was drawn from the same log, until there are --count"
        parser.add_argument("--more", action="store_true", help=text)
        text = "only count the log, and say what samples of several sizes would tell"
        parser.add_argument("--dry-run", action="store_true", help=text)
        parser.add_argument("--format", choices=list(searches.FORMATS), help="by default the content shows it")
        text = f"which column holds what: {', '.join(searches.NAMES)}; WHAT= alone says that there is none"
        parser.add_argument("--columns", metavar="WHAT=COLUMN,…", action="append", default=[], help=text)
        parser.add_argument("--encoding", metavar="NAME", help="an encoding of Python, such as windows-1252")
        parser.add_argument("--header", choices=["yes", "no"], help="of a table: whether it names its columns")

    def handle(self, *, slug: str, files: list[str], **options) -> None:
        count = options["count"]
        if not 1 <= count <= MOST_QUERIES:
            raise Refused(f"--count must be from 1 to {MOST_QUERIES:,}, not {count:,}. Nothing was written.")
        collection = self.collection(slug, to_change=True)
        with refusing(), ProgressLine(self.stderr) as progress, ExitStack() as stack:
            columns = pairs(",".join(options["columns"]), "--columns", to_columns=True)
            if options["strata"]:
                columns["stratum"] = options["strata"]
            reading = opening.reading(options | {"columns": columns})
            streams = [stack.enter_context(stream_at(path)) for path in files]
            sources = stack.enter_context(opening.sources(streams, reading))
            # `more`: whether queries are drawn in addition to those of the last sample.
            choices = {"format": options["format"] or "", "more": options["more"], "progress": progress}
            design = None if options["dry_run"] else design_of(options)
            report = sample_log(collection, sources, design, **choices)
        self.print_report(report)
        if options["dry_run"]:
            self.print_outlooks(report)

    def print_outlooks(self, report: LogReport) -> None:
        for method, outlooks in report.log["outlooks"].items():
            self.stdout.write(f"{method}:")
            for outlook in outlooks:
                certain = f"{outlook['certain']:,} for certain, with {outlook['certain_share']:.0%}"
                line = f"  {outlook['size']:,} queries: {certain} of the searches"
                if outlook["margin"] is not None:
                    line += f"; a mean will be known to about ±{outlook['margin']:.3f}"
                self.stdout.write(line)


def design_of(options: dict) -> Design:
    """The design that the options name. Raises ValueError.

    Without a method, options about strata mean a draw by strata.
    """
    shares = {}
    for name, share in pairs(options["shares"], "--shares").items():
        try:
            shares[name] = float(share)
        except ValueError as error:
            raise ValueError(f"--shares: {share!r} of {name} is not a number") from error
        if not 0 <= shares[name] < float("inf"):  # nan is refused, too
            raise ValueError(f"--shares: the share {share} of {name} is not a number from 0 on")
    names_strata = bool(options["strata"] or shares)
    usual_method = Sample.Method.STRATA if names_strata else Sample.Method.PROPORTIONAL
    method = options["method"] or usual_method
    if names_strata and method != Sample.Method.STRATA:
        raise ValueError(f"--strata and --shares need --method strata, not {method}")
    return Design(options["count"], method, shares, options["seed"], options["days"])

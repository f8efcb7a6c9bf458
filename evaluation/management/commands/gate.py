import sys

from django.core.management import CommandError, call_command

from evaluation.comparing.gate import ALPHA, MARGIN, gate_of
from evaluation.comparing.gate_reports import FORMATS
from evaluation.scores.asked import MEASURE
from evaluation.significance.gate import NOT_WORSE, UNDECIDED, WORSE
from ratings.management.commands._collection_command import ExportCommand
from ratings.management.refusals import refusing

from .evaluate import DEFAULT, add_options, add_rule_and_adjudications, asked_in

EXIT_STATUS = {NOT_WORSE: 0, WORSE: 1, UNDECIDED: 2}
ERROR_STATUS = 3  # so that a broken call is no verdict
COUNTS_AS = {"pass": NOT_WORSE, "fail": WORSE}  # what a verdict of UNDECIDED counts as, by --undecided


class Command(ExportCommand):
    status: int | None = None  # with which the command ends; None: there is no verdict
    help = (
        "Say whether a release is worse than a baseline. Exit status 0: not worse; 1: worse by more than the"
        " margin; 2: it cannot be told; 3: the call is wrong."
    )

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("release", metavar="NEW", help="the system to be released")
        parser.add_argument(
            "--against",
            metavar="BASELINE",
            action="append",
            default=[],
            help="a system to compare with, and again for another one; they share alpha (the baselines that were"
            " chosen on the pages of systems)",
        )
        parser.add_argument("--run", metavar="FILE", help="import the rankings of NEW from this file first")
        text = f"a smaller loss does not matter ({MARGIN:g})"
        parser.add_argument("--margin", type=float, default=MARGIN, help=text)
        text = f"the chance that a release as good as its baselines is called worse ({ALPHA:g})"
        parser.add_argument("--alpha", type=float, default=ALPHA, help=text)
        parser.add_argument("--undecided", choices=COUNTS_AS, help="the exit status where it cannot be told")
        parser.add_argument("--measure", help=f"like nDCG@10, P(rel=2)@5, AP ({DEFAULT} {MEASURE})")
        add_options(parser)
        add_rule_and_adjudications(parser)
        # argparse lists the choices; as in all of these helps, the default stands in parentheses.
        parser.add_argument("--format", default="table", choices=FORMATS, help="(table)")
        text = "what links begin with: https://ratings.example.org"
        parser.add_argument("--site", default="", metavar="URL", help=text)

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except SystemExit as ended:
            # argparse ends a wrong call with 2, which here means that it cannot be told.
            raise SystemExit(ERROR_STATUS if self.status is None and ended.code else ended.code) from None

    def execute(self, *args, **options) -> None:
        try:
            super().execute(*args, **options)
        except CommandError as error:
            error.returncode = ERROR_STATUS
            raise
        if self.status:  # 0 is the status of every command that ends well
            sys.exit(self.status)

    def handle(self, *, slug: str, release: str, against: list[str], **arguments) -> None:
        collection = self.collection(slug)
        if arguments["run"]:
            # Standard output is for the report of the gate alone. What the import says goes to standard error.
            call_command("import_run", slug, arguments["run"], system=release, stdout=self.stderr)
        with refusing(last_sentence=""):
            asked = asked_in(collection, arguments["measure"], systems=[], arguments=arguments)
            gate = gate_of(
                collection, asked, release, anchors=against, margin=arguments["margin"], alpha=arguments["alpha"]
            )
        site = arguments["site"].rstrip("/")
        self.put_out([FORMATS[arguments["format"]](gate, site)], arguments["output"])
        self.status = EXIT_STATUS[gate["verdict"]]
        if gate["verdict"] == UNDECIDED and arguments["undecided"]:
            self.status = EXIT_STATUS[COUNTS_AS[arguments["undecided"]]]

from evaluation import files, scores
from evaluation.measures.options import BY_SCORE
from evaluation.measures.refusal import refuse_unknown
from ratings.formats.rankings import ORDERS, SYSTEM_FROM
from ratings.management.commands._collection_command import OutputCommand, Refused, ReportingCommand
from ratings.management.refusals import refusing

from .evaluate import add_scoring, asked_in, printed_evaluation, refuse_format


class Command(ReportingCommand, OutputCommand):
    help = "Print the scores of runs by qrels, from TREC files. Nothing is imported or written."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("qrels", metavar="QRELS", help="query, iteration, document, grade; may be packed")
        parser.add_argument(
            "runs", metavar="RUN", nargs="+", help="TREC runs; may be packed or in archives; - is standard input"
        )
        parser.add_argument(
            "--order",
            choices=ORDERS,
            help="what orders the results where ranks contradict scores; score breaks ties as trec_eval does",
        )
        parser.add_argument(
            "--system-from",
            choices=SYSTEM_FROM,
            help="for files with the same run tag. file: name each system by its file; tag: take the files for"
            " parts of one system, each with other queries",
        )
        text = "if a ranking names a document twice, keep its better place"
        parser.add_argument("--keep-first", action="store_true", help=text)
        text = "leave out a document that has the id of the query, as where queries are documents, too"
        parser.add_argument("--without-own", action="store_true", help=text)
        add_scoring(parser)

    def handle(self, *, qrels: str, runs: list[str], measure: list[str], system: list[str], **arguments) -> None:
        refuse_format(arguments["format"])
        with refusing(last_sentence=""):
            try:
                loaded, evaluation = self.evaluated(qrels, runs, measure, system, arguments)
            except files.Refused as error:
                self.print_refusals(error.refusals, len(error.refusals))
                raise Refused("Nothing was evaluated.") from error
        for note in loaded.notes:
            self.stderr.write(note)
        self.put_out([printed_evaluation(evaluation, arguments)], arguments["output"])

    def evaluated(
        self, qrels: str, runs: list[str], measures: list[str], systems: list[str], arguments: dict
    ) -> tuple[files.Loaded, scores.Evaluation]:
        """What the files hold, and the scores of these systems (none named: all), the first measure the main one.

        Raises OSError, ValueError for arguments without a meaning, and files.Refused for the errors in files.
        """
        # collection: files have none, whose settings would be the defaults. measure: the first, or None for the
        # default. systems: checked and chosen below, when the rankings are read.
        asked = asked_in(collection=None, measure=next(iter(measures), None), systems=[], arguments=arguments)
        loaded = files.load(
            qrels,
            runs,
            order=arguments["order"],
            tiebreak=asked.options.ties in BY_SCORE,  # an order by score needs the order of tied documents
            system_from=arguments["system_from"],
            keep_first=arguments["keep_first"],
            without_own=arguments["without_own"],  # drop a document that has the id of its query
        )
        for name in systems:
            refuse_unknown("system", name, loaded.rankings)
        evaluation = scores.of_arrays(
            qrels,  # the path names the evaluation, in place of a collection
            loaded.queries,
            loaded.judgments,
            {name: ranking for name, ranking in loaded.rankings.items() if name in systems or not systems},
            asked,
            measures[1:],
        )
        return loaded, evaluation

from evaluation import files, record, scores
from ratings.formats.rankings import ORDERS, SYSTEM_FROM
from ratings.management.commands._collection_command import OutputCommand, Refused, ReportingCommand

from .evaluate import FORMATS, add_scoring, changes, chosen, refuse_expected_queries, refuse_format

WITHOUT_INTERVAL = (
    "The expected values have no interval: files do not say how the judged documents were chosen. They are too"
    " high where only documents that looked relevant were judged."
)


class Command(ReportingCommand, OutputCommand):
    help = "Print what runs score against qrels, straight from TREC files: nothing is imported or written."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("qrels", metavar="QRELS", help="query, iteration, document, grade; may be packed")
        parser.add_argument(
            "runs", metavar="RUN", nargs="+", help="TREC runs, may be packed or in archives; - is standard input"
        )
        parser.add_argument(
            "--order",
            choices=ORDERS,
            help="what orders the results where ranks and scores contradict; score breaks ties as trec_eval does",
        )
        parser.add_argument(
            "--system-from",
            choices=SYSTEM_FROM,
            help="where files have one run tag: file names each system by its file; tag takes them for parts of"
            " one system, which have no query together",
        )
        add_scoring(parser)
        said = "also the mean of nDCG@k that a model expects once everything is judged, without an interval"
        parser.add_argument("--expected", action="store_true", help=said)

    def handle(self, *, qrels: str, runs: list[str], measure: list[str], system: list[str], **given) -> None:
        refuse_format(given["format"])
        expected = given["expected"]
        refuse_expected_queries(given)
        try:
            options = scores.options_for(None, given["profile"], **changes(given))
            found = files.load(
                qrels, runs, given["order"], options.ties == "score", given["system_from"], expected
            )
            rankings = {name: found.rankings[name] for name in self.chosen(system, found)}
            evaluation = scores.of_arrays(
                qrels,
                found.queries,
                found.judgments,
                rankings,
                measure or ["nDCG@10"],
                options,
                found.rankings if expected else None,
            )
        except files.Refused as error:
            self.print_refusals(error.refusals, len(error.refusals))
            raise Refused("Nothing was evaluated.") from error
        except OSError as error:
            raise Refused(f"{error.filename or 'a file'}: {error.strerror or error}.") from error
        except ValueError as error:
            raise Refused(str(error)) from error
        for note in [*found.notes, *([WITHOUT_INTERVAL] if expected else [])]:
            self.stderr.write(note)
        self.put_out([chosen(FORMATS, given)(evaluation, given["profile"], given["per_query"])], given["output"])

    def chosen(self, systems: list[str], found: files.Loaded) -> list[str]:
        for name in systems:
            if name not in found.rankings:
                raise ValueError(record.unknown_system(name, list(found.rankings)))
        return [name for name in found.rankings if name in systems or not systems]

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import isnan

from evaluation import scores
from evaluation.judgments.rules import ADJUDICATIONS as OF_ADJUDICATIONS
from evaluation.judgments.rules import RULES
from evaluation.measures import PROFILES, Measure
from evaluation.measures.refusal import unknown
from evaluation.page import documents
from evaluation.record import judgment_rows
from evaluation.results import csv_and_json
from evaluation.results.trust import older_texts
from evaluation.scores import Asked, Evaluation
from evaluation.scores.asked import ADJUDICATIONS, MEASURE, PROFILE, RULE
from evaluation.scores.expected import expected_means
from ratings.formats import spreadsheet
from ratings.formats.registry import Format
from ratings.formats.rows import RatingLine
from ratings.management.commands._collection_command import RAW, ExportCommand, Refused
from ratings.management.refusals import refusing
from ratings.models import Collection

OPTIONS = {
    "gain": "linear, exponential, exponential_signed or map:0=0,1=1,…",
    "discount": "log_shift or jk2002",
    "log_base": "base of the logarithm: 2, 10, e",
    "ideal": "judged or retrieved",
    "unjudged": "zero, condensed, require or a grade to assume",
    "negatives": "minmax, minmax_closed, raw or clip",
    "undefined": "skip or zero",
    "missing": "empty or skip",
    "ties": "rank, score, trec_eval_9 or average",
    "relevant_from": "lowest grade that is relevant; by default that of the collection",
}
FORMATS = ("table", "csv", "json")
NO_VALUE = "–"
DEFAULT = "that of the collection, or"  # in helps: (that of the collection, or nDCG@10)


class Command(ExportCommand):
    help = "Print the scores of the systems of a collection: means, 95 % intervals, and numbers of queries."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        add_scoring(parser)
        add_rule_and_adjudications(parser)
        parser.add_argument(
            "--bounds", action="store_true", help="also the bounds of nDCG: what it can become once all is judged"
        )
        add_expected(parser)

    def handle(self, *, slug: str, measure: list[str], system: list[str], **arguments) -> None:
        collection = self.collection(slug)
        evaluation = evaluation_of(collection, measure, system, arguments)
        self.put_out([printed_evaluation(evaluation, arguments, older_texts(collection))], arguments["output"])
        for line in [*missing_steps(evaluation), *expected_notes(evaluation)]:
            self.stderr.write(line)


def evaluation_of(collection: Collection, measures: list[str], systems: list[str], arguments: dict) -> Evaluation:
    """The evaluation that these arguments ask for. Raises Refused.

    measures, systems: as text; without any, the default measure and all systems. arguments: all others.
    """
    refuse_format(arguments["format"])
    # By query, CSV has no means. The other formats print the means, with the expected ones, beside the queries.
    if arguments["expected"] and arguments["per_query"] and arguments["format"] == "csv":
        raise Refused("An expected value is a mean: leave out --per-query or give another format.")
    first_measure, other_measures = next(iter(measures), None), measures[1:]
    with refusing(last_sentence=""):
        asked = asked_in(collection, first_measure, systems, arguments)
        with_bounds: list[Measure | str] = [asked.measure, *other_measures] if arguments["bounds"] else []
        evaluation = scores.evaluate(collection, asked, other_measures, with_bounds)
        if not arguments["expected"]:
            return evaluation
        return replace(evaluation, expected=expected_means(collection, asked, evaluation.measures))


# Arguments that several commands take


def add_scoring(parser) -> None:
    """Adds the arguments of measures, systems, options and format."""
    add_measures(parser)
    add_systems(parser)
    add_options(parser)
    parser.add_argument("--per-query", action="store_true", help="also the values of every query")
    add_format(parser)


def add_measures(parser) -> None:
    text = f"like nDCG@10, P(rel=2)@5, AP; may be repeated ({DEFAULT} {MEASURE})"
    parser.add_argument("--measure", action="append", default=[], help=text)


def add_systems(parser) -> None:
    parser.add_argument("--system", action="append", default=[], help="only this system; may be repeated")


def add_options(parser) -> None:
    text = f"named set of options: {', '.join(PROFILES)} ({DEFAULT} {PROFILE})"
    parser.add_argument("--profile", help=text)
    for name, values in OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name, help=values)


def add_rule_and_adjudications(parser) -> None:
    text = f"makes one judgment of several ratings: {', '.join(RULES)} ({DEFAULT} {RULE})"
    parser.add_argument("--rule", help=text)
    text = f"whether adjudications stand above the rule: {', '.join(OF_ADJUDICATIONS)} ({DEFAULT} {ADJUDICATIONS})"
    parser.add_argument("--adjudications", help=text)


def add_judgments(parser) -> None:
    """Adds the arguments of `judgments_of`."""
    # A map may begin with a negative grade; argparse would take "-1=0" for an option.
    parser._negative_number_matcher = re.compile(r"^-[\d.]")
    add_rule_and_adjudications(parser)
    text = "a whole number for each grade that the format cannot hold: -1=0,0.5=1"
    parser.add_argument("--map", default="", help=text)


def add_expected(parser) -> None:
    text = "also the expected value of nDCG@k once all is judged, with a 90 %% interval for missing judgments"
    parser.add_argument("--expected", action="store_true", help=text)


def add_format(parser) -> None:
    parser.add_argument("--format", default="table", help=f"{', '.join(FORMATS)} (table)")
    parser.add_argument("--raw", action="store_true", help=RAW)


def changes(arguments: dict) -> dict[str, str]:
    """The options that are given instead of those of the profile, as text by name."""
    return {name: arguments[name] for name in OPTIONS if arguments[name] is not None}


def asked_in(collection: Collection | None, measure: str | None, systems: list[str], arguments: dict) -> Asked:
    """What these arguments ask. ValueError for texts without a meaning."""
    # The command on files has no rule and no adjudications.
    named = {name: arguments[name] for name in ("profile", "rule", "adjudications") if name in arguments}
    return Asked.of(collection, measure=measure, systems=systems, **named, **changes(arguments))


def judgments_of(collection: Collection, arguments: dict, format: Format) -> tuple[list[RatingLine], str]:
    """The judgments that these arguments ask for, as the format holds them, and their rule. Raises Refused."""
    with refusing("The options --map and --rule decide."):
        asked = Asked.of(collection, rule=arguments["rule"], adjudications=arguments["adjudications"])
        replacing = judgment_rows.parse_map(arguments["map"])
        return judgment_rows.judgments(collection, asked.rule, replacing, asked.adjudications, format), asked.rule


def refuse_format(name: str) -> None:
    if name not in FORMATS:
        raise Refused(unknown("format", name, FORMATS))


def printed(
    arguments: dict, document: Callable[[], dict], table: Callable[[], documents.Table], text: Callable[[], str]
) -> str:
    """The text in the --format of the arguments: JSON of a document, CSV of a table, or a text table."""
    if arguments["format"] == "json":
        return documents.as_text(document())
    if arguments["format"] == "csv":
        header, lines = table()
        return "".join(spreadsheet.written([header, *lines], raw=arguments["raw"], end="\n"))
    return text()


def printed_evaluation(evaluation: Evaluation, arguments: dict, older_texts: int | None = None) -> str:
    """The evaluation as the arguments ask for it: in the format of --format, and with --per-query by query.

    older_texts: how many ratings were given to an older text of their document; None for an evaluation of files,
    which have no texts.
    """
    per_query = arguments["per_query"]
    every_query, means = csv_and_json.every_query, csv_and_json.means
    return printed(
        arguments,
        document=lambda: csv_and_json.document(evaluation, per_query, older_texts),
        table=lambda: every_query(evaluation) if per_query else means(evaluation, older_texts),
        text=lambda: as_table(evaluation, per_query),
    )


def missing_steps(evaluation: Evaluation) -> list[str]:
    """The line on the step that is missing before there are scores; [] where there are. It is no error."""
    slug = evaluation.collection
    if evaluation.per_query.index.empty:
        return [f"{slug} has no queries yet: import_queries {slug} FILE"]
    if not evaluation.systems:
        return [f"{slug} has no systems yet: import_run {slug} FILE"]
    if (evaluation.reasons == "not judged").all(axis=None):
        return [f"{slug} has no ratings yet: import_qrels {slug} FILE, or pool {slug} and let people rate"]
    return []


def expected_notes(evaluation: Evaluation) -> list[str]:
    """The lines on expected values: reasons for missing intervals by measure, and the machines in the model."""
    without = {measure: expected.without for measure, expected in evaluation.expected.items()}
    machines = dict.fromkeys(expected.machines_in_words for expected in evaluation.expected.values())
    lines = [f"The expected {measure} has no interval: {reason}." for measure, reason in without.items() if reason]
    return lines + [line for line in machines if line]


# The text table


def as_table(evaluation: Evaluation, per_query: bool) -> str:
    """The text table of means, with `per_query` one of each measure by query.

    Below them stand the options, as fingerprints, and the reasons why queries have no value.
    """
    shown = evaluation.shown
    columns: list[tuple[str, Column]] = [("system", "system"), ("measure", "measure")]
    columns += [COLUMNS[name] for name in COLUMNS if name in shown]
    rows = [
        {"system": standing.system, "measure": standing.measure, **standing.row(shown)}
        for standing in evaluation.by_column.values()  # one for each system and measure
    ]
    tables = [text_table(rows, columns, left=2)]
    if per_query:
        tables += [aligned(per_query_lines(evaluation, str(measure)), left=1) for measure in evaluation.measures]
    footer = fingerprint_lines(evaluation) + undefined_lines(evaluation)
    return "\n".join([*tables, footer])


def fingerprint_lines(evaluation: Evaluation) -> str:
    """The fingerprint, or where measures state gain or discount themselves, that of each."""
    lines = {f"{measure}: {evaluation.fingerprint_of(measure)}\n" for measure in evaluation.measures}
    fingerprints = {evaluation.fingerprint_of(measure) for measure in evaluation.measures}
    return "".join(sorted(lines)) if len(fingerprints) > 1 else f"{fingerprints.pop()}\n"


def in_percent(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.0%}"


# A column of a text table: the name of a number, the names of both ends of an interval, or a function of the row.
Column = str | tuple[str, str] | Callable[[dict], str]

# The columns of the table, by name in the summary: the title, and the column.
COLUMNS: dict[str, tuple[str, Column]] = {
    "mean": ("mean", "mean"),
    "low": ("95 % interval", ("low", "high")),
    "lowest": ("can become", ("lowest", "highest")),
    "expected": ("expected", "expected"),
    "expected_low": ("90 % for missing", ("expected_low", "expected_high")),
    "best": ("best", lambda row: in_percent(row["best"])),
    "plain": ("mean of the queries", "plain"),
    "traffic": ("searches", lambda row: in_percent(row["traffic"])),
    "weighted": ("weighted mean", "weighted"),
    "weighted_low": ("95 % interval", ("weighted_low", "weighted_high")),
    "total": ("total", lambda row: NO_VALUE if row["total"] is None else f"{row['total']:.0f}"),
    "queries": ("queries", lambda row: str(row["queries"])),
    "undefined": ("undefined", lambda row: str(row["undefined"])),
    "judged": ("judged", lambda row: NO_VALUE if row["judged"] is None else f"{row['judged']:.1%}"),
}


def cell(row: dict, column: Column) -> str:
    """The text of a column of the row."""
    if callable(column):
        return column(row)
    if isinstance(column, tuple):
        low, high = (row[name] for name in column)
        return NO_VALUE if low is None else f"{decimals(low)} to {decimals(high)}"
    value = row[column]
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else decimals(value)


def text_table(rows: Iterable[dict], columns: Sequence[tuple[str, Column]], left: int) -> str:
    """The rows as text. columns: title and column of each, the first `left` of them left-aligned."""
    lines = [[cell(row, column) for _, column in columns] for row in rows]
    return aligned([[title for title, _ in columns], *lines], left)


def per_query_lines(evaluation: Evaluation, measure: str) -> list[list[str]]:
    """The cells of the table by query: a line for each query with the value of each system, below the heads."""
    systems = list(evaluation.systems)
    values = evaluation.per_query[[(measure, system) for system in systems]]
    rows = zip(values.index, values.to_numpy(), strict=True)
    return [[measure, *systems], *([query, *map(decimals, row)] for query, row in rows)]


def undefined_lines(evaluation: Evaluation) -> str:
    """The reasons why queries have no value, in one line where they are the same for all systems and measures."""
    reasons = {column: standing.why for column, standing in evaluation.by_column.items()}  # by (system, measure)
    if len(set(reasons.values())) == 1:
        (reason,) = set(reasons.values())
        return f"undefined: {reason}\n" if reason else ""
    return "".join(f"undefined, {system}, {m}: {reason}\n" for (system, m), reason in reasons.items() if reason)


def decimals(value: float | None) -> str:
    return NO_VALUE if value is None or isnan(value) else f"{value:.4f}"


def aligned(lines: list[list[str]], left: int) -> str:
    """The lines as text with columns as wide as their widest cell: the first `left` left-aligned, others right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded_lines = []
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[:left], widths[:left], strict=True)]
        cells += [cell.rjust(width) for cell, width in zip(line[left:], widths[left:], strict=True)]
        padded_lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(padded_lines)

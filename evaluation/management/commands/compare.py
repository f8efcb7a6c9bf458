from collections.abc import Callable

from evaluation import scores
from evaluation.results import comparison
from evaluation.results.comparison import Compared
from evaluation.significance import ALPHA, CANNOT_TELL, FEWEST, POWER
from evaluation.significance.draws import SEED, TEST_DRAWS
from ratings.management.commands._collection_command import ExportCommand
from ratings.management.refusals import refusing

from .evaluate import (
    NO_VALUE,
    Column,
    add_expected,
    add_format,
    add_measures,
    add_options,
    add_rule_and_adjudications,
    aligned,
    decimals,
    evaluation_of,
    expected_notes,
    fingerprint_lines,
    in_percent,
    missing_steps,
    printed,
    text_table,
)

MANY_QUERIES = 100_000  # queries: larger numbers are printed as "over 100,000"


class Command(ExportCommand):
    help = "Compare systems with a baseline on the same queries: differences, intervals, tests and power."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("baseline", metavar="BASELINE", help="the system that the others are compared with")
        parser.add_argument("others", metavar="OTHER", nargs="*", help="systems; by default all others")
        add_measures(parser)
        parser.add_argument(
            "--all-pairs",
            action="store_true",
            help="compare all pairs of these systems, corrected by Tukey's HSD; by default each system with the"
            " baseline, corrected by Holm",
        )
        draws_help = f"number of draws of the randomisation tests ({TEST_DRAWS:,})"
        parser.add_argument("--draws", type=int, default=TEST_DRAWS, help=draws_help)
        parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the draws ({SEED})")
        add_options(parser)
        add_rule_and_adjudications(parser)
        text = "also the bounds of a difference of nDCG; no verdict where missing judgments could reverse it"
        parser.add_argument("--bounds", action="store_true", help=text)
        add_expected(parser)
        parser.add_argument("--per-query", action="store_true", help="also the difference on every query")
        add_format(parser)

    def handle(self, *, slug: str, baseline: str, others: list[str], measure: list[str], **arguments) -> None:
        collection = self.collection(slug)
        # Without others, all systems are compared with the baseline: [] has all of them evaluated.
        evaluation = evaluation_of(collection, measure, [baseline, *others] if others else [], arguments)
        with refusing(last_sentence=""):
            comparisons = comparison.compared(
                evaluation, baseline, others, arguments["all_pairs"], arguments["draws"], arguments["seed"]
            )
        per_query = arguments["per_query"]
        text = printed(
            arguments,
            document=lambda: comparison.document(comparisons, per_query),
            table=lambda: (comparison.every_query if per_query else comparison.table)(comparisons),
            text=lambda: as_table(comparisons, per_query),
        )
        self.put_out([text], arguments["output"])
        for line in [*missing_steps(evaluation), *expected_notes(evaluation)]:
            self.stderr.write(line)


# The text table


def as_table(comparisons: list[Compared], per_query: bool) -> str:
    """The text table of pairs, with `per_query` one of each measure by query, and below them the notes."""
    rows = [row for compared in comparisons for row in compared.rows()]
    columns: list[tuple[str, Column]] = [(name, name) for name in ("measure", "baseline", "system")]
    columns += [COLUMNS[name] for name in COLUMNS if name in rows[0]]  # all rows have the same members
    if not all(compared.measure.more_is_better for compared in comparisons):
        columns = [(title.replace("better/same/worse", "higher/same/lower"), column) for title, column in columns]
    tables = [text_table(rows, columns, left=3)]
    if per_query:
        tables += [aligned(per_query_lines(compared), left=1) for compared in comparisons]
    lines = [note for compared in comparisons for note in notes(compared)]
    lines.append(f"detectable: the smallest difference that so many queries show {POWER:.0%} of the time")
    lines.append("more queries: how many are lacking to show this difference as often")
    footer = "".join(f"{line}\n" for line in lines) + fingerprint_lines(comparisons[0].evaluation)
    return "\n".join([*tables, footer])


def chance(p: float | None) -> str:
    return "<0.0001" if p is not None and p < 0.0001 else decimals(p)


def queries_lacking(row: dict) -> str:
    """How many more queries would show the difference, as text."""
    if row["more"] is None or (not row["more"] and row["verdict"] == CANNOT_TELL):  # usually 0 more would show it
        return NO_VALUE
    return f"over {MANY_QUERIES:,}" if row["more"] > MANY_QUERIES else f"{row['more']:,}"


def signed(name: str, form: str) -> Callable[[dict], str]:
    """The column of a difference, which has its sign."""
    return lambda row: NO_VALUE if row[name] is None else f"{row[name]:+{form}}"


# The columns of the table, by name in a row: the title, and the column.
COLUMNS: dict[str, tuple[str, Column]] = {
    "difference": ("difference", signed("difference", ".4f")),
    "plain": ("of the queries", signed("plain", ".4f")),
    "low": ("95 % interval", ("low", "high")),
    "lowest": ("can become", ("lowest", "highest")),
    "expected": ("expected", signed("expected", ".4f")),
    "expected_low": ("90 % for missing", ("expected_low", "expected_high")),
    "best": ("best", lambda row: in_percent(row["best"])),
    "effect": ("effect", signed("effect", ".2f")),
    "wins": ("better/same/worse", lambda row: f"{row['wins']}/{row['ties']}/{row['losses']}"),
    "p": ("p", lambda row: chance(row["p"])),
    "p_randomised": ("randomised", lambda row: chance(row["p_randomised"])),
    "p_holm": ("Holm", lambda row: chance(row["p_holm"])),
    "p_hsd": ("HSD", lambda row: chance(row["p_hsd"])),
    "verdict": ("verdict", "verdict"),
    "detectable": ("detectable", "detectable"),
    "more": ("more queries", queries_lacking),
}


def notes(result: Compared) -> list[str]:
    """The lines below the table on one measure: queries, tests, correction, and reasons for missing numbers."""
    tests = result.tests
    left_out = f"; {len(result.dropped):,} left out: {scores.why(result.why_dropped)}" if result.dropped else ""
    of_log = ""
    if result.sampled:
        share = in_percent(result.rows()[0]["traffic"])
        of_log = f", {tests.drawn:,} of them drawn from a log, with {share} of its searches"
    draws = f"{tests.draws:,} draws with seed {tests.seed}"
    # tests.drawn: how many queries are tested. These are all or, with a log, those drawn from it: the others were
    # taken for certain, and have no sampling error. The randomisation test flips the signs of the differences: in
    # all ways for few queries, else at random.
    signs = f"all {2**tests.drawn:,} signs" if tests.exact else draws
    corrections = {
        "holm": f"Holm for {len(result.pairs):,} comparisons",
        "hsd": f"Tukey's HSD for {len(result.systems)} systems",
    }
    lines = [f"{result.measure}: {tests.queries:,} queries in common{of_log}{left_out}"]
    if tests.drawn >= FEWEST:
        verdict = f"verdict at {ALPHA} by {corrections[tests.correction]}"
        lines.append(f"{result.measure}: p of the paired t test; randomised by {signs}; {verdict}")
    if tests.critical is not None:
        lines.append(f"{result.measure}: by Tukey's HSD ({draws}) means {decimals(tests.critical)} apart differ")
    for row in result.rows():
        if row["why"]:
            reasons = ", ".join(sorted(set(row["why"].values())))
            lines.append(f"{result.measure}, {row['baseline']} and {row['system']}: {NO_VALUE} where {reasons}")
    return lines


def per_query_lines(result: Compared) -> list[list[str]]:
    """The cells of the table by query: a line for each query with the difference of each pair, below the heads."""
    differences = [comparison.differences(result, *pair) for pair in result.pairs]
    lines = [[str(result.measure), *(f"{system} less {baseline}" for baseline, system in result.pairs)]]
    return lines + [[query, *(decimals(column[query]) for column in differences)] for query in differences[0]]

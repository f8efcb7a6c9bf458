from evaluation import scores
from evaluation.analyses import comparison, report
from evaluation.analyses.comparison import Compared
from evaluation.decisive import with_expected
from evaluation.draws import SEED, TESTS
from evaluation.significance import ALPHA, FEWEST, POWER
from ratings.formats import spreadsheet
from ratings.management.commands._collection_command import ExportCommand, Refused

from .evaluate import (
    NO_VALUE,
    add_expected,
    add_format,
    add_measures,
    add_options,
    add_rule,
    aligned,
    beside_expected,
    between,
    chance_of,
    changes,
    chosen,
    fingerprint_lines,
    four,
    lacking,
    refuse_expected_queries,
    refuse_format,
)

MANY = 100_000  # queries: nobody judges more to see a difference


class Command(ExportCommand):
    help = "Compare systems with a baseline on the same queries: by how much, how sure, and what could be seen."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("baseline", metavar="BASELINE", help="the system that the others are compared with")
        parser.add_argument("others", metavar="OTHER", nargs="*", help="systems; by default all others")
        add_measures(parser)
        parser.add_argument(
            "--all-pairs",
            action="store_true",
            help="every pair of these systems, by Tukey's HSD; else each with the baseline, by Holm",
        )
        parser.add_argument(
            "--draws", type=int, default=TESTS, help=f"draws of the randomisation tests ({TESTS:,})"
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"what the draws begin with ({SEED})")
        add_options(parser)
        add_rule(parser)
        parser.add_argument(
            "--bounds",
            action="store_true",
            help="also what a difference of nDCG can still become; no verdict where that can be either",
        )
        add_expected(parser)
        parser.add_argument("--per-query", action="store_true", help="the difference on every query, too")
        add_format(parser)

    def handle(self, *, slug: str, baseline: str, others: list[str], measure: list[str], **given) -> None:
        collection = self.collection(slug)
        refuse_format(given["format"])
        refuse_expected_queries(given)
        measures = measure or ["nDCG@10"]
        try:
            evaluation = scores.evaluate(
                collection,
                measures,
                scores.options_for(collection, given["profile"], **changes(given)),
                systems=[baseline, *others] if others else None,
                rule=given["rule"],
                adjudications=given["adjudications"],
                bounds=measures if given["bounds"] else (),
            )
            if given["expected"]:
                evaluation = with_expected(collection, evaluation)
            every = comparison.compared(
                evaluation, baseline, others, given["all_pairs"], given["draws"], given["seed"]
            )
        except ValueError as error:
            raise Refused(str(error)) from error
        self.put_out([chosen(FORMATS, given)(every, given["profile"], given["per_query"])], given["output"])
        for line in [*lacking(evaluation), *beside_expected(evaluation)]:
            self.stderr.write(line)


# The three formats: (what was compared by each measure, profile, per query) -> text


def as_json(every: list[Compared], profile: str, per_query: bool) -> str:
    return report.as_text(comparison.document(every, profile, per_query))


def as_csv(every: list[Compared], profile: str, per_query: bool, *, raw: bool = False) -> str:
    header, lines = (comparison.every_query if per_query else comparison.table)(every, profile)
    return "".join(spreadsheet.written([header, *lines], raw=raw, end="\n"))


def as_table(every: list[Compared], profile: str, per_query: bool) -> str:
    rows = [row for each in every for row in each.rows()]
    columns = [name for name in COLUMNS if name in rows[0]]
    lines = [["measure", "baseline", "system", *(COLUMNS[name][0] for name in columns)]]
    for row in rows:
        said = [COLUMNS[name][1](row) for name in columns]
        lines.append([row["measure"], row["baseline"], row["system"], *said])
    parts = [aligned(lines, left=3)]
    if per_query:
        parts += [aligned(per_query_lines(each), left=1) for each in every]
    parts.append(
        "".join(f"{line}\n" for each in every for line in notes(each))
        + f"detectable: the smallest difference that so many queries show {POWER:.0%} of the time\n"
        + "more queries: how many are lacking to show this difference as often\n"
        + fingerprint_lines(every[0].evaluation)
    )
    return "\n".join(parts)


def chance(p: float | None) -> str:
    return "<0.0001" if p is not None and p < 0.0001 else four(p)


def queries_lacking(row: dict) -> str:
    if row["more"] is None:
        return NO_VALUE
    return f"over {MANY:,}" if row["more"] > MANY else f"{row['more']:,}"


# The columns of the table by name in a row: a title, and how a row fills it.
COLUMNS = {
    "difference": (
        "difference",
        lambda row: NO_VALUE if row["difference"] is None else f"{row['difference']:+.4f}",
    ),
    "low": ("95 % interval", lambda row: between(row["low"], row["high"])),
    "lowest": ("can become", lambda row: between(row["lowest"], row["highest"])),
    "expected": (
        "expected",
        lambda row: NO_VALUE if row["expected"] is None else f"{row['expected']:+.4f}",
    ),
    "expected_low": ("90 % for missing", lambda row: between(row["expected_low"], row["expected_high"])),
    "best": ("best", lambda row: chance_of(row["best"])),
    "effect": ("effect", lambda row: NO_VALUE if row["effect"] is None else f"{row['effect']:+.2f}"),
    "wins": ("better/same/worse", lambda row: f"{row['wins']}/{row['ties']}/{row['losses']}"),
    "p": ("p", lambda row: chance(row["p"])),
    "p_randomised": ("randomised", lambda row: chance(row["p_randomised"])),
    "p_holm": ("Holm", lambda row: chance(row["p_holm"])),
    "p_hsd": ("HSD", lambda row: chance(row["p_hsd"])),
    "verdict": ("verdict", lambda row: row["verdict"]),
    "detectable": ("detectable", lambda row: four(row["detectable"])),
    "more": ("more queries", queries_lacking),
}


def notes(each: Compared) -> list[str]:
    """What the numbers of one measure rest on, and why some are not there."""
    found, pairs = each.tests, len(each.pairs)
    left_out = f"; {len(each.dropped):,} left out: {scores.why(each.why_dropped)}" if each.dropped else ""
    drawn = f"{found.draws:,} draws with seed {found.seed}"
    signs = f"all {2**found.queries:,} signs" if found.exact else drawn
    by = {"holm": f"Holm for {pairs:,} comparisons", "hsd": f"Tukey's HSD for {len(each.systems)} systems"}
    lines = [f"{each.measure}: {found.queries:,} queries in common{left_out}"]
    if found.queries >= FEWEST:
        judged_by = f"verdict at {ALPHA} by {by[found.correction]}"
        lines.append(f"{each.measure}: p of the paired t test; randomised by {signs}; {judged_by}")
    if found.critical is not None:
        lines.append(f"{each.measure}: by Tukey's HSD ({drawn}) means {four(found.critical)} apart differ")
    for row in each.rows():
        if row["why"]:
            reasons = ", ".join(sorted(set(row["why"].values())))
            lines.append(f"{each.measure}, {row['baseline']} and {row['system']}: {NO_VALUE} where {reasons}")
    return lines


def per_query_lines(each: Compared) -> list[list[str]]:
    ends = [comparison.differences(each, *pair) for pair in each.pairs]
    lines = [[str(each.measure), *(f"{system} less {baseline}" for baseline, system in each.pairs)]]
    lines += [[query, *(four(end[query]) for end in ends)] for query in ends[0]]
    return lines


FORMATS = {"table": as_table, "csv": as_csv, "json": as_json}

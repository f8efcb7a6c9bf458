"""The texts of a bundle: a paragraph for a methods section, and the README."""

import shlex
from collections.abc import Iterable

from django.utils.formats import date_format

from ratings.words import counted as in_digits

from ...judgments.rules import SMOOTHING_NOTE
from ...models import FrozenEvaluation
from ...page import options
from ...page.numbers import decimals, percent
from ...page.words import counted
from ...results.comparison import Compared
from ...scores import Evaluation
from .. import about, files_of, settings_of
from ..content import QRELS, Settings
from ..freezing import About
from . import comparisons
from .figures import Figure

SPECIAL = set("\\`*_[]<>#|")


def methods(frozen: FrozenEvaluation, evaluation: Evaluation, tests: Compared | None) -> str:
    """The paragraph for a methods section: systems, collection, judgments, measure, options, means and tests."""
    asked, facts, measure = settings_of(frozen), about(frozen), evaluation.measures[0]
    sentences = [
        _what(facts, evaluation),
        _judged(facts, asked),
        _measured(asked, evaluation),
        _judged_share(evaluation),
        f"{_counted(evaluation)} {_intervals(asked, evaluation)}.",
        f"Mean {measure}: {_means(evaluation)}.",
        *_expected(evaluation),
        comparisons.in_words(tests),
        f"Computed with {facts.software} and frozen on {date_format(frozen.created_at, 'j F Y')} as "
        f"“{frozen.name}”, SHA-256 {frozen.hash}.",
    ]
    return " ".join(sentences) + "\n"


def _intervals(asked: Settings, evaluation: Evaluation) -> str:
    if evaluation.sampled:
        drawn = f"{evaluation.sampled.drawn:,} of the queries were drawn with known chances"
        return (
            f"weighted to all searches of the log from which {drawn}, with 95 % intervals by t for this draw "
            "(linearised, by stratum)"
        )
    return (
        "with 95 % intervals by a percentile bootstrap over queries "
        f"({asked.interval['draws']:,} resamples, seed {asked.interval['seed']}, distances from the mean "
        "widened by sqrt(n / (n - 1)))"
    )


def _expected(evaluation: Evaluation) -> list[str]:
    """The sentences about expected values of the first measure; [] where there are none."""
    expected = evaluation.expected.get(evaluation.measures[0])
    if expected is None:
        return []
    means = []
    for row in map(expected.of, evaluation.names):
        if row.mean is not None:
            interval = "" if row.low is None else f" ({decimals(row.low)} to {decimals(row.high)})"
            means.append(f"{row.system} {decimals(row.mean)}{interval}")
    without = f", without intervals: {expected.without}" if expected.without else ""
    intervals = "" if expected.without else " with 90 % intervals for missing judgments alone"
    rounds = counted(expected.rounds, "round", "rounds")
    return [
        f"These means are plain. {expected.judged:,} of {expected.pairs:,} pairs were judged, and "
        f"{expected.drawn:,} pairs were drawn in {rounds}. Expected once all are judged{intervals} "
        f"({expected.estimated}{without}): {', '.join(means)}.",
        *([expected.named_machines] if expected.named_machines else []),
    ]


def _what(facts: About, evaluation: Evaluation) -> str:
    names = ", ".join(evaluation.systems)
    systems = counted(len(evaluation.systems), "system", "systems")
    queries = counted(len(evaluation.table.record.queries), "query", "queries")
    verb = "was" if len(evaluation.systems) == 1 else "were"
    subject = f"{systems[0].upper()}{systems[1:]} ({names}) {verb} evaluated"
    return f"{subject} on {queries} of the collection “{facts.collection_name}”."


def _judged(facts: About, asked: Settings) -> str:
    grades = [f"{value} ({label})" if label else value for value, label in facts.grades]
    scale = f" on a scale of {', '.join(grades)}" if grades else ""
    made = (
        f"from {in_digits(facts.ratings, 'rating')} of {counted(facts.raters, 'rater', 'raters')}"
        if facts.ratings
        else ""
    )
    if facts.adjudicated and asked.adjudications == "use":
        decided = f"{facts.adjudicated:,} decided by adjudication"
        made = f"{made}, {decided}" if made else f"all {decided}"
    rule = options.RULE_DESCRIPTIONS[asked.rule].rstrip(".")
    how = f" {SMOOTHING_NOTE}" if asked.rule == "dawid_skene" else ""
    there = f"There {'was' if facts.judgments == 1 else 'were'} {in_digits(facts.judgments, 'judgment')}{scale}"
    return f"{there}, made {made}; rule: {rule[0].lower()}{rule[1:]}.{how}"


def _measured(asked: Settings, evaluation: Evaluation) -> str:
    measure = evaluation.measures[0]
    in_force = options.in_force(asked.asked)
    # Rule and adjudications are in the sentence of `_judged`.
    listed = "; ".join(
        f"{line['label'].lower()}: {line['words']}"
        for line in in_force
        if line["used"] and line["label"] not in _OF_JUDGMENTS
    )
    return f"The measure is {measure} ({evaluation.asked.fingerprint_of(measure)}) with {listed}."


_OF_JUDGMENTS = {options.ABOUT[name][0] for name in options.OF_JUDGMENTS}


def _judged_share(evaluation: Evaluation) -> str:
    measure = evaluation.measures[0]
    known = [each.judged for each in evaluation.standings if each.judged is not None]
    if not known:
        return "No query that counts has a document in a ranking, so there is no judged share."
    depth = f"top {measure.cutoff}" if measure.cutoff else "rankings"
    low, high = percent(min(known)), percent(max(known))
    each = f"{low} for every system" if low == high else f"{low} to {high} by system"
    return f"The judged share of the {depth} was {each}."


def _counted(evaluation: Evaluation) -> str:
    counts = {(each.queries, each.why) for each in evaluation.standings}
    if len(counts) > 1:
        least, most = min(n for n, _ in counts), max(n for n, _ in counts)
        span = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return f"Means are over the queries with a value, {span} by system,"
    ((queries, reasons),) = counts
    without = f"; left out: {reasons}" if reasons else ""
    return f"Means are over {counted(queries, 'query', 'queries')} with a value{without},"


def _means(evaluation: Evaluation) -> str:
    # `_counted` has said the number where it is the same for all.
    differ, parts = len({each.queries for each in evaluation.standings}) > 1, []
    for each in evaluation.standings:
        beside = [] if each.low is None else [f"{decimals(each.low)} to {decimals(each.high)}"]
        beside += [f"n = {each.queries:,}"] if differ else []
        numbers = f" ({', '.join(beside)})" if beside else ""
        parts.append(f"{each.system} {decimals(each.mean)}{numbers}")
    return ", ".join(parts)


def _markdown(text: str) -> str:
    """The text with the special characters of Markdown escaped."""
    return "".join(f"\\{character}" if character in SPECIAL else character for character in text)


def readme(frozen: FrozenEvaluation, figures: Iterable[Figure], has_tests: bool) -> str:
    """The README of a bundle: its files, and how to check it."""
    asked, facts = settings_of(frozen), about(frozen)
    names = [file.name for file in files_of(frozen)]
    command = " ".join(map(shlex.quote, names))
    tagged = [system for system in asked.systems if system.tag != system.system]
    lines = [
        f"# {_markdown(frozen.name)}",
        "",
        *([_markdown(frozen.note), ""] if frozen.note else []),
        f"A frozen evaluation of the collection “{_markdown(facts.collection_name)}”, made with "
        f"{facts.software} on {date_format(frozen.created_at, 'j F Y')}.",
        f"Its content has the SHA-256 `{frozen.hash}`.",
        "",
        "## What the numbers were computed from",
        "",
        "| file | holds |",
        "|---|---|",
        "| settings.json | measures, options and the bootstrap of the intervals |",
        "| queries.jsonl | key, text and weight of each query, and its count, chance and stratum in a log |",
        f"| {asked.judgments} | {_JUDGMENTS[asked.judgments == QRELS]} |",
        *(
            f"| {system.run} | what {_markdown(system.system)} returned, as a TREC run |"
            for system in asked.systems
        ),
        *(_OF_EXPECTED if asked.expected else []),
        *(_OF_MACHINES if asked.machines else []),
        "",
        "## What came out",
        "",
        "| file | holds |",
        "|---|---|",
        "| evaluation.json | means with intervals, and every query, with all digits |",
        "| means.csv, per_query.csv | the same as tables |",
        *(
            ["| comparisons.json, comparisons.csv | pairs of systems by the first measure, tested |"]
            if has_tests
            else []
        ),
        "| methods.txt | a paragraph for a methods section |",
        "| table.tex | the means as a LaTeX table that needs no package |",
        *(f"| charts/{figure.name}.svg, .png, .pdf | {_markdown(figure.title)} |" for figure in figures),
        "| about.json | name, note and time; the versions of record, scale, guidelines and presentation |",
        "| SHA256SUMS | the SHA-256 of every other file |",
        "",
        "## How to check it",
        "",
        "    sha256sum --check SHA256SUMS",
        "    python3 run.py manage evaluate_bundle FILE.zip",
        "",
        "The first tells whether the files are whole. The second, in a copy of Idealist, computes every number",
        "again from the files of the first table and says whether the digits are the same.",
        "The SHA-256 of the content is that of the sums of these files:",
        "",
        f"    sha256sum {command} | sha256sum",
        "",
    ]
    if tagged:
        lines += ["A run keeps its system in one column, so that blanks in a name are underscores there:", ""]
        lines += [f"- {_markdown(system.system)}: `{system.tag}`" for system in tagged]
        lines.append("")
    return "\n".join(lines)


_OF_EXPECTED = (
    "| pool.jsonl | the pairs that can be judged, and when each came and was judged |",
    "| rounds.jsonl | which pairs were drawn to be judged, by which chances |",
)
_OF_MACHINES = ("| machines.jsonl | what machines graded, which helped to predict missing judgments |",)
_JUDGMENTS = {
    True: "the judgments as TREC qrels",
    False: "the judgments, one JSON object a line: qrels cannot hold grades that are negative or decimal",
}

"""The texts of a bundle: a paragraph for a methods section, and the README."""

import shlex
from collections.abc import Iterable

from django.template.loader import render_to_string
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


def readme(frozen: FrozenEvaluation, figures: Iterable[Figure], has_tests: bool) -> str:
    """The README of a bundle: its files, and how to check it."""
    names = [file.name for file in files_of(frozen)]
    context = {
        "frozen": frozen,
        "about": about(frozen),
        "settings": settings_of(frozen),
        "has_qrels": settings_of(frozen).judgments == QRELS,
        "has_tests": has_tests,
        "figures": figures,
        "files": " ".join(map(shlex.quote, names)),
    }
    return render_to_string("evaluation/bundle_readme.txt", context)

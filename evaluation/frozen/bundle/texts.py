"""The texts of a bundle: a paragraph for a methods section, and the README."""

import shlex
from collections.abc import Iterable
from typing import Any

from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.text import capfirst

from ratings.words import counted as in_digits

from ...judgments.rules import SMOOTHING_NOTE
from ...models import FrozenEvaluation
from ...page import options
from ...page.charts import Chart
from ...page.numbers import decimals, percent, queries_behind
from ...page.words import counted
from ...results.comparison import Compared
from ...scores import Evaluation
from .. import about, files_of, settings_of
from ..content import QRELS, Settings, System
from ..freezing import About
from . import comparisons


def methods(frozen: FrozenEvaluation, evaluation: Evaluation, tests: Compared | None) -> str:
    """The paragraph for a methods section: systems, collection, judgments, measure, options, means and tests.

    Where expected values were frozen, which are what means become once all is judged, they follow the means.
    """
    settings, facts = settings_of(frozen), about(frozen)
    sentences = [
        _what(facts, evaluation),
        _judged(facts, settings),
        _measured(settings, evaluation),
        _judged_share(evaluation),
        f"{_counted(evaluation)} {_intervals(settings, evaluation)}.",
        f"Mean {evaluation.measures[0]}: {_means(evaluation)}.",
        *_expected(evaluation),
        comparisons.in_words(tests),
        f"Computed with {facts.software} and frozen on {date_format(frozen.created_at, 'j F Y')} as "
        f"“{frozen.name}”, SHA-256 {frozen.hash}.",
    ]
    return " ".join(sentences) + "\n"


def run_metadata(frozen: FrozenEvaluation, system: System) -> dict[str, Any]:
    """What the frozen evaluation knows of the run of a system, in the names of the format ir_metadata."""
    facts, measures = about(frozen), settings_of(frozen).measures
    return {
        "tag": system.tag,
        "research goal": {"evaluation": {"reported measures": list(map(str, measures))}},
        "data": {"test collection": {"name": facts.collection_name}},
        "idealist": {
            "system": system.system,
            "collection": facts.collection,
            "frozen with": facts.software,
            "frozen": frozen.created_at.isoformat(timespec="seconds"),
            "evaluation": frozen.hash,
        },
    }


def _intervals(settings: Settings, evaluation: Evaluation) -> str:
    """How the means and their intervals were computed: the end of a sentence."""
    if evaluation.sampled:
        drawn = f"{evaluation.sampled.drawn:,} of the queries were drawn with known chances"
        return (
            f"weighted to all searches of the log from which {drawn}, with 95 % intervals by t for this draw "
            "(linearised, by stratum)"
        )
    return (
        "with 95 % intervals by a percentile bootstrap over queries "
        f"({settings.interval['draws']:,} resamples, seed {settings.interval['seed']}, distances from the mean "
        "widened by sqrt(n / (n - 1)))"
    )


def _expected(evaluation: Evaluation) -> list[str]:
    """The sentences about expected values of the first measure; [] where there are none.

    An expected value is what a mean becomes once all pairs are judged, estimated from the pairs judged so far. A
    plain mean has unjudged documents as gain 0. `est` names the kind of estimate, as in fingerprints of options.
    The last sentences name the machines whose grades help to predict judgments or to draw pairs, if there are any.
    """
    expected = evaluation.expected.get(evaluation.measures[0])
    if expected is None:
        return []
    means = []
    for estimate in map(expected.of, evaluation.names):
        if estimate.mean is not None:
            interval = "" if estimate.low is None else f" ({decimals(estimate.low)} to {decimals(estimate.high)})"
            means.append(f"{estimate.system} {decimals(estimate.mean)}{interval}")
    if expected.without:  # the reason why there are no intervals
        method = f" (est={expected.est}, without intervals: {expected.without})"
    else:
        method = f" with 90 % intervals for missing judgments alone (est={expected.est})"
    sentences = [
        "These means are plain.",
        f"{expected.judged:,} of {expected.pairs:,} pairs were judged, and {expected.drawn:,} pairs were drawn in"
        f" {counted(expected.rounds, 'round', 'rounds')}.",
        f"Expected once all are judged{method}: {', '.join(means)}.",
    ]
    if expected.machines_in_words:
        sentences.append(expected.machines_in_words)
    return sentences


def _what(facts: About, evaluation: Evaluation) -> str:
    names = ", ".join(evaluation.systems)
    systems = capfirst(counted(len(evaluation.systems), "system", "systems"))
    verb = "was" if len(evaluation.systems) == 1 else "were"
    queries = counted(len(evaluation.table.record.queries), "query", "queries")
    return f"{systems} ({names}) {verb} evaluated on {queries} of the collection “{facts.collection_name}”."


def _judged(facts: About, settings: Settings) -> str:
    """The sentence on the judgments: how many, on which scale, by whom and by which rule."""
    # Values are texts, and a label can be "".
    grades = [f"{value} ({label})" if label else value for value, label in facts.grades]
    scale = f" on a scale of {', '.join(grades)}" if grades else ""
    sources = []  # one or both: without a judgment nothing is frozen
    if facts.ratings:
        sources.append(f"from {in_digits(facts.ratings, 'rating')} of {counted(facts.raters, 'rater', 'raters')}")
    if facts.adjudicated and settings.adjudications == "use":
        # Without ratings there is no other source: "all 5 decided by adjudication".
        sources.append(f"{'' if facts.ratings else 'all '}{facts.adjudicated:,} decided by adjudication")
    rule = options.RULE_DESCRIPTIONS[settings.rule].rstrip(".")
    verb = "was" if facts.judgments == 1 else "were"
    sentence = (
        f"There {verb} {in_digits(facts.judgments, 'judgment')}{scale}, made {', '.join(sources)};"
        f" rule: {rule[0].lower()}{rule[1:]}."
    )
    return f"{sentence} {SMOOTHING_NOTE}" if settings.rule == "dawid_skene" else sentence


def _measured(settings: Settings, evaluation: Evaluation) -> str:
    measure = evaluation.measures[0]
    # Rule and adjudications are in the sentence of `_judged`.
    elsewhere = {options.ABOUT[name][0] for name in options.OF_JUDGMENTS}
    in_force = [
        line for line in options.in_force(settings.asked) if line["used"] and line["label"] not in elsewhere
    ]
    listed = "; ".join(f"{line['label'].lower()}: {line['words']}" for line in in_force)
    return f"The measure is {measure} ({evaluation.asked.fingerprint_of(measure)}) with {listed}."


def _judged_share(evaluation: Evaluation) -> str:
    measure = evaluation.measures[0]
    shares = [standing.judged for standing in evaluation.standings if standing.judged is not None]
    if not shares:
        return "No query that counts has a document in a ranking, so there is no judged share."
    depth = f"top {measure.cutoff}" if measure.cutoff else "rankings"
    low, high = percent(min(shares)), percent(max(shares))
    by_system = f"{low} for every system" if low == high else f"{low} to {high} by system"
    return f"The judged share of the {depth} was {by_system}."


def _counted(evaluation: Evaluation) -> str:
    standings = evaluation.standings
    if len({(standing.queries, standing.why) for standing in standings}) > 1:
        return f"Means are over the queries with a value, {queries_behind(standings)} by system,"
    queries, reasons = standings[0].queries, standings[0].why
    without = f"; left out: {reasons}" if reasons else ""
    return f"Means are over {counted(queries, 'query', 'queries')} with a value{without},"


def _means(evaluation: Evaluation) -> str:
    """The mean of each system in words, with its interval.

    n, the number of queries that count, follows only where it differs by system: else `_counted` has said it.
    """
    n_differs = len({standing.queries for standing in evaluation.standings}) > 1
    means = []
    for standing in evaluation.standings:
        details = []
        if standing.low is not None:
            details.append(f"{decimals(standing.low)} to {decimals(standing.high)}")
        if n_differs:
            details.append(f"n = {standing.queries:,}")
        in_parentheses = f" ({', '.join(details)})" if details else ""
        means.append(f"{standing.system} {decimals(standing.mean)}{in_parentheses}")
    return ", ".join(means)


def readme(frozen: FrozenEvaluation, figures: Iterable[Chart], has_tests: bool) -> str:
    """The README of a bundle: its files, and how to check it."""
    settings = settings_of(frozen)
    names = [file.name for file in files_of(frozen)]
    context = {
        "frozen": frozen,
        "about": about(frozen),
        "settings": settings,
        "has_qrels": settings.judgments == QRELS,
        "has_tests": has_tests,
        "figures": figures,
        "files": " ".join(map(shlex.quote, names)),
    }
    return render_to_string("evaluation/bundle_readme.txt", context)

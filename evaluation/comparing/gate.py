"""The gate: whether a release is worse than its anchors by more than a margin, also once all would be judged."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse

from ratings.models import Collection

from .. import record
from ..measures import Rankings
from ..page.documents import none_for_nan
from ..results.csv_and_json import made_by
from ..scores import Asked, Evaluation, evaluate, expected_by_query, of_rankings, plain_and_traffic
from ..significance import common_queries, paired
from ..significance.gate import UNDECIDED, Limits, agreed, limits, overall

MARGIN, ALPHA = 0.02, 0.05  # the defaults
WORST_QUERIES = 3  # queries that a report names for each anchor


def gate_of(
    collection: Collection,
    asked: Asked,
    release: str,
    anchors: Sequence[str],
    margin: float = MARGIN,
    alpha: float = ALPHA,
    most_pairs: int | None = None,
    rankings: Rankings | None = None,
) -> dict[str, Any]:
    """The verdict on the release, as a JSON document with an entry for each anchor: see `against_anchor`.

    Several anchors share alpha, so that a false alarm is no likelier. "needed" is about how many queries would
    decide; None where none would, or where there is a verdict.

    anchors: systems; none for the baselines that a person chose. most_pairs: of queries and documents; with more
    of them the reading with expected gains is left out. rankings: of the release, where it is no system.
    ValueError for an unknown system, where there is no baseline, and for a margin or alpha without a meaning.
    """
    if not anchors:
        baselines = record.baselines(collection)
        # A release that is a baseline itself would take a share of alpha from the others.
        anchors = [name for name in baselines if name != release] or baselines
    anchors = tuple(dict.fromkeys(anchors))
    if not anchors:
        raise ValueError("there is nothing to compare with: name a system, or make one a baseline on its page.")
    systems = tuple(dict.fromkeys((release, *anchors)))
    if rankings is None:
        sent, evaluation = {}, evaluate(collection, replace(asked, systems=systems))
    else:
        sent = {release: rankings}
        evaluation = of_rankings(collection, replace(asked, systems=anchors), sent, bounds=False)
    try:
        expected, why_none = expected_by_query(collection, asked, most_pairs, sent), ""
    except ValueError as error:
        expected, why_none = {}, str(error).rstrip(".")
    alpha_of_each = alpha / len(anchors)
    comparisons = [
        against_anchor(collection, evaluation, release, anchor, margin, alpha_of_each, expected, why_none)
        for anchor in anchors
    ]
    verdict = overall([against["verdict"] for against in comparisons])
    open_readings = [against["plain"] for against in comparisons if against["plain"]["verdict"] == UNDECIDED]
    numbers_needed = [reading["needed"] for reading in open_readings if reading["needed"]]
    measure = evaluation.asked.measure
    return made_by(evaluation) | {
        "fingerprint": evaluation.fingerprint_of(measure),
        "measure": str(measure),
        "release": release,
        "margin": margin,
        "alpha": alpha,  # of all anchors together
        "verdict": verdict,
        "unjudged": [unjudged_of(collection, evaluation, system) for system in systems],
        "needed": max(numbers_needed, default=None) if verdict == UNDECIDED else None,
        "anchors": comparisons,
    }


def unjudged_of(collection: Collection, evaluation: Evaluation, system: str) -> dict[str, Any]:
    """The unjudged results of one system down to the cutoff, as a row of the document.

    In it, `results` is how many nobody judged, `of` how many there are, judged or not, and `path` the address of
    the page that asks raters for them, "" where the rankings are not imported.
    """
    unjudged, all_results = evaluation.holes_of(system)
    table = evaluation.table.record
    path = ""
    if system in table.system_pks:
        # Without a cutoff all results count: the page then lists as many as the longest ranking has, at least 1.
        depth = evaluation.asked.measure.cutoff or int(table.rankings[system].length.max(initial=1))
        address = urlencode({"system": table.system_pks[system], "depth": depth})
        path = f"{reverse('holes', args=[collection.slug])}?{address}"
    return {"system": system, "results": unjudged, "of": all_results, "path": path}


def against_anchor(
    collection: Collection,
    evaluation: Evaluation,
    release: str,
    anchor: str,
    margin: float,
    alpha: float,
    expected: dict[str, np.ndarray],
    why_none: str,
) -> dict[str, Any]:
    """The release against one anchor, on the queries that count for both.

    plain and expected: the limits of the difference with unjudged documents as the options say, and with them at
    their expected gain, None where that is not defined. The verdict holds in both. log: what stands beside `plain`
    where the queries were drawn from a log. worst: the queries that lose most.

    alpha: the share of this anchor in the alpha of all.
    expected: values by system, float64[queries], with unjudged documents at their expected gain; {} where they are
    not defined, for the reason in `why_none`.
    """
    pair = [release, anchor]
    values = evaluation.counting(pair)
    counted = common_queries(values)
    plain_limits = _limits(evaluation, values, counted, margin, alpha)
    expected_limits = None
    if expected:
        expected_values = np.column_stack([expected[name] for name in pair])
        counted_in_both = counted & common_queries(expected_values)
        expected_limits = _limits(evaluation, expected_values, counted_in_both, margin, alpha)
    difference = paired.difference_on(counted, values)
    verdicts = [reading.verdict for reading in (plain_limits, expected_limits) if reading]
    return {
        "anchor": anchor,
        "verdict": agreed(verdicts),
        "decided_by_judgments": len(set(verdicts)) > 1,
        "plain": vars(plain_limits),
        "log": plain_and_traffic(difference, evaluation.sampled) or None,
        "expected": vars(expected_limits) if expected_limits else None,
        "without_expected": why_none,
        "worst": worst(collection, evaluation, pair, difference),
    }


def _limits(
    evaluation: Evaluation, values: np.ndarray, counted: np.ndarray, margin: float, alpha: float
) -> Limits:
    """The verdict by these queries, bool[queries]. values: float64[queries, 2], of the release and its anchor."""
    sampled = evaluation.sampled and evaluation.sampled.answered(counted)
    return limits(paired.differences(values[counted], first=1, second=0), margin, alpha, sampled)


def worst(collection: Collection, evaluation: Evaluation, pair: list[str], difference: np.ndarray) -> list[dict]:
    """The queries, at most WORST_QUERIES, on which the release loses most, the largest loss first.

    pair: the release and its anchor; difference: of the release from the anchor, float64[queries].
    """
    queries = evaluation.table.record.queries
    # The links show these on the page of a query: the anchor first, and no release that was sent but not imported.
    stored = [name for name in reversed(pair) if name in evaluation.table.record.system_pks]
    query_string = evaluation.asked.keep_with(urlencode([("system", name) for name in stored]))
    values = evaluation.values(pair)
    # Losses alone: no ties, and no queries that do not count for both, which have nan.
    lost = [row for row in np.argsort(difference, kind="stable") if difference[row] < 0]
    return [
        {
            "query": queries["key"].iloc[row],
            "text": queries["text"].iloc[row],
            "release": none_for_nan(values[row, 0]),
            "anchor": none_for_nan(values[row, 1]),
            "difference": none_for_nan(difference[row]),
            "path": reverse("query", args=[collection.slug, queries["pk"].iloc[row]]) + query_string,
        }
        for row in lost[:WORST_QUERIES]
    ]

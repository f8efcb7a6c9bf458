"""The gate: whether a release is worse than its anchors by more than a margin, also once all would be judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse

from ratings.models import Collection

from .. import record
from ..measures import Rankings
from ..page.documents import known
from ..results.csv_and_json import made_by
from ..scores import Asked, Evaluation, beside_mean, evaluate, expected_by_query, of_rankings
from ..significance import common_queries, paired
from ..significance.gate import UNDECIDED, Limits, agreed, limits, overall

MARGIN, ALPHA = 0.02, 0.05  # the defaults
WORST_QUERIES = 3  # queries that a report names for each anchor


@dataclass(frozen=True)
class Unjudged:
    """The results of one system above the cutoff that nobody judged."""

    system: str
    results: int
    of: int  # all results above the cutoff
    path: str  # of the page that asks raters for them; "" where the rankings are not imported


@dataclass(frozen=True)
class AgainstAnchor:
    """A release against one anchor."""

    anchor: str
    plain: Limits  # unjudged documents as the options say
    expected: Limits | None  # unjudged documents at their expected gain; None where that is not defined
    why_none: str  # why `expected` is None; "" where it is not
    beside: dict[str, float | None]  # by `scores.beside_mean`: what stands beside `plain` in a log
    worst: list[dict]  # the queries that lose most: query, text, release, anchor, difference, path

    @property
    def verdict(self) -> str:
        """The verdict that holds in both readings."""
        return agreed([reading.verdict for reading in (self.plain, self.expected) if reading])

    @property
    def is_open_by_judgments(self) -> bool:
        """Whether missing judgments decide it: the two readings disagree."""
        return self.expected is not None and self.plain.verdict != self.expected.verdict


@dataclass(frozen=True)
class Gate:
    """The verdict on a release, and what it rests on."""

    evaluation: Evaluation
    release: str
    margin: float
    alpha: float  # of all anchors together
    unjudged: tuple[Unjudged, ...]  # of the release, then of each anchor
    anchors: tuple[AgainstAnchor, ...]

    @property
    def verdict(self) -> str:
        return overall([against.verdict for against in self.anchors])

    @property
    def needed(self) -> int | None:
        """About how many queries would decide; None where they would not, or where there is a verdict."""
        if self.verdict != UNDECIDED:
            return None
        numbers = [against.plain.needed for against in self.anchors if against.plain.verdict == UNDECIDED]
        return max(filter(None, numbers), default=None)


def gate_of(
    collection: Collection,
    asked: Asked,
    release: str,
    anchors: Sequence[str],
    margin: float = MARGIN,
    alpha: float = ALPHA,
    most_pairs: int | None = None,
    rankings: Rankings | None = None,
) -> Gate:
    """The verdict on the release. Several anchors share alpha, so that a false alarm is no likelier.

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
    unjudged = tuple(unjudged_of(collection, evaluation, system) for system in systems)
    alpha_of_each = alpha / len(anchors)
    comparisons = tuple(
        against_anchor(collection, evaluation, release, anchor, margin, alpha_of_each, expected, why_none)
        for anchor in anchors
    )
    return Gate(evaluation, release, margin, alpha, unjudged=unjudged, anchors=comparisons)


def unjudged_of(collection: Collection, evaluation: Evaluation, system: str) -> Unjudged:
    results, of = evaluation.holes_of(system)
    table = evaluation.table.record
    # Without a cutoff all results count: the page then lists those of the longest ranking.
    depth = evaluation.asked.measure.cutoff or int(table.rankings[system].length.max(initial=1))
    if system not in table.system_pks:
        return Unjudged(system, results, of, path="")
    address = urlencode({"system": table.system_pks[system], "depth": depth})
    return Unjudged(system, results, of, path=f"{reverse('holes', args=[collection.slug])}?{address}")


def against_anchor(
    collection: Collection,
    evaluation: Evaluation,
    release: str,
    anchor: str,
    margin: float,
    alpha: float,
    expected: dict[str, np.ndarray],
    why_none: str,
) -> AgainstAnchor:
    """The release against one anchor, on the queries that count for both.

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
    return AgainstAnchor(
        anchor,
        plain_limits,
        expected_limits,
        why_none=why_none,
        beside=beside_mean(difference, evaluation.sampled),
        worst=worst(collection, evaluation, pair, difference),
    )


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
    # On the page of a query the anchor comes first.
    stored = [name for name in reversed(pair) if name in evaluation.table.record.system_pks]
    query_string = evaluation.asked.keep_with(urlencode([("system", name) for name in stored]))
    values = evaluation.values(pair)
    lost = [row for row in np.argsort(difference, kind="stable") if difference[row] < 0]
    return [
        {
            "query": queries["key"].iloc[row],
            "text": queries["text"].iloc[row],
            "release": known(values[row, 0]),
            "anchor": known(values[row, 1]),
            "difference": known(difference[row]),
            "path": reverse("query", args=[collection.slug, queries["pk"].iloc[row]]) + query_string,
        }
        for row in lost[:WORST_QUERIES]
    ]


def document(gate: Gate) -> dict:
    """The JSON document: the settings, the verdict, and an entry for each anchor."""
    measure = gate.evaluation.asked.measure
    return made_by(gate.evaluation) | {
        "fingerprint": gate.evaluation.fingerprint_of(measure),
        "measure": str(measure),
        "release": gate.release,
        "margin": gate.margin,
        "alpha": gate.alpha,
        "verdict": gate.verdict,
        "unjudged": [vars(of_system) for of_system in gate.unjudged],
        "needed": gate.needed,
        "anchors": [
            {
                "anchor": against.anchor,
                "verdict": against.verdict,
                "decided_by_judgments": against.is_open_by_judgments,
                "plain": vars(against.plain),
                "log": against.beside or None,
                "expected": vars(against.expected) if against.expected else None,
                "without_expected": against.why_none,
                "worst": against.worst,
            }
            for against in gate.anchors
        ],
    }

"""The gate: whether a release is worse than its anchors by more than a margin, also once all would be judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse

from ratings.models import Collection

from .. import record
from ..page.documents import known
from ..results.csv_and_json import made_by
from ..scores import Asked, Evaluation, evaluate, expected_by_query
from ..significance import common_queries, paired
from ..significance.gate import UNDECIDED, Limits, agreed, limits, overall

MARGIN, ALPHA = 0.02, 0.05  # the defaults
WORST = 3  # queries that a report names for each anchor


@dataclass(frozen=True)
class AgainstAnchor:
    """A release against one anchor."""

    anchor: str
    plain: Limits  # unjudged documents as the options say
    expected: Limits | None  # unjudged documents at their expected gain; None where that is not defined
    without: str  # why there is no such reading; "" where there is one
    worst: list[dict]  # the queries that lose most: query, text, release, anchor, difference, path

    @property
    def verdict(self) -> str:
        """The verdict that holds in both readings."""
        return agreed([each.verdict for each in (self.plain, self.expected) if each])

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
    unjudged: int  # places of the release above the cutoff that nobody judged
    path: str  # of the page that asks raters for these
    anchors: tuple[AgainstAnchor, ...]

    @property
    def verdict(self) -> str:
        return overall([each.verdict for each in self.anchors])

    @property
    def needed(self) -> int | None:
        """About how many queries would decide; None where they would not, or where there is a verdict."""
        numbers = [each.plain.needed for each in self.anchors if each.plain.verdict == UNDECIDED]
        return max(filter(None, numbers), default=None) if self.verdict == UNDECIDED else None


def gate_of(
    collection: Collection,
    asked: Asked,
    release: str,
    anchors: Sequence[str],
    margin: float = MARGIN,
    alpha: float = ALPHA,
    most: int | None = None,
) -> Gate:
    """The verdict on the release. Several anchors share alpha, so that a false alarm is no likelier.

    anchors: systems; none for the baselines that a person chose. most: documents by query; for more of them the
    reading with expected gains is left out. ValueError for an unknown system, where there is no baseline, and for
    a margin or alpha without a meaning.
    """
    anchors = tuple(dict.fromkeys(anchors or record.baselines(collection)))
    if not anchors:
        raise ValueError("there is nothing to compare with: name a system, or make one a baseline on its page.")
    evaluation = evaluate(collection, replace(asked, systems=tuple(dict.fromkeys((release, *anchors)))))
    expected, without = {}, ""
    try:
        expected = expected_by_query(collection, asked, most)
    except ValueError as error:
        without = str(error).rstrip(".")
    ask = reverse("holes", args=[collection.slug]) + f"?system={evaluation.table.record.pks[release]}"
    compared = tuple(
        against(collection, evaluation, release, anchor, margin, alpha / len(anchors), expected, without)
        for anchor in anchors
    )
    return Gate(evaluation, release, margin, alpha, evaluation.holes_of(release)[0], ask, compared)


def against(
    collection: Collection,
    evaluation: Evaluation,
    release: str,
    anchor: str,
    margin: float,
    alpha: float,
    expected: dict[str, np.ndarray],
    without: str,
) -> AgainstAnchor:
    """The release against one anchor, on the queries that count for both.

    expected: values by system, float64[queries], with unjudged documents at their expected gain; {} where they are
    not defined, for the reason in `without`.
    """
    both = [release, anchor]
    values = evaluation.counting(both)
    counted = common_queries(values)
    reading = None
    if expected:
        told = np.column_stack([expected[name] for name in both])
        reading = _limits(evaluation, told, counted & common_queries(told), margin, alpha)
    apart = np.full(len(values), np.nan)
    apart[counted] = paired.differences(values[counted], 1, 0)
    plain = _limits(evaluation, values, counted, margin, alpha)
    return AgainstAnchor(anchor, plain, reading, without, worst(collection, evaluation, both, apart))


def _limits(
    evaluation: Evaluation, values: np.ndarray, counted: np.ndarray, margin: float, alpha: float
) -> Limits:
    """The verdict by these queries, bool[queries]. values: float64[queries, 2], of the release and its anchor."""
    sampled = evaluation.sampled and evaluation.sampled.answered(counted)
    return limits(paired.differences(values[counted], 1, 0), margin, alpha, sampled)


def worst(collection: Collection, evaluation: Evaluation, both: list[str], apart: np.ndarray) -> list[dict]:
    """The queries on which the release loses most, the largest loss first. apart: float64[queries]."""
    queries = evaluation.table.record.queries
    keep = evaluation.asked.keep_with(urlencode([("system", name) for name in reversed(both)]))
    values = evaluation.values(both)
    lost = [place for place in np.argsort(apart, kind="stable") if apart[place] < 0]
    return [
        {
            "query": queries["key"].iloc[place],
            "text": queries["text"].iloc[place],
            "release": known(values[place, 0]),
            "anchor": known(values[place, 1]),
            "difference": known(apart[place]),
            "path": reverse("query", args=[collection.slug, queries["pk"].iloc[place]]) + keep,
        }
        for place in lost[:WORST]
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
        "unjudged": gate.unjudged,
        "ask_raters": gate.path,
        "needed": gate.needed,
        "anchors": [
            {
                "anchor": each.anchor,
                "verdict": each.verdict,
                "decided_by_judgments": each.is_open_by_judgments,
                "plain": vars(each.plain),
                "expected": vars(each.expected) if each.expected else None,
                "without_expected": each.without,
                "worst": each.worst,
            }
            for each in gate.anchors
        ],
    }

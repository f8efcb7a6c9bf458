"""The computation of nDCG on one query, as sentences and line by line."""

from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ..measures import SPLIT, Explanation
from ..page.numbers import decimals, number
from ..scores import Asked


def scores_sentence(shown: list[dict], splits: Sequence[SafeString], asked: Asked) -> SafeString:
    """The sentence on the scores of the shown systems and, for two, on the ranks where one loses to the other.

    shown: dicts with system, value and why it counts in no mean ("": it counts); splits: the sentences of `parts`.
    """
    ordered = sorted(shown, key=lambda each: -(each["value"] or 0))
    parts = [
        format_html(
            "<bdi>{}</bdi>{} <b>{}</b>{}",
            each["system"],
            "" if place else " scores",
            decimals(each["value"]),
            f" (counts in no mean: {each['why']})" if each["why"] else "",
        )
        if each["value"] is not None
        else format_html("<bdi>{}</bdi> has no value ({})", each["system"], each["why"])
        for place, each in enumerate(ordered)
    ]
    sentence = format_html("{}.", format_html_join(", ", "{}", ((part,) for part in parts)))
    split = len(shown) == 2 and splits and asked.measure.name in SPLIT
    return format_html("{} {}", sentence, splits[0]) if split else sentence


def formula(explanations: list[Explanation]) -> str:
    """The formula of nDCG for these gains: with the worst list where there are negative ones."""
    if any(explanation.min_dcg for explanation in explanations):
        return "nDCG = (DCG − W) / (IDCG − W), where W is the DCG of the worst list: the harmful documents first."
    return "nDCG = DCG / IDCG."


def sums(sides: list[dict], explanations: list[Explanation]) -> list[dict]:
    """The rows of the arithmetic: of the worst and the empty list, if all have the same, and of each system."""
    first = explanations[0]
    rows = []
    shared = len({(explanation.idcg, explanation.min_dcg) for explanation in explanations}) == 1
    if shared and first.min_dcg and first.span:
        rows.append({"name": "Worst list", "arithmetic": quotient(first, first.min_dcg), "value": 0.0})
        empty = -first.min_dcg / first.span
        rows.append({"name": "Empty list, the neutral point", "arithmetic": quotient(first, 0.0), "value": empty})
    for side, explanation in zip(sides, explanations, strict=True):
        row = {"name": side["system"], "value": side["ndcg"], "why": explanation.reason}
        rows.append(row | {"arithmetic": quotient(explanation, explanation.dcg)})
    return rows


def quotient(explanation: Explanation, dcg: float) -> str:
    """The quotient of nDCG as text, with six decimals, from which the four of the result can be recomputed."""
    ideal, worst = number(explanation.idcg, 6), explanation.min_dcg
    if not worst:
        return f"{number(dcg, 6)} / {ideal}"
    less = f"{'+' if worst < 0 else '−'} {number(abs(worst), 6)}"
    return f"({number(dcg, 6)} {less}) / ({ideal} {less})"

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


def harm_sentence(explanations: list[Explanation]) -> str:
    """The sentence on the part of harmful documents in the difference of two systems; "" without such a part.

    It needs the same ideal and worst list for both.
    """
    left, right = sorted(explanations, key=lambda explanation: explanation.dcg)
    span = left.span
    same = left.idcg == right.idcg and left.min_dcg == right.min_dcg
    if not same or not span or right.dcg - left.dcg < 1e-9:
        return ""
    good, bad = (
        (sum(part(row) for row in right.ranking) - sum(part(row) for row in left.ranking)) / span
        for part in (lambda row: max(row.contribution, 0.0), lambda row: min(row.contribution, 0.0))
    )
    if abs(bad) < 5e-5:
        return ""
    total = decimals((right.dcg - left.dcg) / span)
    plus, minus = decimals(abs(good)), decimals(abs(bad))
    if bad < 0:
        return f"Documents graded above 0 put it {plus} ahead; harmful ones take {minus} of that back."
    if good < 0:
        return f"It is {total} ahead because harmful documents cost the other {minus} more."
    if good < 5e-5:
        return f"All of the {total} between them comes from harmful documents placed lower or left out."
    return (
        f"Of the {total} between them, {plus} comes from documents graded above 0 and {minus} from harmful ones "
        "placed lower or left out."
    )


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

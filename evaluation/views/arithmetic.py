"""The way from the sums of one query to its nDCG, in a sentence and line by line."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..measures import Explanation
from ..templatetags.numbers import decimals, number
from .asked import Asked
from .lists import Side


def lead(pair: list[dict], explanations: list[Explanation], asked: Asked) -> SafeString | str:
    """What each scores, and how much of the difference comes from good and from harmful documents."""
    said = [
        format_html("{}{} <b>{}</b>", each["system"].name, "" if place else " scores", decimals(each["value"]))
        if each["value"] is not None
        else format_html("{} has no value ({})", each["system"].name, each["why"])
        for place, each in enumerate(sorted(pair, key=lambda each: -(each["value"] or 0)))
    ]
    sentence = format_html("{}, {}.", *said) if len(said) == 2 else format_html("{}.", *said)
    return (
        format_html("{} {}", sentence, difference(explanations))
        if asked.measure.name == "nDCG" and len(explanations) == 2
        else sentence
    )


def difference(explanations: list[Explanation]) -> str:
    """Only where both are measured on one ideal, so that differences of DCG are shares of one whole."""
    left, right = sorted(explanations, key=lambda explanation: explanation.dcg)
    span = left.idcg - left.min_dcg
    same = left.idcg == right.idcg and left.min_dcg == right.min_dcg
    if not same or span <= 0 or right.dcg - left.dcg < 1e-9:
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
    return (
        f"Of the {total} between them, {plus} comes from documents graded above 0 and {minus} from harmful ones "
        "placed lower or left out."
    )


def formula(ideal: Explanation) -> str:
    if ideal.min_dcg:
        return "nDCG = (DCG − W) / (IDCG − W), where W is the DCG of the worst list: the harmful documents first."
    return "nDCG = DCG / IDCG."


def sums(sides: list[Side], explanations: list[Explanation]) -> list[dict]:
    """The arithmetic of each value, from the worst list over the empty one to those of the systems."""
    first = explanations[0]
    rows = []
    if first.min_dcg and first.idcg > first.min_dcg:
        rows.append({"name": "Worst list", "arithmetic": quotient(first, first.min_dcg), "value": 0.0})
        empty = -first.min_dcg / (first.idcg - first.min_dcg)
        rows.append({"name": "Empty list, the neutral point", "arithmetic": quotient(first, 0.0), "value": empty})
    for side, explanation in zip(sides, explanations, strict=True):
        rows.append(
            {
                "name": side.system.name,
                "arithmetic": quotient(explanation, explanation.dcg),
                "value": side.ndcg,
                "why": explanation.reason,
            }
        )
    return rows


def quotient(explanation: Explanation, dcg: float) -> str:
    """With six decimals, so that who computes it again gets the four that are shown."""
    ideal, worst = number(explanation.idcg, 6), explanation.min_dcg
    if not worst:
        return f"{number(dcg, 6)} / {ideal}"
    less = f"{'+' if worst < 0 else '−'} {number(abs(worst), 6)}"
    return f"({number(dcg, 6)} {less}) / ({ideal} {less})"

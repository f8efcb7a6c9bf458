"""The computation of nDCG on one query, line by line."""

from ..measures import Explanation
from ..page.numbers import number


def sums(sides: list[dict], explanations: list[Explanation]) -> list[dict]:
    """The rows of the arithmetic: the worst and the empty list, if all systems have the same, then each system.

    sides: a row with `system` and `ndcg` for each of the explanations.
    """
    first = explanations[0]
    rows = []
    all_alike = len({(explanation.idcg, explanation.min_dcg) for explanation in explanations}) == 1
    # Without negative gains the worst list has a DCG of 0, as the empty one has.
    if all_alike and first.min_dcg and first.span:
        rows.append({"name": "Worst list", "arithmetic": quotient(first, first.min_dcg), "value": 0.0})
        empty = -first.min_dcg / first.span
        rows.append({"name": "Score of an empty list", "arithmetic": quotient(first, 0.0), "value": empty})
    for side, explanation in zip(sides, explanations, strict=True):
        text = quotient(explanation, explanation.dcg)
        rows.append({"name": side["system"], "arithmetic": text, "value": side["ndcg"], "why": explanation.reason})
    return rows


def quotient(explanation: Explanation, dcg: float) -> str:
    """The quotient of nDCG as text, with six decimals, from which the four of the result can be recomputed."""
    ideal, worst = number(explanation.idcg, 6), explanation.min_dcg
    if not worst:
        return f"{number(dcg, 6)} / {ideal}"
    minus_worst = f"{'+' if worst < 0 else '−'} {number(abs(worst), 6)}"
    return f"({number(dcg, 6)} {minus_worst}) / ({ideal} {minus_worst})"

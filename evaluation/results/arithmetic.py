"""The computation of nDCG on one query, line by line."""

from ..measures import Explanation
from ..page.numbers import number


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

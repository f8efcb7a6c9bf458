"""The computation of nDCG on one query, line by line.

nDCG = (DCG - DCG of the worst list) / (IDCG - DCG of the worst list). Without negative gains the worst list has a
DCG of 0, as the empty list has, and nDCG = DCG / IDCG; but negatives=minmax_closed has a worst list in any case.
"""

from ..measures import Explanation
from ..page.numbers import number


def quotients(sides: list[dict], explanations: list[Explanation]) -> list[dict]:
    """The rows of the arithmetic of nDCG: a name, the quotient as text, and its value.

    Each system has a row. Two rows come before, of the worst and of the empty list, where the worst list has a DCG
    other than 0, and all systems have the same ends: IDCG and DCG of the worst list. sides: the systems, each with
    `system` (its name) and `ndcg`, in the order of the explanations.
    """
    first = explanations[0]
    rows = []
    have_same_ends = len({(explanation.idcg, explanation.min_dcg) for explanation in explanations}) == 1
    # `min_dcg` is the DCG of the worst list. `span` is the divisor of nDCG, which is undefined where that is 0.
    if have_same_ends and first.min_dcg and first.span:
        rows.append({"name": "Worst list", "arithmetic": quotient(first, first.min_dcg), "value": 0.0})
        score_of_empty_list = -first.min_dcg / first.span  # its DCG is 0
        text = quotient(first, 0.0)
        rows.append({"name": "Score of an empty list", "arithmetic": text, "value": score_of_empty_list})
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

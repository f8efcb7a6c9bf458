"""The difference between two systems' values on one query, split by rank."""

from dataclasses import dataclass
from itertools import zip_longest
from math import isnan

from .explain import Explanation

# The measures that can be split: a rank adds its gain, its discounted gain, or its discounted gain / (IDCG - W).
SPLIT = ("CG", "DCG", "nDCG")


@dataclass(frozen=True)
class Part:
    """What one rank adds to each of two values; 0.0 where a list ends above it."""

    rank: int  # 0: the value of an empty list, -W / (IDCG - W)
    first: float
    second: float

    @property
    def difference(self) -> float:
        return self.second - self.first


@dataclass(frozen=True)
class Difference:
    """Two values of one measure, each the value of an empty list plus the parts of its ranks."""

    first: float
    second: float
    of_empty_list: Part  # the values of an empty list: 0.0 for both where no gain is negative
    parts: list[Part]  # of each rank down to the end of the longer list
    one_ideal: bool  # whether both have the same ideal and worst list, so that a rank weighs the same in both

    @property
    def difference(self) -> float:
        return self.second - self.first


def difference(first: Explanation, second: Explanation, measure: str) -> Difference | None:
    """The second value of the measure minus the first, rank by rank.

    measure: a name in SPLIT. None where a value is undefined, or counted as 0 because there is nothing to find:
    `_value` is nan in both cases.
    """
    first_value = _value(first, measure)
    second_value = _value(second, measure)
    if isnan(first_value) or isnan(second_value):
        return None
    by_rank = zip_longest(_parts(first, measure), _parts(second, measure), fillvalue=0.0)
    return Difference(
        first_value,
        second_value,
        of_empty_list=Part(0, _value_of_empty_list(first, measure), _value_of_empty_list(second, measure)),
        parts=[Part(rank, *of_both) for rank, of_both in enumerate(by_rank, start=1)],
        # min_dcg is the DCG of the worst list: nDCG = (dcg - min_dcg) / (idcg - min_dcg).
        one_ideal=(first.idcg, first.min_dcg) == (second.idcg, second.min_dcg),
    )


def _value(explanation: Explanation, measure: str) -> float:
    """The value of the measure, a name in SPLIT; nan where it is undefined or there is nothing to find."""
    if measure == "nDCG":
        return explanation.ndcg if explanation.span else float("nan")
    return explanation.dcg if measure == "DCG" else explanation.cg


def _parts(explanation: Explanation, measure: str) -> list[float]:
    """What each rank adds to the value."""
    if measure == "nDCG":
        return [row.contribution / explanation.span for row in explanation.ranking]
    return [row.contribution if measure == "DCG" else row.gain for row in explanation.ranking]


def _value_of_empty_list(explanation: Explanation, measure: str) -> float:
    """The value of the measure for an empty list."""
    # From 0.0, because -0.0 would be written with its sign.
    return 0.0 - explanation.min_dcg / explanation.span if measure == "nDCG" else 0.0

"""Sampling weights of the judgments of rounds. NumPy only.

The weight of a judgment has expectation 1 over all draws, whatever its grade, because its chance is known. This
holds over many rounds, and for pools that grow: the weight of a document depends on the rounds since it came. It
holds exactly where the precision of a round does not depend on earlier draws, and nearly so in rounds of documents
with similar scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .rounds import Round


@dataclass(frozen=True, eq=False)
class Design:
    """The sampling design: how judged pairs were chosen, and their weights."""

    rows: np.ndarray  # int64[judged], rows of the pool, ascending
    weight: np.ndarray  # float64[judged], with expectation 1
    variance: np.ndarray  # float64[judged], sampling variance for a squared change of 1
    evidence: float  # total precision of the rounds; 0: none has evidence on other documents
    equal: bool = False  # whether a round drew with equal chances, which finds few relevant documents


def design(
    rounds: Sequence[Round],
    judged: np.ndarray,
    skipped: np.ndarray,
    birth: np.ndarray,
    known: np.ndarray | None = None,
) -> Design:
    """The design of these rounds, oldest first.

    judged: bool[pairs], with a judgment; skipped: bool[pairs], drawn but never to be judged; birth: int64[pairs],
    how many rounds were drawn before the pair came to the pool; known: int64[pairs], for judgments in no round,
    how many rounds were drawn before them (None: 0 for all). Of these judgments only those after the first round,
    with `known` above 0, have a weight.

    A unit is what one random key drew: a pair, or a batch of pairs of one query (see `Round`). A round counts down
    to its first unit with a pair that is neither judged nor skipped. Judgments of later units count as known with
    certainty.
    """
    number_of, chance = np.full(len(judged), -1), np.ones(len(judged))
    precision = np.zeros(len(rounds))
    for number, each in enumerate(rounds):
        done = judged[each.drawn] | skipped[each.drawn]
        # argmin: the first pair that is not done; the units before its own are complete.
        complete_units = len(each.rate) if done.all() else int(each.unit[np.argmin(done)])
        rows = np.concatenate([each.greedy, each.drawn])
        number_of[rows[judged[rows]]] = number
        of_complete = each.chance(complete_units)
        chance[each.drawn[: len(of_complete)]] = of_complete
        # From one unit and the key of the next one, how many others there are cannot be estimated.
        if complete_units > 1 or complete_units == len(each.rate):
            precision[number] = each.precision
    result = weigh(number_of, chance, precision, birth, np.where(judged, 0 if known is None else known, 0))
    return replace(result, equal=any(each.equal for each in rounds))


def weigh(
    number: np.ndarray,
    chance: np.ndarray,
    precision: np.ndarray,
    birth: np.ndarray,
    known: np.ndarray | None = None,
) -> Design:
    """The design from the round of each judgment.

    number: int64[pairs], the round in which the pair was judged, -1 = in none; chance: float64[pairs], to be drawn
    in that round; precision: float64[rounds]; birth, known: as in `design`. A pair in no round has a weight where
    `known` is above 0.
    """
    late = np.zeros(len(number), bool) if known is None else (number < 0) & (known > 0)
    rows = np.flatnonzero((number >= 0) | late)
    late, chance = late[rows], chance[rows]
    # A judgment in no round counts like a round without precision just before the later rounds.
    round_of = np.where(late, known[rows] - 1, number[rows]) if late.any() else number[rows]
    precision_from = np.append(np.cumsum(precision[::-1])[::-1], 0.0)  # the total of each round and all later ones
    total, own = precision_from[birth[rows]], np.where(late, 0.0, precision[round_of])
    without = total <= 0
    total = np.where(without, 1.0, total)
    weight = np.where(without, 1.0, (own / chance + precision_from[round_of + 1]) / total)
    variance = (own / total) ** 2 * (1 - chance) / chance**2
    return Design(rows, weight, np.where(without, 0.0, variance), float(precision.sum()))

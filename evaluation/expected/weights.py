"""Sampling weights of the judgments of rounds. NumPy only.

The weight of a judgment has expectation 1 over all draws, whatever its grade, because its chance is known. This
holds over many rounds, and for pools that grow: the weight of a document depends on the rounds since it came. It
holds exactly where the precision of a round does not depend on earlier draws, and nearly so in rounds of documents
with similar scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .rounds import Round


@dataclass(frozen=True, eq=False)
class Design:
    """The sampling design: how judged pairs were chosen, and their weights."""

    rows: np.ndarray  # int64[judged], rows of the pool, ascending
    weight: np.ndarray  # float64[judged], with expectation 1
    evidence: float  # total precision of the rounds; 0: none has evidence on other documents
    equal_chances: bool = False  # whether a round drew with equal chances, which finds few relevant documents


def design(
    rounds: Sequence[Round],
    judged: np.ndarray,
    skipped: np.ndarray,
    first_round: np.ndarray,
    known_by: np.ndarray | None = None,
) -> Design:
    """The design of these rounds, oldest first.

    judged: bool[pairs], with a judgment; skipped: bool[pairs], drawn but never to be judged; first_round:
    int64[pairs], the number from 0 of the first round after the pair came to the pool; known_by: int64[pairs],
    for judgments in no round, the number of the first round after them (None: 0 for all). Of these judgments only
    those after the first round, with `known_by` above 0, have a weight.

    A unit is what one random key drew: a pair, or a batch of pairs of one query (see `Round`). A round counts down
    to its first unit with a pair that is neither judged nor skipped. Judgments of later units count as known with
    certainty.
    """
    known_by = np.zeros(len(judged), int) if known_by is None else known_by
    round_of = np.full(len(judged), -1)  # the number of the round in which each pair was judged, -1 = in none
    chance = np.ones(len(judged))  # to be drawn in that round
    precision = np.zeros(len(rounds))
    for number, round_ in enumerate(rounds):
        done = judged[round_.drawn] | skipped[round_.drawn]
        # argmin finds the first pair that is not done. The units before its unit are complete.
        complete_units = len(round_.rate) if done.all() else int(round_.unit[np.argmin(done)])
        judged_rows = round_.rows[judged[round_.rows]]  # of the drawn pairs and of those chosen with certainty
        round_of[judged_rows] = number
        of_complete = round_.chance(complete_units)  # of the first drawn pairs, those of complete units
        chance[round_.drawn[: len(of_complete)]] = of_complete
        # With fewer than two complete units, chances can be so small that the variance of weights is infinite:
        # precision 0, unless these are all units.
        if complete_units > 1 or complete_units == len(round_.rate):
            precision[number] = round_.precision
    rows = np.flatnonzero((round_of >= 0) | (judged & (known_by > 0)))
    return Design(
        rows,
        weight=_weights(round_of[rows], chance[rows], precision, first_round[rows], known_by[rows]),
        evidence=float(precision.sum()),
        equal_chances=any(round_.equal_chances for round_ in rounds),
    )


def _weights(
    round_of: np.ndarray, chance: np.ndarray, precision: np.ndarray, first_round: np.ndarray, known_by: np.ndarray
) -> np.ndarray:
    """The weight of each judgment, float64[judged]; 1 where no round since its pair came has evidence.

    Each round since the pair came gives its judgment a weight: 1 / chance if it drew the pair, 1 if the judgment
    was known before it, else 0. The result is the mean of these weights, weighted by the precision of the rounds.
    A judgment in no round has the weights 0 and 1 alone.

    precision: float64[rounds]; all others have an element for each judgment. round_of: the number from 0 of the
    round that drew it, -1 = none; chance: to be drawn in that round, 1 if there is none; first_round: the number
    of the first round after its pair came; known_by: for a judgment in no round, the number of the first round
    after it.
    """
    total_from = np.append(np.cumsum(precision[::-1])[::-1], 0.0)  # of the precision of each round and later ones
    in_no_round = round_of < 0
    precision_of_own = np.where(in_no_round, 0.0, precision[round_of])  # of the round with weight 1 / chance
    # Of the rounds with weight 1, before which the judgment was known.
    precision_of_later = total_from[np.where(in_no_round, known_by, round_of + 1)]
    total = total_from[first_round]
    weight = np.ones(len(round_of))
    np.divide(precision_of_own / chance + precision_of_later, total, out=weight, where=total > 0)
    return weight

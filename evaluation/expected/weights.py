"""How much each judgment of the rounds counts for documents that were not drawn. NumPy only.

The weight of a judgment has the expectation 1 over all draws, whatever its grade, because its chance is known.
That holds over many rounds, and for pools that grow: a document's weight rests on the rounds since it came. It is
exact where the precision of a round does not depend on what was drawn before, and nearly so in rounds of documents
that score alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .rounds import Round


@dataclass(frozen=True, eq=False)
class Design:
    """What is known about how judged pairs were chosen."""

    rows: np.ndarray  # int64[judged]: rows of the pool, ascending
    weight: np.ndarray  # float64[judged], of expectation 1
    variance: np.ndarray  # float64[judged]: variance that a pair's chance adds, for each squared change
    evidence: float  # the precision of all rounds together; 0: none tells anything about other documents
    equal: bool = False  # whether a round drew by equal chances, so that little of what is relevant is found


def design(
    rounds: Sequence[Round],
    judged: np.ndarray,
    skipped: np.ndarray,
    birth: np.ndarray,
    known: np.ndarray | None = None,
) -> Design:
    """The weights of the judged pairs of these rounds, oldest first.

    judged and skipped: bool[pairs], what has a judgment, and what nobody can judge; birth: int64[pairs], how many
    rounds were drawn before the pair came to the pool. A round counts down to its first unit without all
    answers; judgments behind that count as known. `known`: int64[pairs], for judgments in no round how many rounds
    were drawn before (None: they were there before the first): only later ones count for them.
    """
    place, chance = np.full(len(judged), -1), np.ones(len(judged))
    precision = np.zeros(len(rounds))
    for number, each in enumerate(rounds):
        done = judged[each.drawn] | skipped[each.drawn]
        units = len(each.rate) if done.all() else int(each.unit[np.argmin(done)])
        found = np.concatenate([each.greedy, each.drawn])
        place[found[judged[found]]] = number
        chances = each.chance(units)
        chance[each.drawn[: len(chances)]] = chances
        # One unit and the key of the next say nothing about how many others there are.
        if units > 1 or units == len(each.rate):
            precision[number] = each.precision
    found = weigh(place, chance, precision, birth, np.where(judged, 0 if known is None else known, 0))
    return replace(found, equal=any(each.equal for each in rounds))


def weigh(
    place: np.ndarray,
    chance: np.ndarray,
    precision: np.ndarray,
    birth: np.ndarray,
    known: np.ndarray | None = None,
) -> Design:
    """The weights of pairs that were judged in the rounds `place`, int64[pairs], -1 = in none.

    chance: float64[pairs], of being drawn in that round; precision: float64[rounds]. Pairs in no round have one
    where `known` is above 0: they were judged after so many rounds, which did not draw them.
    """
    late = np.zeros(len(place), bool) if known is None else (place < 0) & (known > 0)
    rows = np.flatnonzero((place >= 0) | late)
    # A judgment from outside counts like a round without precision of its own, just before the later ones.
    of = np.where(late[rows], known[rows] - 1, place[rows]) if late.any() else place[rows]
    since = np.append(np.cumsum(precision[::-1])[::-1], 0.0)  # what all rounds from one on weigh
    total, own = since[birth[rows]], np.where(late[rows], 0.0, precision[of])
    without = total <= 0
    total = np.where(without, 1.0, total)
    weight = np.where(without, 1.0, (own / chance[rows] + since[of + 1]) / total)
    variance = (own / total) ** 2 * (1 - chance[rows]) / chance[rows] ** 2
    return Design(rows, weight, np.where(without, 0.0, variance), float(precision.sum()))

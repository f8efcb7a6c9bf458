"""The coefficients of agreement as rows, each with what it rests on and why it is missing."""

from math import isnan

import numpy as np

from ..judgments.rules import Ratings
from ..measures.arrays import pair_key
from ..significance.draws import ALPHA_DRAWS, SEED
from .kappa import fleiss, percent
from .krippendorff import KINDS, alpha, alpha_interval
from .table import Table, table

FEWEST_PAIRS = 20  # pairs with two grades: with fewer, coefficients are marked as of few pairs
# Of a coefficient. couples: how often two raters graded the same pair.
FACTS = ("low", "high", "pairs", "couples", "ratings", "draws", "seed")

# The limits of the words for alpha are those of Krippendorff (2004): data below FAIR are not to be relied on.
STRONG, FAIR = 0.8, 0.667

# Why there is no number.
NOBODY = "nobody gave a grade"
ONE_RATER = "only one rater gave grades"
NO_PAIR_TWICE = "no pair has two grades"
ONE_PAIR = "only one pair has two grades"
ALL_THE_SAME = "all grades are the same"
RESAMPLES_WITHOUT_ALPHA = "too many resamples in which all grades are the same"


def coefficients(table: Table) -> list[dict]:
    """A row for each coefficient: percentages, alpha of each kind with its interval, Fleiss' kappa."""
    shared = int((table.ratings_of_pair > 1).sum())
    same = percent(table)
    kappa = fleiss(table)
    return [
        *(_row(table, name, same[name], pairs=shared, couples=same["pairs"]) for name in ("agree", "within_one")),
        *(_alpha(table, kind) for kind in KINDS),
        _row(table, "fleiss_kappa", kappa["kappa"], pairs=kappa["pairs"], ratings=kappa["ratings"]),
    ]


def ordinal_alpha(ratings: Ratings, levels: list[float]) -> dict:
    """The row of ordinal alpha in `coefficients`. levels: all grades of the scale, ascending."""
    _, pair = np.unique(pair_key(ratings.query, ratings.document), return_inverse=True)
    raters, rater = np.unique(ratings.rater, return_inverse=True)
    return _alpha(table(pair, rater, ratings.grade, len(raters), levels), "ordinal")


def lacking(table: Table) -> str:
    """Why agreement cannot be computed; "" where it can."""
    if not table.pair.size:
        return NOBODY
    if np.unique(table.rater).size == 1:
        return ONE_RATER
    return "" if table.graded_twice.pair.size else NO_PAIR_TWICE


def word(alpha: float) -> str:
    """How strong an agreement of this alpha is, in a word."""
    if alpha >= FAIR:
        return "strong" if alpha >= STRONG else "fair"
    return "weak" if alpha > 0 else "no better than chance"


def _alpha(table: Table, kind: str) -> dict:
    low, high = alpha_interval(table, kind)
    facts = {"low": low, "high": high, "draws": ALPHA_DRAWS, "seed": SEED}
    return _row(table, f"alpha_{kind}", alpha(table, kind), pairs=int((table.ratings_of_pair > 1).sum()), **facts)


def _row(table: Table, name: str, value: float, *, pairs: int, **facts) -> dict:
    """The row of one coefficient: its value, its facts, whether its pairs are few, and why a number is missing.

    pairs: how many pairs the coefficient rests on. facts: the others of FACTS that the coefficient has, copied
    into the row, where those that it lacks are None. A number that is nan becomes None.
    """
    row = {"name": name, "value": value, **dict.fromkeys(FACTS), "pairs": pairs, **facts}
    undefined = [field for field, number in row.items() if isinstance(number, float) and isnan(number)]
    why = {}
    if "value" in undefined:
        why["value"] = lacking(table) or ALL_THE_SAME  # `lacking` is "" where a pair has two grades
    if "low" in undefined:  # then "high" is undefined, too. `alpha_interval` can be nan where alpha is not.
        why["low"] = why["high"] = why.get("value") or (ONE_PAIR if pairs == 1 else RESAMPLES_WITHOUT_ALPHA)
    return {**row, **dict.fromkeys(undefined), "few": pairs < FEWEST_PAIRS, "why": why}

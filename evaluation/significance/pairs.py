"""Pairs of systems compared on the same queries: difference, intervals, tests and power."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from ..draws import MOST_TESTS, SEED, TESTS
from . import paired, power
from .bootstrap import bootstrap_interval
from .many import holm, tukey_hsd

ALPHA = 0.05
LEVEL = 1 - ALPHA
FEWEST = 10  # queries: with fewer there are intervals, but no p values
PAIRS_AT_ONCE = 64

# Corrections for multiple comparisons: Holm for planned ones, Tukey's HSD for all pairs of all systems.
CORRECTIONS = ("holm", "hsd")

HIGHER, LOWER, CANNOT_TELL = VERDICTS = ("higher", "lower", "cannot tell")

# Why there is no number.
FEW = f"fewer than {FEWEST} queries"
NO_QUERY = "no query"
ONE = "one query"
NONE_DIFFERS = "no query differs"
ALL_THE_SAME = "every query differs by the same"
NO_DIFFERENCE = "no difference to see"
TWO_SYSTEMS = "two systems make one comparison"


@dataclass(frozen=True)
class Comparison:
    """A second system compared with a first. None: there is no number, and `why` gives the reason by field."""

    difference: float | None  # of the means, second minus first
    low: float | None  # its 95 % interval by t
    high: float | None
    bootstrap_low: float | None  # and by resampling queries
    bootstrap_high: float | None
    deviation: float | None  # the standard deviation of the differences of queries
    effect: float | None  # the mean difference in standard deviations: d_z
    t: float | None
    p: float | None  # of the paired t test
    p_randomised: float | None  # of Fisher's randomisation test
    p_wilcoxon: float | None  # of the signed-rank test, which asks about medians and not about means
    p_holm: float | None  # p adjusted for all comparisons that were asked for
    p_hsd: float | None  # adjusted for all pairs of all systems
    wins: int  # queries on which the second is better
    ties: int
    losses: int
    detectable: float | None  # the least true difference that so many queries show four times in five
    needed: int | None  # about how many queries show a true difference of this size as often
    more: int | None  # how many more queries that are; 0 where there is a verdict
    verdict: str  # of VERDICTS, by the adjusted p
    why: dict[str, str]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """The results of `compare`."""

    queries: int
    pairs: list[Comparison]  # in the order of what was asked for
    critical: float | None  # a difference of two means that is significant by Tukey's HSD
    exact: bool  # whether the randomisation test tried all signs instead of drawing some
    draws: int
    seed: int
    correction: str


def common_queries(values: np.ndarray) -> np.ndarray:
    """The queries where all systems have a value, bool[queries] of float64[queries, systems]."""
    return ~np.isnan(values).any(axis=1)


def compare(
    values: np.ndarray,
    pairs: Sequence[tuple[int, int]],
    draws: int = TESTS,
    seed: int = SEED,
    correction: str = "holm",
) -> Comparisons:
    """Compare columns of float64[queries, systems], each pair a (first, second); all values are finite.

    `draws` are those of the randomisation test and of Tukey's HSD, the bootstrap has its own number. The same seed
    gives the same numbers. ValueError for values, pairs or draws that cannot be worked with.
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError("values must be finite, by query and system.")
    if not 1 <= draws <= MOST_TESTS:
        raise ValueError(f"draws must be from 1 to {MOST_TESTS:,}, not {draws!r}.")
    if seed < 0:
        raise ValueError(f"seed must not be negative, not {seed!r}.")
    if correction not in CORRECTIONS:
        raise ValueError(f"correction must be {' or '.join(CORRECTIONS)}, not {correction!r}.")
    pairs = np.array(pairs, np.int64).reshape(-1, 2)
    columns = _columns(values, pairs, draws, seed)
    # A difference that is the same on every query has no t, but a p by randomisation.
    columns["p_holm"] = holm(np.where(np.isnan(columns["p"]), columns["p_randomised"], columns["p"]))
    columns["p_hsd"], critical = _hsd(values, pairs, columns["ties"] < len(values), draws, seed)
    rows = ({name: column[place].item() for name, column in columns.items()} for place in range(len(pairs)))
    return Comparisons(
        queries=len(values),
        pairs=[_comparison(row, *values.shape, len(pairs), correction) for row in rows],
        critical=None if isnan(critical) else critical,
        exact=len(values) < paired.EXACT_BELOW,
        draws=draws,
        seed=seed,
        correction=correction,
    )


def _columns(values: np.ndarray, pairs: np.ndarray, draws: int, seed: int) -> dict[str, np.ndarray]:
    """The numbers of each pair that need no other pair, by the name of the field."""
    blocks = [
        _block(paired.differences(values, *pairs[start : start + PAIRS_AT_ONCE].T), draws, seed)
        for start in range(0, max(len(pairs), 1), PAIRS_AT_ONCE)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _block(difference: np.ndarray, draws: int, seed: int) -> dict[str, np.ndarray]:
    nothing = np.full(difference.shape[1], np.nan)
    mean, spread = paired.mean(difference), paired.deviation(difference)
    effect = nothing.copy()
    np.divide(mean, spread, out=effect, where=spread > 0)
    low, high = paired.t_interval(difference, LEVEL)
    bootstrap_low, bootstrap_high = bootstrap_interval(difference, LEVEL)
    enough = len(difference) >= FEWEST
    t, p = paired.t_test(difference)
    wins, ties, losses = paired.tally(difference)
    return {
        "difference": mean,
        "low": low,
        "high": high,
        "bootstrap_low": bootstrap_low,
        "bootstrap_high": bootstrap_high,
        "deviation": spread,
        "effect": effect,
        "t": t,
        "p": p if enough else nothing,
        "p_randomised": paired.randomisation(difference, draws, seed) if enough else nothing,
        "p_wilcoxon": paired.wilcoxon(difference) if enough else nothing,
        "wins": wins,
        "ties": ties,
        "losses": losses,
    }


def _hsd(
    values: np.ndarray, pairs: np.ndarray, differs: np.ndarray, draws: int, seed: int
) -> tuple[np.ndarray, float]:
    """p of each pair among all systems, and the critical difference; nan where there is no such test."""
    if len(values) < FEWEST or values.shape[1] < 3:
        return np.full(len(pairs), np.nan), float("nan")
    found = tukey_hsd(values, draws, seed, ALPHA)
    p = found.p[*pairs.T]
    # Two systems that are equal on every query have no p, rather than p = 1.
    return np.where(differs, p, np.nan), found.critical


def _comparison(
    numbers: dict[str, float], queries: int, systems: int, together: int, correction: str
) -> Comparison:
    adjusted = numbers["p_randomised"] if correction == "hsd" and systems == 2 else numbers[f"p_{correction}"]
    settled = adjusted < ALPHA  # False for nan
    is_same = numbers["deviation"] == 0
    # Holm asks for this level at most, and Tukey's HSD for about as much.
    alpha = ALPHA / max(together, 1)
    least = power.least_effect(queries, alpha)
    needed = None if isnan(numbers["effect"]) else power.queries_needed(numbers["effect"], alpha)
    numbers |= {
        "detectable": nan if least is None or is_same else least * numbers["deviation"],
        "needed": nan if needed is None else needed,
        "more": nan if needed is None else 0 if settled else max(0, needed - queries),
    }
    return Comparison(
        **{name: None if isnan(number) else number for name, number in numbers.items()},
        verdict=(HIGHER if numbers["difference"] > 0 else LOWER) if settled else CANNOT_TELL,
        why={name: _why(name, numbers, queries, systems) for name, number in numbers.items() if isnan(number)},
    )


def _why(name: str, numbers: dict[str, float], queries: int, systems: int) -> str:
    """Why a field has no number."""
    if queries == 0:
        return NO_QUERY
    if queries == 1:
        return ONE
    if name.startswith("p") and queries < FEWEST:
        return FEW
    if name == "p_hsd" and systems == 2:
        return TWO_SYSTEMS
    if numbers["wins"] + numbers["losses"] == 0:
        return NONE_DIFFERS
    return ALL_THE_SAME if numbers["deviation"] == 0 else NO_DIFFERENCE

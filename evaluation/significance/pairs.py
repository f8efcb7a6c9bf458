"""Pairs of systems compared on the same queries: difference, intervals, tests and power."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from . import paired, power
from .bootstrap import bootstrap_interval
from .draws import MOST_TEST_DRAWS, SEED, TEST_DRAWS
from .many import holm, tukey_hsd
from .sampled import Sampled, mean_of_searches, pseudo_values

ALPHA = 0.05
LEVEL = 1 - ALPHA
FEWEST = 10  # queries: with fewer there are intervals, but no p values
PAIRS_AT_ONCE = 64

# Corrections for multiple comparisons: Holm for planned comparisons, Tukey's HSD for all pairs of all systems.
CORRECTIONS = ("holm", "hsd")

HIGHER, LOWER, CANNOT_TELL = VERDICTS = ("higher", "lower", "cannot tell")

# Reasons why a number is missing, as they are printed.
FEW_QUERIES = f"fewer than {FEWEST} queries"
FEW_DRAWN = f"fewer than {FEWEST} queries that were drawn"
NO_QUERY = "no query"
NONE_DRAWN = "no query was drawn: all were taken for certain"
NONE_OF_STRATUM = "no query of the head, or of another stratum of the log, has a value"
ONE_QUERY = "one query"
NONE_DIFFERS = "no query differs"
ALL_THE_SAME = "every query differs by the same"
NO_DIFFERENCE = "no difference to see"
TOO_MANY_COMPARISONS = "too few queries for so many comparisons"
TWO_SYSTEMS = "two systems make one comparison"


@dataclass(frozen=True)
class Comparison:
    """A second system compared with a first. A field without a number is None, and `why` has the reason."""

    difference: float | None  # of the means, second minus first
    low: float | None  # 95 % interval of the difference by t
    high: float | None
    bootstrap_low: float | None  # 95 % interval of the difference by bootstrap over queries
    bootstrap_high: float | None
    deviation: float | None  # standard deviation of the differences over queries
    effect: float | None  # effect size d_z: the difference in standard deviations
    t: float | None
    p: float | None  # of the paired t test
    p_randomised: float | None  # of Fisher's randomisation test
    p_wilcoxon: float | None  # of the signed-rank test, which is about medians, not means
    p_holm: float | None  # p adjusted for all comparisons of the call
    p_hsd: float | None  # p adjusted for all pairs of all systems
    wins: int  # queries on which the second is better
    ties: int
    losses: int
    detectable: float | None  # smallest detectable difference at this number of queries, with power POWER
    needed: int | None  # about how many queries, at least FEWEST, detect such a difference with power POWER
    more: int | None  # `needed` less the queries there are; 0 where there is a verdict
    verdict: str  # one of VERDICTS, by the adjusted p
    why: dict[str, str]  # the reason, by field without a number


@dataclass(frozen=True, eq=False)
class Comparisons:
    """The results of `compare`."""

    queries: int
    drawn: int  # how many of these have sampling error: not those that were taken for certain from a log
    pairs: list[Comparison]  # in the order of the argument
    critical: float | None  # the critical difference of two means by Tukey's HSD
    exact: bool  # whether the randomisation test enumerated all signs
    draws: int
    seed: int
    correction: str


def common_queries(values: np.ndarray) -> np.ndarray:
    """Whether all systems have a value, bool[queries]. values: float64[queries, systems], nan without a value."""
    return ~np.isnan(values).any(axis=1)


def compare(
    values: np.ndarray,
    pairs: Sequence[tuple[int, int]],
    draws: int = TEST_DRAWS,
    seed: int = SEED,
    correction: str = "holm",
    sampled: Sampled | None = None,
) -> Comparisons:
    """Comparisons of pairs of systems on the same queries, corrected for their number.

    values: float64[queries, systems], finite; pairs: (first, second), as columns of `values`. `draws` is for the
    randomisation test and Tukey's HSD; the bootstrap has its own number. The same seed gives the same numbers.
    sampled: what these queries stand for, where they were drawn from a log. The differences are then those of the
    means over all searches.

    ValueError for values that are not finite, and for draws, a seed or a correction out of range.
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError("values must be finite, by query and system.")
    if not 1 <= draws <= MOST_TEST_DRAWS:
        raise ValueError(f"draws must be from 1 to {MOST_TEST_DRAWS:,}, not {draws!r}.")
    if seed < 0:
        raise ValueError(f"seed must not be negative, not {seed!r}.")
    if correction not in CORRECTIONS:
        raise ValueError(f"correction must be {' or '.join(CORRECTIONS)}, not {correction!r}.")
    pairs = np.array(pairs, np.int64).reshape(-1, 2)
    tested = values if sampled is None else pseudo_values(values, sampled)
    degrees = None if sampled is None else sampled.degrees
    columns = _columns(tested, pairs, draws, seed, degrees)
    if sampled is not None:
        columns |= _of_all_queries(values, pairs, sampled)
    # Where all differences are equal there is no t, but there is p by randomisation.
    columns["p_holm"] = holm(np.where(np.isnan(columns["p"]), columns["p_randomised"], columns["p"]))
    columns["p_hsd"], critical = _hsd(tested, pairs, columns["ties"] < len(values), draws, seed)
    rows = ({name: column[place].item() for name, column in columns.items()} for place in range(len(pairs)))
    drawn, systems = tested.shape
    # The reason where nothing can be tested at all.
    untested = NO_QUERY if not len(values) else NONE_OF_STRATUM if sampled and sampled.left_out else NONE_DRAWN
    return Comparisons(
        queries=len(values),
        drawn=drawn,
        pairs=[_comparison(row, drawn, systems, len(pairs), correction, len(values), untested) for row in rows],
        critical=None if isnan(critical) else critical,
        exact=drawn < paired.EXACT_BELOW,
        draws=draws,
        seed=seed,
        correction=correction,
    )


def _columns(
    values: np.ndarray, pairs: np.ndarray, draws: int, seed: int, degrees: int | None
) -> dict[str, np.ndarray]:
    """The fields that a pair has by itself, before any correction: an array over pairs for each."""
    blocks = [
        _block(paired.differences(values, *pairs[start : start + PAIRS_AT_ONCE].T), draws, seed, degrees)
        for start in range(0, max(len(pairs), 1), PAIRS_AT_ONCE)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _block(difference: np.ndarray, draws: int, seed: int, degrees: int | None) -> dict[str, np.ndarray]:
    """The fields of `Comparison` before any correction, by name: an array over these pairs for each.

    difference: float64[queries, pairs]; degrees: of freedom of the t test, None for queries less 1.
    """
    undefined = np.full(difference.shape[1], np.nan)
    mean, spread = paired.mean(difference), paired.deviation(difference)
    effect = undefined.copy()  # stays nan where all differences are equal
    np.divide(mean, spread, out=effect, where=spread > 0)
    low, high = paired.t_interval(difference, LEVEL, degrees)
    bootstrap_low, bootstrap_high = bootstrap_interval(difference, LEVEL)
    is_tested = len(difference) >= FEWEST
    t, p = paired.t_test(difference, degrees)
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
        "p": p if is_tested else undefined,
        "p_randomised": paired.randomisation(difference, draws, seed) if is_tested else undefined,
        "p_wilcoxon": paired.wilcoxon(difference) if is_tested else undefined,
        "wins": wins,
        "ties": ties,
        "losses": losses,
    }


def _of_all_queries(values: np.ndarray, pairs: np.ndarray, sampled: Sampled) -> dict[str, np.ndarray]:
    """The fields that rest on all queries, also those taken for certain, by name: an array over pairs each."""
    wins, ties, losses = paired.tally(paired.differences(values, *pairs.T))
    means = mean_of_searches(values, sampled)[np.newaxis, :]
    difference = paired.differences(means, *pairs.T)[0]
    return {"difference": difference, "wins": wins, "ties": ties, "losses": losses}


def _hsd(
    values: np.ndarray, pairs: np.ndarray, differs: np.ndarray, draws: int, seed: int
) -> tuple[np.ndarray, float]:
    """The p value of each pair by Tukey's HSD, and the critical difference; nan where the test does not apply."""
    if len(values) < FEWEST or values.shape[1] < 3:
        return np.full(len(pairs), np.nan), float("nan")
    hsd = tukey_hsd(values, draws, seed, ALPHA)
    # Two systems that are equal on every query have no p, rather than p = 1.
    return np.where(differs, hsd.p[*pairs.T], np.nan), hsd.critical


def _comparison(
    numbers: dict[str, float],
    drawn: int,
    systems: int,
    comparisons: int,
    correction: str,
    queries: int,
    untested: str,
) -> Comparison:
    """The `Comparison` of one pair of systems.

    numbers: its fields by name that the tests found, nan = undefined; those about power are added here.
    comparisons: how many p values are corrected together. drawn: how many queries were tested. queries: how many
    have a value: those that were tested, and those that were taken from a log with chance 1, which have no
    sampling error and so are not tested. untested: the reason why no query was tested, where `drawn` is 0.
    """
    # Two systems make one comparison, which needs no correction.
    adjusted = numbers["p_randomised"] if correction == "hsd" and systems == 2 else numbers[f"p_{correction}"]
    significant = adjusted < ALPHA  # False for nan
    direction = HIGHER if numbers["difference"] > 0 else LOWER
    # Bonferroni's level: the strictest that Holm asks for, and about that of Tukey's HSD.
    alpha = ALPHA / max(comparisons, 1)
    least_effect = power.least_effect(drawn, alpha)  # in standard deviations; None: no effect is detectable
    detectable = nan if least_effect is None or numbers["deviation"] == 0 else least_effect * numbers["deviation"]
    needed = more = nan  # stay so where there is no effect, or one of 0, which no number of queries detects
    needed_by_power = None if isnan(numbers["effect"]) else power.queries_needed(numbers["effect"], alpha)
    if needed_by_power is not None:
        needed = max(needed_by_power, FEWEST)  # with fewer there is no test, however large the difference
        # `needed` is an approximation: there can be that many queries already, and still no verdict.
        more = 0 if significant else max(0, needed - drawn)
    numbers |= {"detectable": detectable, "needed": needed, "more": more}
    undefined = [name for name, number in numbers.items() if isnan(number)]
    return Comparison(
        **{**numbers, **dict.fromkeys(undefined)},  # None for nan
        verdict=direction if significant else CANNOT_TELL,
        why={name: _why(name, numbers, drawn, systems, queries, untested) for name in undefined},
    )


def _why(name: str, numbers: dict[str, float], drawn: int, systems: int, queries: int, untested: str) -> str:
    """The reason why the field `name` of a `Comparison` has no number.

    numbers: its other fields; drawn, queries: how many queries were tested, and how many have a value; untested:
    the reason where none was tested.
    """
    if drawn == 0:
        return untested
    if drawn == 1:
        return ONE_QUERY
    if name.startswith("p") and drawn < FEWEST:  # the p value of any test
        return FEW_QUERIES if drawn == queries else FEW_DRAWN
    if name == "p_hsd" and systems == 2:
        return TWO_SYSTEMS
    if numbers["wins"] + numbers["losses"] == 0:
        return NONE_DIFFERS
    if numbers["deviation"] == 0:
        return ALL_THE_SAME
    if name == "detectable":
        return TOO_MANY_COMPARISONS
    # What is left are `needed` and `more`, where the mean difference is 0: no number of queries would show it.
    return NO_DIFFERENCE

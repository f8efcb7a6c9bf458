"""Tests of all pairs of systems of a frozen evaluation, by its first measure."""

from ...page.numbers import decimals
from ...page.words import counted
from ...results.comparison import Compared, compared, of_page
from ...scores import Evaluation
from ...significance import ALPHA, CANNOT_TELL, FEWEST, Comparison
from ...significance.draws import SEED, TESTS_ON_PAGES


def comparisons(evaluation: Evaluation, draws: int = TESTS_ON_PAGES, seed: int = SEED) -> Compared | None:
    """The comparison of all pairs of systems with a mean, the best system first; None for fewer than two.

    All pairs count in the correction, since the best system is known only after the numbers.
    """
    measure = evaluation.measures[0]
    names = list(evaluation.means)
    if len(names) < 2:
        return None
    if (draws, seed) == (TESTS_ON_PAGES, SEED):
        return of_page(evaluation, names[0], names[1:], len(names) > 2)
    return compared(evaluation, names[0], names[1:], len(names) > 2, draws, seed, [measure])[0]


def in_words(result: Compared | None) -> str:
    """The sentence about the tests: the method, and the difference of each other system from the best."""
    if result is None:
        return "There were no two systems to compare."
    best, queries = result.systems[0], counted(result.tests.queries, "query", "queries")
    if result.tests.drawn < FEWEST:
        return f"Differences were not tested: a test takes {FEWEST} queries with a value for all, not {queries}."
    others = result.tests.pairs[: len(result.systems) - 1]
    differences = ", ".join(_against(name, test) for name, test in zip(result.systems[1:], others, strict=True))
    where = f"On the {queries} on which all of them have a value"
    return f"{where}, {_method(result)} found, against {best}: {differences}."


def _method(result: Compared) -> str:
    level = f"two-sided, at the level {ALPHA}"
    first = result.tests.pairs[0]
    if len(result.pairs) == 1 and first.p is None:
        cause = "all queries differ by the same" if first.wins or first.losses else "no query differs"
        return f"a randomisation test ({level}), as {cause},"
    if len(result.pairs) == 1:
        return f"a paired t test ({level})"
    draws = f"{result.tests.draws:,} draws, seed {result.tests.seed}"
    return f"a randomised Tukey HSD test of all {len(result.pairs)} pairs ({level}; {draws})"


def _against(name: str, test: Comparison) -> str:
    p = test.p_holm if test.p_hsd is None else test.p_hsd
    p_value = "no p value" if p is None else "p < 0.0001" if p < 0.0001 else f"p = {decimals(p)}"
    shown = "; no difference shown" if test.verdict == CANNOT_TELL else ""
    interval = f"95 % interval {decimals(test.low)} to {decimals(test.high)}"
    return f"{name} by {decimals(test.difference)} ({interval}, {p_value}{shown})"

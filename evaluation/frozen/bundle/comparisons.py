"""Tests of all pairs of systems of a frozen evaluation, by its first measure."""

from ...page.numbers import decimals
from ...page.words import counted
from ...results.comparison import DRAWS_ON_PAGES, Compared, compared, of_page
from ...scores import Evaluation
from ...significance import ALPHA, CANNOT_TELL, FEWEST, Comparison
from ...significance.draws import SEED


def comparisons(evaluation: Evaluation, draws: int = DRAWS_ON_PAGES, seed: int = SEED) -> Compared | None:
    """The tests of all pairs of systems with a mean, in the first measure; None for fewer than two systems.

    All pairs are tested and count in the correction for several tests, not only those with the best system: which
    system is the best is known only after the numbers.
    """
    measure = evaluation.measures[0]
    names = list(evaluation.means)  # the best system first
    if len(names) < 2:
        return None
    best, *others = names
    all_pairs = len(others) > 1  # a single pair needs no correction
    # Pages show the tests with these draws and this seed, so the cache may have them.
    if (draws, seed) == (DRAWS_ON_PAGES, SEED):
        return of_page(evaluation, best, others, all_pairs)
    # It returns a result for each measure, here for one.
    return compared(evaluation, best, others, all_pairs, draws, seed, [measure])[0]


def in_words(result: Compared | None) -> str:
    """The sentence about the tests: the method, and the difference of each other system from the best one.

    Without tests it says why there are none.
    """
    if result is None:
        return "There were no two systems to compare."
    best, *others = result.systems
    # A test counts the queries that chance drew. In a sample from a log some may be taken for certain: only then
    # there are fewer drawn ones than queries, and the sentence says "drawn".
    if result.tests.drawn < FEWEST:
        drawn = counted(result.tests.drawn, "query", "queries")
        needed = f"{FEWEST} queries" if result.tests.drawn == result.tests.queries else f"{FEWEST} drawn queries"
        return f"Differences were not tested: a test takes {needed} with a value for all, not {drawn}."
    queries = counted(result.tests.queries, "query", "queries")
    tests = result.tests.pairs[: len(others)]  # the pairs with the best come first
    differences = ", ".join(_against(name, test) for name, test in zip(others, tests, strict=True))
    where = f"On the {queries} on which all of them have a value"
    return f"{where}, {_method(result)} found, against {best}: {differences}."


def _method(result: Compared) -> str:
    """The test in words: of one pair a t test or, where there is no t, a randomisation test; of more, Tukey's."""
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
    """The difference of a system from the best, in words, with its interval and p."""
    p = test.p_holm if test.p_hsd is None else test.p_hsd
    p_value = "no p value" if p is None else "p < 0.0001" if p < 0.0001 else f"p = {decimals(p)}"
    shown = "; no difference shown" if test.verdict == CANNOT_TELL else ""
    interval = f"95 % interval {decimals(test.low)} to {decimals(test.high)}"
    return f"{name} by {decimals(test.difference)} ({interval}, {p_value}{shown})"

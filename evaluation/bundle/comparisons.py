"""Tests of every pair of systems of a frozen evaluation, by its first measure."""

from ..analyses.comparison import Compared, compared
from ..draws import SEED, TESTS_ON_PAGES
from ..scores import Evaluation
from ..significance import ALPHA, CANNOT_TELL, FEWEST, Comparison
from ..words.numbers import decimals
from ..words.sentences import counted
from .figures import best_first


def comparisons(evaluation: Evaluation, draws: int = TESTS_ON_PAGES, seed: int = SEED) -> Compared | None:
    """All pairs of systems that have a mean, those with the best first; None where fewer than two have one.

    The best system was not chosen before the numbers were seen, so that the correction counts all pairs.
    """
    measure = evaluation.measures[0]
    means = evaluation.summary.xs(str(measure), level="measure")["mean"]
    names = [name for name in best_first(evaluation, measure) if means[name] == means[name]]
    if len(names) < 2:
        return None
    (found,) = compared(evaluation, names[0], names[1:], len(names) > 2, draws, seed, [measure])
    return found


def in_words(found: Compared | None, text) -> str:
    """The sentence about the tests: how they were made, and how the best system compares with each other one."""
    if found is None:
        return "There were no two systems to compare."
    best, queries = found.systems[0], counted(found.tests.queries, "query", "queries")
    if found.tests.queries < FEWEST:
        return f"Differences were not tested: {queries} with a value for all are less than {FEWEST}."
    others = found.tests.pairs[: len(found.systems) - 1]
    results = ", ".join(_against(text(name), test) for name, test in zip(found.systems[1:], others, strict=True))
    where = f"On the {queries} on which all of them have a value"
    return f"{where}, {_test(found)} found, against {text(best)}: {results}."


def _test(found: Compared) -> str:
    level = f"two-sided, at the level {ALPHA}"
    if len(found.pairs) == 1:
        return f"a paired t test ({level})"
    draws = f"{found.tests.draws:,} draws, seed {found.tests.seed}"
    return f"a randomised Tukey HSD test of all {len(found.pairs)} pairs ({level}; {draws})"


def _against(name: str, test: Comparison) -> str:
    p = test.p_holm if test.p_hsd is None else test.p_hsd
    p_value = "no p value" if p is None else "p < 0.0001" if p < 0.0001 else f"p = {decimals(p)}"
    shown = "; no difference shown" if test.verdict == CANNOT_TELL else ""
    interval = f"95 % interval {decimals(test.low)} to {decimals(test.high)}"
    return f"{name} by {decimals(test.difference)} ({interval}, {p_value}{shown})"

"""Whether the systems of a frozen evaluation differ: every pair of them by its first measure."""

from ..comparison import Compared, compared
from ..scores import Evaluation
from ..significance import ALPHA, CANNOT_TELL, FEWEST, SEED, Comparison
from ..templatetags.numbers import decimals
from ..views.compare import DRAWS
from ..views.sentences import counted
from .figures import best_first


def comparisons(evaluation: Evaluation, draws: int = DRAWS, seed: int = SEED) -> Compared | None:
    """All pairs of systems that have a mean, those with the best first; None where fewer than two have one.

    The best by the same numbers is no baseline that was planned: all pairs count.
    """
    measure = evaluation.measures[0]
    means = evaluation.summary.xs(str(measure), level="measure")["mean"]
    names = [name for name in best_first(evaluation, measure) if means[name] == means[name]]
    if len(names) < 2:
        return None
    (found,) = compared(evaluation, names[0], names[1:], len(names) > 2, draws, seed, [measure])
    return found


def in_words(found: Compared | None, text) -> str:
    """What was tested and how, and how the best stands against each of the others."""
    if found is None:
        return "There were no two systems to compare."
    best, queries = found.systems[0], counted(found.found.queries, "query", "queries")
    if found.found.queries < FEWEST:
        return f"Differences were not tested: {queries} with a value for all are less than {FEWEST}."
    others = found.found.pairs[: len(found.systems) - 1]
    stands = ", ".join(_against(text(name), said) for name, said in zip(found.systems[1:], others, strict=True))
    where = f"On the {queries} on which all of them have a value"
    return f"{where}, {_test(found)} found, against {text(best)}: {stands}."


def _test(found: Compared) -> str:
    level = f"two-sided, at the level {ALPHA}"
    if len(found.pairs) == 1:
        return f"a paired t test ({level})"
    draws = f"{found.found.draws:,} draws, seed {found.found.seed}"
    return f"a randomised Tukey HSD test of all {len(found.pairs)} pairs ({level}; {draws})"


def _against(name: str, said: Comparison) -> str:
    p = said.p_holm if said.p_hsd is None else said.p_hsd
    told = "no p value" if p is None else "p < 0.0001" if p < 0.0001 else f"p = {decimals(p)}"
    shown = "; no difference shown" if said.verdict == CANNOT_TELL else ""
    interval = f"95 % interval {decimals(said.low)} to {decimals(said.high)}"
    return f"{name} by {decimals(said.difference)} ({interval}, {told}{shown})"

"""Which system is the best, and the tests of the others against it or another baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from ratings.models import Collection

from ..page.address import evaluated
from ..page.words import degree
from ..scores import Evaluation
from ..significance import ALL_THE_SAME, CANNOT_TELL, FEWEST, HIGHER, LOWER, NONE_DIFFERS
from . import comparison
from .comparison import Compared

MOST_COMPARED = 12  # systems that are compared at once
ROUNDING = 1e-12  # means with smaller differences are equal
MANY_QUERIES = 100_000  # queries: a larger number needed is shown as "over 100,000"


@dataclass(frozen=True)
class Selection:
    """The systems to compare."""

    baseline: str
    others: tuple[str, ...]  # highest mean first
    named: bool  # whether the address names the baseline; False: it is the best system
    all_pairs: bool
    left_out: int = 0  # systems with a mean that are not compared

    @property
    def systems(self) -> tuple[str, ...]:
        return (self.baseline, *self.others)


def best_first(ranked: Sequence[str], most: int | None = None) -> Selection | None:
    """The best system against up to `most` - 1 others (None: MOST_COMPARED - 1); None for fewer than two systems.

    The best system was not chosen before the numbers were seen, so the correction is for all pairs.
    """
    if len(ranked) < 2:
        return None
    best, *others = ranked[: most or MOST_COMPARED]
    left_out = len(ranked) - 1 - len(others)
    return Selection(best, tuple(others), named=False, all_pairs=len(others) > 1, left_out=left_out)


def tested(evaluation: Evaluation, selection: Selection) -> Compared:
    """The selected systems compared by the asked measure, from the cache as pages draw it."""
    return comparison.of_page(evaluation, selection.baseline, selection.others, selection.all_pairs)


def rows_against(baseline: str, result: Compared) -> list[dict]:
    """The rows of `Compared.rows` with this baseline, the highest difference first, with more members for pages.

    adjusted: the corrected p value; significant: whether there is a verdict; lacking: text on how many more
    queries would decide, "" where that is not known; why_equal_ends: why both ends of the interval are
    equal, in a row where they are. It is not true of other rows, and no page reads it there.
    """
    rows = [row for row in result.rows() if row["baseline"] == baseline]
    for row in rows:
        row["adjusted"] = row["p_hsd"] if result.tests.correction == "hsd" else row["p_holm"]
        row["significant"] = row["verdict"] != CANNOT_TELL
        more_queries = row["more"]  # the estimate of how many more would decide
        if more_queries:
            row["lacking"] = f"over {MANY_QUERIES:,}" if more_queries > MANY_QUERIES else f"about {more_queries:,}"
        elif row["significant"]:
            row["lacking"] = "enough"
        else:
            # Not known. Either there is no estimate (None), or it is 0: there are already as many queries as would
            # show such a difference with a good chance, and still there is no verdict.
            row["lacking"] = ""
        # Both ends are equal where differences show no sampling error. All are 0 if no query is won or lost.
        row["why_equal_ends"] = ALL_THE_SAME if row["wins"] or row["losses"] else NONE_DIFFERS
    # Rows without a difference come last.
    return sorted(rows, key=lambda row: (row["difference"] is None, -(row["difference"] or 0), row["system"]))


def lead_of(collection: Collection, evaluation: Evaluation) -> SafeString:
    """The sentence on the best system: by expected means where these are the headline."""
    if headline := evaluation.expecting.headline:
        return render_to_string("evaluation/_highest_expected.html", {"highest": headline.highest})
    # In the asked measure alone, as Compare has it: both share the tests.
    return leading(evaluated(collection, evaluation.asked))


def leading(evaluation: Evaluation, most: int | None = None) -> SafeString:
    """The sentence on the best system in the asked measure, and on those that differ significantly from it.

    It claims no more than the tests show. Intervals decide nothing here: two that overlap can belong to systems
    that differ significantly. most: how many systems are tested at most; None: MOST_COMPARED.
    """
    measure = evaluation.asked.measure
    # best: the systems with the highest mean; further members are for _lead.html alone.
    context = highest(evaluation.means) if evaluation.means else {"best": []}
    context |= {"measure": measure, "degree": degree(measure)}  # degree: better, or only higher
    # `means` is by name, the highest first. None: there is no other system to test.
    selection = best_first(list(evaluation.means), most)
    # Where several systems share the highest mean, none is the best, and nothing is tested.
    if selection and len(context["best"]) == 1:
        rows = rows_against(selection.baseline, tested(evaluation, selection))
        context["tests"] = by_verdict(rows) | {"untested": selection.left_out}
    return SafeString(render_to_string("evaluation/_lead.html", context).strip())


def highest(means: Mapping[str, float]) -> dict[str, Any]:
    """The facts of _lead.html: the systems that share the highest mean up to rounding (best), and the mean."""
    most = max(means.values())
    best = [name for name, mean in means.items() if isclose(mean, most, rel_tol=ROUNDING, abs_tol=ROUNDING)]
    return {"best": best, "mean": most, "only_one": len(means) == 1}


def by_verdict(rows: Sequence[Mapping]) -> dict:
    """The systems by the verdict of their test against the best one, and the number of queries: for _lead.html.

    near: those that cannot be told apart from the best one; below: those that are significantly lower; beyond:
    those that are significantly higher on the queries that all have, though not in the mean. few: whether the
    queries are too few to rely on. rows: as from `rows_against`.
    """
    systems: dict[str, list[str]] = {CANNOT_TELL: [], HIGHER: [], LOWER: []}
    for row in rows:
        systems[row["verdict"]].append(row["system"])
    queries = rows[0]["queries"]  # the same in all rows
    return {
        "near": systems[CANNOT_TELL],
        "beyond": systems[HIGHER],
        "below": systems[LOWER],
        "queries": queries,
        # A test needs queries with sampling error. Of a sample from a log, these are the ones that were drawn by
        # chance (`drawn`), and not those that were taken for certain.
        "few": rows[0].get("drawn", queries) < FEWEST,
        "fewest": FEWEST,
    }

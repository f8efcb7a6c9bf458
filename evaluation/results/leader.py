"""Which system is the best, and the tests of the others against it or another baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from ratings.models import Collection

from ..page.address import evaluated
from ..page.expecting import Expecting
from ..page.words import degree
from ..scores import Evaluation
from ..significance import ALL_THE_SAME, CANNOT_TELL, FEWEST, HIGHER, NONE_DIFFERS
from . import comparison
from .comparison import Compared

MOST = 12  # systems that are compared at once
ROUNDING = 1e-12  # means with smaller differences are equal
MANY = 100_000  # queries: a larger number needed is shown as "over 100,000"


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
    """The best system against up to `most` - 1 others (None: MOST - 1); None for fewer than two systems.

    The best system was not chosen before the numbers were seen, so the correction is for all pairs.
    """
    if len(ranked) < 2:
        return None
    names = ranked[: most or MOST]
    return Selection(names[0], tuple(names[1:]), False, len(names) > 2, len(ranked) - len(names))


def tested(evaluation: Evaluation, selection: Selection) -> Compared:
    """The selected systems compared by the asked measure, from the cache as pages draw it."""
    return comparison.of_page(evaluation, selection.baseline, selection.others, selection.all_pairs)


def tests_of_best(evaluation: Evaluation, most: int | None = None) -> tuple[list[dict], int]:
    """The rows of `comparison` for the best system and up to `most` - 1 others, and how many are left out.

    Every page that says which system is best says it by these rows. most: None for MOST.
    """
    selection = best_first(list(evaluation.means), most)
    if selection is None:
        return [], 0
    return rows_against(selection.baseline, tested(evaluation, selection)), selection.left_out


def rows_against(baseline: str, result: Compared) -> list[dict]:
    """The rows of the pairs with this baseline, the highest difference first."""
    rows = [row for row in result.rows() if row["baseline"] == baseline]
    adjusted = "p_hsd" if result.tests.correction == "hsd" else "p_holm"
    for row in rows:
        row["adjusted"] = row[adjusted]
        row["significant"] = row["verdict"] != CANNOT_TELL
        # About how many more queries would decide; "" where there is a verdict or no estimate.
        row["lacking"] = ""
        if row["more"]:
            row["lacking"] = f"over {MANY:,}" if row["more"] > MANY else f"about {row['more']:,}"
        row["same"] = ALL_THE_SAME if row["wins"] or row["losses"] else NONE_DIFFERS
    return sorted(rows, key=lambda row: (row["difference"] is None, -(row["difference"] or 0), row["system"]))


def lead_of(collection: Collection, evaluation: Evaluation, expected: Expecting) -> SafeString:
    """The sentence on the best system: by expected means where these are the headline."""
    if expected.headline:
        return render_to_string("evaluation/_highest_expected.html", {"highest": expected.headline.highest})
    # In the asked measure alone, as Compare has it: both share the tests.
    return leading(evaluated(collection, evaluation.asked))


def leading(evaluation: Evaluation, most: int | None = None) -> SafeString:
    """The sentence on the highest mean in the asked measure, and on the systems that differ significantly from it.

    It claims no more than the tests show. Intervals decide nothing here: two that overlap can belong to systems
    that differ significantly. most: as for `tests_of_best`.
    """
    measure = evaluation.asked.measure
    facts = highest(evaluation.means) if evaluation.means else {"best": []}
    if len(evaluation.means) > 1 and len(facts["best"]) == 1:
        facts["tests"] = told(*tests_of_best(evaluation, most))
    context = {"measure": measure, "degree": degree(measure)} | facts
    return SafeString(render_to_string("evaluation/_lead.html", context).strip())


def highest(means: Mapping[str, float]) -> dict[str, Any]:
    """The facts of _highest.html: the systems that share the highest mean up to rounding, and the mean."""
    most = max(means.values())
    best = [name for name, mean in means.items() if isclose(mean, most, rel_tol=ROUNDING, abs_tol=ROUNDING)]
    return {"best": best, "mean": most, "only_one": len(means) == 1}


def told(paired: Sequence[Mapping], untested: int) -> dict:
    """What the tests tell of the others, as facts of _lead.html. paired: rows of `tests_of_best`."""
    groups: dict[str, Any] = {"near": [], "beyond": [], "below": []}
    of_verdict = {CANNOT_TELL: "near", HIGHER: "beyond"}
    for row in paired:
        groups[of_verdict.get(row["verdict"], "below")].append(row["system"])
    queries = paired[0]["queries"]
    few = paired[0].get("drawn", queries) < FEWEST
    return groups | {"queries": queries, "few": few, "fewest": FEWEST, "untested": untested}

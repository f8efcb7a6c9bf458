"""Which system is the best, and the tests of the others against it or another baseline."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from ratings.models import Collection

from .. import scores
from ..deciding.expecting import Expecting
from ..measures import Measure
from ..page.documents import known
from ..scores import Asked
from ..significance import ALL_THE_SAME, CANNOT_TELL, NONE_DIFFERS
from . import comparison, sentences
from .answer import Answer, evaluated
from .comparison import Compared

MOST = 12  # systems that are compared at once
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


def scores_and_ranking(collection: Collection, asked: Asked) -> tuple[scores.Evaluation, list[tuple[str, float]]]:
    """The scores, and the ranking by them as `ranking` has it."""
    evaluation = evaluated(collection, asked)
    return evaluation, ranking(evaluation, asked.measure)


def ranking(evaluation: scores.Evaluation, measure: Measure) -> list[tuple[str, float]]:
    """(system, mean) of the systems that have a mean, the highest first."""
    if not evaluation.systems:
        return []
    means = [(name, known(evaluation.summary["mean"][name, str(measure)])) for name in evaluation.systems]
    return sorted([each for each in means if each[1] is not None], key=lambda each: (-each[1], each[0]))


def best_first(ranked: Sequence[tuple[str, float]], most: int | None = None) -> Selection | None:
    """The best system against up to `most` - 1 others (None: MOST - 1); None for fewer than two systems.

    The best system was not chosen before the numbers were seen, so the correction is for all pairs.
    """
    if len(ranked) < 2:
        return None
    names = [name for name, _ in ranked[: most or MOST]]
    return Selection(names[0], tuple(names[1:]), False, len(names) > 2, len(ranked) - len(names))


def tested(evaluation: scores.Evaluation, measure: Measure, selection: Selection) -> Compared:
    """The selected systems compared, from the cache as pages draw it."""
    return comparison.of_page(evaluation, measure, selection.baseline, selection.others, selection.all_pairs)


def tests_of_best(
    evaluation: scores.Evaluation, measure: Measure, most: int | None = None
) -> tuple[list[dict], int]:
    """The rows of `comparison` for the best system and up to `most` - 1 others, and how many are left out.

    Every page that says which system is best says it by these rows. most: None for MOST.
    """
    selection = best_first(ranking(evaluation, measure), most)
    if selection is None:
        return [], 0
    return rows_against(selection.baseline, tested(evaluation, measure, selection)), selection.left_out


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


def lead_of(collection: Collection, asked: Asked, answer: Answer, expected: Expecting) -> SafeString:
    """The sentence on the best system: by expected means where these are the headline."""
    if expected.headline:
        return render_to_string("evaluation/_highest_expected.html", {"highest": expected.headline.highest})
    return sentences.leading(
        answer.standings,
        asked.measure,
        *tests_of_best(evaluated(collection, asked), asked.measure),
    )

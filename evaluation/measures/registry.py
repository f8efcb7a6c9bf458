"""Every measure by its name: to add one, write its function and name it here."""

from collections.abc import Callable
from dataclasses import dataclass

from . import binary, coverage, cumulative
from .reasons import NO_RANKING, NOTHING_TO_FIND


@dataclass(frozen=True)
class Definition:
    """A function (graded rankings, cutoff, **parameters) -> float64[queries], nan where it has no value."""

    function: Callable
    parameters: tuple[str, ...] = ()
    why_undefined: int = NOTHING_TO_FIND  # what a nan of the function means
    without_judgments: bool = False  # has a value, though counted in no mean, for a query that nobody judged
    of_judgments: bool = True  # reads the judgments of the top k, which unjudged=require wants complete
    sums_ranks: bool = True  # a sum over ranks, so that a mean over tied documents is a mean of the measure


MEASURES: dict[str, Definition] = {
    "CG": Definition(cumulative.cg, without_judgments=True),
    "DCG": Definition(cumulative.dcg, without_judgments=True),
    "IDCG": Definition(cumulative.idcg, without_judgments=True, of_judgments=False),
    "nDCG": Definition(cumulative.ndcg),
    "P": Definition(binary.precision, ("rel",)),
    "R": Definition(binary.recall, ("rel",)),
    "AP": Definition(binary.average_precision, ("rel",), sums_ranks=False),
    "RR": Definition(binary.reciprocal_rank, ("rel",), sums_ranks=False),
    "Judged": Definition(coverage.judged, why_undefined=NO_RANKING, without_judgments=True, of_judgments=False),
}

# Other names in use, read in any case and printed as the names above.
ALIASES = {"MAP": "AP", "MRR": "RR"}

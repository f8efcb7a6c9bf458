"""All measures by name. To add one, write its function and register it here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import binary, counts, coverage, cumulative, user_models
from .reasons import NO_RANKING, NOTHING_TO_FIND

# The options that only some measures read. log_base belongs to the discount.
OF_SOME = ("gain", "discount", "ideal", "negatives", "relevant_from")
_BINARY = ("relevant_from",)
# Of measures that do not say how good a ranking is.
_NEUTRAL: dict[str, Any] = {"needs_no_judgment": True, "reads_judgments": False, "more_is_better": False}


@dataclass(frozen=True)
class Definition:
    """A measure: its function (graded rankings, cutoff, **parameters) -> float64[queries], nan = no value.

    The function does not get the parameter `dcg`, which changes the options that the rankings are graded by.
    """

    function: Callable
    parameters: tuple[str, ...] = ()
    why_undefined: int = NOTHING_TO_FIND  # what a nan of the function means
    needs_no_judgment: bool = False  # has a value for a query without judgments, though it counts in no mean
    reads_judgments: bool = True  # of ranked documents: no value under unjudged=require if it reads an unjudged
    skips_unjudged: bool = False  # ignores unjudged documents, whatever grade is assumed for them
    sums_ranks: bool = True  # a sum over ranks, so that ties=average can average it over tied documents
    is_count: bool = False  # a number of documents: it also has a total over queries, and no upper bound
    takes_cutoff: bool = True
    depth: Callable | None = None  # (graded rankings, **parameters) -> the deepest rank read; None: the cutoff
    needs_gmax: bool = False  # has no value without the highest grade of the scale, unless rel is given
    more_is_better: bool = True  # a ranking with a higher value is better; else pages call it higher, not better
    reads: tuple[str, ...] = ()  # those of OF_SOME that decide its value


MEASURES: dict[str, Definition] = {
    "CG": Definition(cumulative.cg, needs_no_judgment=True, reads=("gain", "negatives")),
    "DCG": Definition(cumulative.dcg, ("dcg",), needs_no_judgment=True, reads=("gain", "discount", "negatives")),
    "IDCG": Definition(cumulative.idcg, ("dcg",), reads=("gain", "discount", "ideal", "negatives"), **_NEUTRAL),
    "nDCG": Definition(cumulative.ndcg, ("dcg",), reads=("gain", "discount", "ideal", "negatives")),
    "P": Definition(binary.precision, ("rel",), reads=_BINARY),
    "R": Definition(binary.recall, ("rel",), reads=_BINARY),
    "AP": Definition(binary.average_precision, ("rel",), sums_ranks=False, reads=_BINARY),
    "RR": Definition(binary.reciprocal_rank, ("rel",), sums_ranks=False, reads=_BINARY),
    "Success": Definition(binary.success, ("rel",), sums_ranks=False, reads=_BINARY),
    "Rprec": Definition(
        binary.r_precision, ("rel",), takes_cutoff=False, depth=binary.all_relevant, reads=_BINARY
    ),
    "Bpref": Definition(
        binary.binary_preference,
        ("rel",),
        sums_ranks=False,
        takes_cutoff=False,
        skips_unjudged=True,
        reads=("negatives", "relevant_from"),
    ),
    "ERR": Definition(user_models.expected_reciprocal_rank, ("gmax",), sums_ranks=False, needs_gmax=True),
    "RBP": Definition(user_models.rank_biased_precision, ("p", "rel", "gmax"), needs_gmax=True),
    "RBPResidual": Definition(user_models.rank_biased_residual, ("p", "rel", "gmax"), **_NEUTRAL),
    "Judged": Definition(coverage.judged, why_undefined=NO_RANKING, **_NEUTRAL),
    "NumRet": Definition(counts.returned, is_count=True, **_NEUTRAL),
    "NumRel": Definition(counts.relevant, ("rel",), is_count=True, takes_cutoff=False, reads=_BINARY, **_NEUTRAL),
    "NumRelRet": Definition(
        counts.relevant_returned, ("rel",), needs_no_judgment=True, is_count=True, reads=_BINARY
    ),
}

# Aliases, read in upper or lower case and printed as the names above.
ALIASES = {"MAP": "AP", "MRR": "RR", "Precision": "P", "Recall": "R", "HitRate": "Success"}

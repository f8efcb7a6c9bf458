"""Expected nDCG of systems while judgments are missing, and which documents to judge next. NumPy only, no Django.

A model predicts the missing judgments; documents that were drawn with known chances tell how far it is off.
Without such documents there is the model's mean, and no interval.
"""

from .ahead import shrinking, to_settle
from .estimate import WITHOUT_CHANCES, Estimate, estimate
from .influence import Expectation, expect
from .model import Model, fit
from .order import settled
from .pool import UNJUDGED, Pool, pool_of
from .rounds import (
    Round,
    at_random,
    by_depth,
    draw_batches,
    draw_round,
    objective,
    outside,
    rates,
    scores,
    typical,
)
from .scope import MOST_LEVELS
from .triage import readiness
from .weights import Design, design

__all__ = [
    "MOST_LEVELS",
    "UNJUDGED",
    "WITHOUT_CHANCES",
    "Design",
    "Estimate",
    "Expectation",
    "Model",
    "Pool",
    "Round",
    "at_random",
    "by_depth",
    "design",
    "draw_batches",
    "draw_round",
    "estimate",
    "expect",
    "fit",
    "objective",
    "outside",
    "pool_of",
    "rates",
    "readiness",
    "scores",
    "settled",
    "shrinking",
    "to_settle",
    "typical",
]

"""Expected nDCG of systems while judgments are missing, and which documents to judge next. NumPy only, no Django.

A model predicts the missing judgments. Judged documents that were drawn with known probabilities estimate the bias
of the model. Without such documents there is the mean by the model, and no interval.
"""

from .ahead import forecast_of_variance, judgments_to_settle
from .estimate import WITHOUT_CHANCES, Estimate, estimate, query_values
from .influence import Expectation, expect
from .model import Model, fit
from .order import order_chances
from .pool import UNJUDGED, Pool, pool_of
from .rounds import (
    Round,
    at_random,
    by_depth,
    draw_batches,
    draw_round,
    mean_score,
    objective,
    rates,
    scores,
)
from .scope import MOST_LEVELS
from .triage import rate_factors
from .weights import Design, design

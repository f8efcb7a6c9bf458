"""Measures x systems x queries of a collection, with the options that made them."""

from .asked import SUMS, Asked, fingerprint, measure_for, options_for
from .bounds import has_bounds
from .evaluation import Evaluation, sampled_of
from .scoring import evaluate, expected_by_query, explain, of_arrays, read
from .standing import SUMMARY, Standing, why

__all__ = [
    "SUMMARY",
    "SUMS",
    "Asked",
    "Evaluation",
    "Standing",
    "evaluate",
    "expected_by_query",
    "explain",
    "fingerprint",
    "has_bounds",
    "measure_for",
    "of_arrays",
    "options_for",
    "read",
    "sampled_of",
    "why",
]

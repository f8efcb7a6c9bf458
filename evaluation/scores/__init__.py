"""Measures x systems x queries of a collection, with the options that made them."""

from .asked import SUMS, Asked, measure_for, options_for
from .evaluation import Evaluation, mean_of, plain_and_traffic, sampled_of
from .scoring import evaluate, expected_by_query, explain, has_bounds, of_arrays, of_rankings, of_ratings, read
from .standing import Standing, why

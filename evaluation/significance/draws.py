"""The number of random draws of each test and interval, and their seed. Results state both."""

SEED = 225

BOOTSTRAP_DRAWS = 2_000  # resamples of queries, for the interval of a mean
TEST_DRAWS = 20_000  # permutations of a randomisation test
MOST_TEST_DRAWS = 1_000_000
ALPHA_DRAWS = 1_000  # resamples, for the interval of Krippendorff's alpha
RATER_DRAWS = 200  # resamples of ratings, for the stability of the order of systems
FEWEST_RATER_DRAWS, MOST_RATER_DRAWS = 20, 2_000
EXPECTED_DRAWS = 120  # draws of missing judgments, for an expected value
ORDER_DRAWS = 400  # draws of means, for the chance of a wrong order

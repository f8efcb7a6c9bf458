"""The number of random draws of each test and interval, and their seed. Results state both."""

SEED = 225

BOOTSTRAP = 2_000  # resamples of queries, for the interval of a mean
TESTS = 20_000  # permutations of a randomisation test
TESTS_ON_PAGES = 2_000  # permutations on pages, over the API and in bundles: a tenth of the time
MOST_TESTS = 1_000_000
MOST_TESTS_OVER_API = 20_000
ALPHA = 1_000  # resamples, for the interval of Krippendorff's alpha
RATERS = 200  # resamples of ratings, for the stability of the order of systems
FEWEST_RATERS, MOST_RATERS = 20, 2_000
EXPECTED = 120  # draws of missing judgments, for an expected value
ORDERS = 400  # draws of means, for the chance of a wrong order

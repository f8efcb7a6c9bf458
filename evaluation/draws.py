"""The number of random draws of each test and interval, and their seed. Every such number states both."""

SEED = 225

BOOTSTRAP = 2_000  # resamples of queries behind an interval of a mean
TESTS = 20_000  # permutations of a randomisation test
TESTS_ON_PAGES = 2_000  # the same on pages, over the API and in bundles: a tenth of the time
MOST_TESTS = 1_000_000
MOST_TESTS_OVER_API = 20_000
ALPHA = 1_000  # resamples behind the interval of Krippendorff's alpha
RATERS = 200  # resamples of raters behind the stability of the order of systems
FEWEST_RATERS, MOST_RATERS = 20, 2_000
EXPECTED = 120  # draws of missing judgments behind an expected value
NOISE = 60  # times that all ratings are given again, behind the interval of rater noise
ORDERS = 400  # draws of means behind the chance that their order is right

"""Times in words."""

import pytest

from ratings.web.template_tags.figures import hours


@pytest.mark.parametrize(
    ("value", "words"),
    [(1 / 60, "1 minute"), (0.5, "30 minutes"), (0.97, "1 hour"), (3.54, "3.5 hours"), (1_234, "1,200 hours")],
)
def test_hours_have_two_significant_digits(value, words):
    assert hours(value) == words

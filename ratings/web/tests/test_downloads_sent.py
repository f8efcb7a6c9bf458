"""The headers of downloads."""

from io import BytesIO

import pytest

from ratings.web import downloads


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv", "text/csv; charset=utf-8"),
        ("a.tsv", "text/tab-separated-values; charset=utf-8"),
        ("a.json", "application/json; charset=utf-8"),
        ("a.qrels", "text/plain; charset=utf-8"),
        ("a.zip", "application/zip"),
    ],
)
def test_a_text_says_that_it_is_utf_8(name, kind):
    """Without it, browsers and spreadsheets guess, and é becomes Ã©."""
    answer = downloads.sent(BytesIO("é".encode()), name)
    assert answer["Content-Type"] == kind and answer["Content-Disposition"] == f'attachment; filename="{name}"'

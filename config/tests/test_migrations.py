"""What migrations set beside tables and columns."""

import pytest
from django.db import connection


@pytest.mark.django_db
@pytest.mark.postgresql
@pytest.mark.parametrize("table", ["ratings_assignment", "ratings_rating", "ratings_ratingevent"])
def test_what_raters_write_is_counted_anew_after_some_thousand_changes(table):
    """By a tenth of a million rows, a new rater would be planned for as one without a rating."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE oid = %s::regclass", [table])
        (options,) = cursor.fetchone()
    assert {"autovacuum_analyze_scale_factor=0", "autovacuum_analyze_threshold=2000"} <= set(options)

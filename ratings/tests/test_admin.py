"""What an admin changes and the version that tells of it: both or neither, and locked in one order."""

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ratings.admin import QueryAdmin
from ratings.models import Collection, Query

from .cast import make_collection

pytestmark = pytest.mark.django_db


@pytest.fixture
def query():
    return make_collection(queries=("q1", "q2")).queries.get(key="q1")


def changed_tables(captured: CaptureQueriesContext) -> list[str]:
    """Of the collection and the query, which was written first."""
    written = [sql["sql"] for sql in captured if sql["sql"].startswith(("UPDATE", "DELETE"))]
    tables = {'"ratings_collection"': "collection", '"ratings_query"': "query"}
    return [
        tables[sql.split()[1 if sql.startswith("UPDATE") else 2]]
        for sql in written
        if any(t in sql for t in tables)
    ]


def test_a_change_that_fails_leaves_the_version_as_it_was(query):
    before = Collection.objects.get().version
    with (
        pytest.raises(RuntimeError),
        QueryAdmin(Query, admin.site).changing([query], collection_first=True),
    ):
        raise RuntimeError
    assert Collection.objects.get().version == before


def test_who_edits_a_query_locks_its_collection_first_as_the_save_of_a_rating_does(query):
    with CaptureQueriesContext(connection) as captured:
        QueryAdmin(Query, admin.site).save_model(None, query, None, change=True)
    assert changed_tables(captured) == ["collection", "query"]


def test_who_deletes_queries_locks_their_collection_last(query):
    with CaptureQueriesContext(connection) as captured:
        QueryAdmin(Query, admin.site).delete_queryset(None, Query.objects.filter(pk=query.pk))
    assert changed_tables(captured)[-1] == "collection"
    assert not Query.objects.filter(pk=query.pk).exists()

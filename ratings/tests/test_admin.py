"""What an admin changes and the version that tells of it: both or neither, and locked in one order."""

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratings.admin import QueryAdmin
from ratings.models import Collection, Query
from ratings.set_up.putting_away import put_away, take_out

from .cast import make_collection, make_ranking, make_rater, make_user

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


def test_a_collection_that_is_put_away_is_only_shown(client, query):
    client.force_login(make_user("root", is_staff=True, is_superuser=True))
    other = make_collection("lakes", queries=["q1"])
    ranking = make_ranking(query.collection, "bm25", "q1", "ab")
    put_away(query.collection)
    objects = [
        query.collection,
        query,
        query.collection.documents.first(),
        ranking.system,
        make_rater(query.collection),
    ]
    for one in objects:
        address = f"admin:{one._meta.app_label}_{one._meta.model_name}"
        assert client.get(reverse(f"{address}_change", args=[one.pk])).status_code == 200
        for act in ("change", "delete"):
            assert client.post(reverse(f"{address}_{act}", args=[one.pk]), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [query.pk], "post": "yes"}
    client.post(reverse("admin:ratings_query_changelist"), chosen)
    page = client.get(reverse("admin:ratings_query_add"))
    assert list(page.context["adminform"].form.fields["collection"].queryset) == [other]
    client.post(
        reverse("admin:ratings_query_add"), {"collection": query.collection_id, "key": "q9", "weight": "1"}
    )
    assert set(query.collection.queries.values_list("key", flat=True)) == {"q1", "q2"}
    take_out(query.collection)
    client.post(reverse("admin:ratings_query_changelist"), chosen)
    assert set(query.collection.queries.values_list("key", flat=True)) == {"q2"}

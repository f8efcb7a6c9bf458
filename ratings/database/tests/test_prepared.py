"""A prepared statement does what the ordinary one does, with any values and from any thread."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models import Exists, F, FilteredRelation, OuterRef, Q, Subquery
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ratings.database.prepared import Blank, Prepared, PreparedInsert, PreparedUpdate
from ratings.models import Collection, Grade, Pair, Rater, Rating, RatingEvent
from ratings.tests.cast import grade, make_collection, make_pair, make_rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    return make_collection()


@pytest.fixture
def pairs(collection) -> list[Pair]:
    return [make_pair(collection, "q1", document) for document in "abc"]


def test_the_rows_are_those_of_the_query_for_each_value(collection, pairs, django_assert_num_queries):
    by_token = Prepared(lambda: Pair.objects.filter(token=Blank("token", Pair, "token")))
    for pair in pairs:
        with django_assert_num_queries(1):
            assert by_token(token=pair.token) == [pair]
    assert by_token(token=uuid4()) == []


def test_the_sql_is_written_once(pairs):
    made = []

    def make():
        made.append(1)
        return Pair.objects.filter(pk=Blank("pk", Pair, "id"))

    by_key = Prepared(make)
    assert [by_key.first(pk=pair.pk) for pair in pairs] == pairs
    assert by_key.first(pk=0) is None
    assert len(made) == 1


def test_related_rows_and_annotations_come_along(collection, pairs, django_assert_num_queries):
    rater, now = make_rater(collection, "alice"), timezone.now()
    best = grade(collection, "3")
    Rating.objects.create(pair=pairs[0], rater=rater, grade=best, created_at=now, changed_at=now)

    def seen_by():
        of_pair = Rating.objects.filter(pair=OuterRef("pk"))
        own = FilteredRelation("ratings", condition=Q(ratings__rater=Blank("rater", Rating, "rater")))
        found = Pair.objects.annotate(
            own=own, rated=Exists(of_pair), best=Subquery(of_pair.values("grade__value"))
        )
        return found.select_related("query__collection", "document", "own__grade").order_by("pk")

    for who in (rater.pk, 0):
        with django_assert_num_queries(1):
            first, *others = Prepared(seen_by)(rater=who)
            assert (first.query.collection, first.document.key) == (collection, "a")
            assert (first.rated, first.best) == (True, Decimal(3))
            assert [pair.rated for pair in others] == [False, False]
            assert (first.own.grade if who else getattr(first, "own", None)) == (best if who else None)


def test_values_are_converted_as_those_of_their_field(collection):
    by_value = Prepared(lambda: Grade.objects.filter(value=Blank("value", Grade, "value")))
    assert by_value.first(value=Decimal("3.0")) == by_value.first(value="3") == grade(collection, "3")


def test_none_equals_nothing(collection):
    make_rater(collection, "alice")
    Rater.objects.create(collection=collection, name="imported")
    of_user = Prepared(lambda: Rater.objects.filter(user=Blank("user", Rater, "user")))
    assert of_user(user=None) == []


def test_an_update_changes_what_it_finds_and_counts(collection, pairs):
    want = PreparedUpdate(
        lambda: Pair.objects.filter(pk=Blank("pk", Pair, "id"), retired_at=None),
        wanted=F("wanted") + Blank("more", Pair, "wanted"),
        retired_at=Blank("now", Pair, "retired_at"),
    )
    now = timezone.now()
    assert [want(pk=pairs[0].pk, more=2, now=now), want(pk=pairs[0].pk, more=2, now=now)] == [1, 0]
    assert want(pk=pairs[1].pk, more=5, now=None) == 1
    found = Pair.objects.order_by("pk").values_list("wanted", "retired_at")
    assert list(found) == [(3, now), (6, None), (1, None)]


def test_an_inserted_row_is_as_if_it_had_been_saved(collection, pairs, django_assert_num_queries):
    rater, insert = make_rater(collection, "alice"), PreparedInsert(RatingEvent)
    facts = {"rater": rater, "kind": "grade", "scale_version": 1, "created_at": timezone.now()}
    for pair, value in zip(pairs, ("3", "0.5", None), strict=True):
        event = RatingEvent(pair=pair, value=value and Decimal(value), client_key=uuid4(), seconds=2.5, **facts)
        with django_assert_num_queries(1):
            insert(event)
        stored = RatingEvent.objects.get(pk=event.pk)
        names = [field.attname for field in RatingEvent._meta.concrete_fields]
        assert [getattr(stored, name) for name in names] == [getattr(event, name) for name in names]
        assert not event._state.adding
        with pytest.raises(TypeError):
            event.save()


@pytest.mark.django_db(transaction=True)
def test_threads_share_a_statement_and_each_has_its_own_connection(collection, pairs):
    by_key = Prepared(lambda: Pair.objects.select_related("document").filter(pk=Blank("pk", Pair, "id")))

    def ask(pair: Pair) -> bool:
        try:
            return all(by_key.first(pk=pair.pk).document == pair.document for _ in range(20))
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(ask, pairs))


@pytest.mark.postgresql
def test_postgresql_is_told_a_statement_once_in_each_connection(pairs):
    by_key = Prepared(lambda: Pair.objects.filter(pk=Blank("pk", Pair, "id"), retired_at__isnull=True))
    with CaptureQueriesContext(connection) as asked:
        assert [by_key.first(pk=pair.pk) for pair in pairs] == pairs
    assert [query["sql"].split()[0] for query in asked] == ["EXECUTE"] * 3
    name = asked[0]["sql"].split()[1]
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements WHERE name = %s", [name])
        ((statement,),) = cursor.fetchall()
    assert "$1" in statement and "IS NULL" in statement
    with ThreadPoolExecutor(1) as other:  # a connection of its own, which sees nothing of this transaction
        assert other.submit(in_its_thread, by_key, pk=pairs[0].pk).result() == []


@pytest.mark.postgresql
def test_a_statement_outlives_the_transaction_that_told_it(pairs):
    by_key = Prepared(lambda: Pair.objects.filter(pk=Blank("pk", Pair, "id")))
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        by_key(pk=0)
        raise ZeroDivisionError
    assert by_key(pk=pairs[0].pk) == [pairs[0]]


def in_its_thread(prepared: Prepared, **given) -> list:
    try:
        return prepared(**given)
    finally:
        connection.close()

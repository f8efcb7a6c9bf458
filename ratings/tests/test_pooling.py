import pytest
from django.core.management import CommandError, call_command

from ratings import queue
from ratings.models import Assignment, Pair
from ratings.pooling import Pooled, pool

from .cast import NOW, grade, make_collection, make_ranking, make_rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection():
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "abc")
    make_ranking(collection, "dense", "q1", "bda")
    return collection


def test_a_pool_is_the_union_of_the_first_places(collection):
    # bm25's first two: a b; dense's first two: b d. Together a, b, d; b is in both.
    pooled = pool(collection, depth=2, wanted=1)
    assert pooled == Pooled(3, 3, {"bm25": 2, "dense": 2}, {"bm25": 1, "dense": 1})
    assert sorted(Pair.objects.values_list("document__key", flat=True)) == ["a", "b", "d"]


def test_the_same_pool_again_adds_nothing_and_a_deeper_one_adds_the_rest(collection):
    pool(collection, depth=2, wanted=2)
    assert pool(collection, depth=2, wanted=2).new_assignments == 0
    assert pool(collection, depth=3, wanted=2).new_assignments == 2  # only c is new
    assert Assignment.objects.count() == 8


def test_a_new_system_wants_only_what_nobody_rated(collection):
    pool(collection, depth=3, wanted=1)
    alice = make_rater(collection)
    while pair := queue.claim(alice, now=NOW):
        queue.save(alice, pair, grade=grade(collection, "1"), now=NOW)
    make_ranking(collection, "hybrid", "q2", "ab")
    assert pool(collection, depth=3, wanted=1).new_assignments == 2


@pytest.mark.parametrize(("depth", "wanted"), [(0, 1), (1, 0), (-1, 1)])
def test_a_pool_without_depth_or_ratings_is_refused(collection, depth, wanted):
    with pytest.raises(ValueError, match="at least 1"):
        pool(collection, depth=depth, wanted=wanted)


def test_more_systems_cost_no_more_queries(collection, django_assert_max_num_queries):
    for document in "abcd":
        make_ranking(collection, f"system {document}", "q1", document)
    with django_assert_max_num_queries(14):
        pool(collection, depth=10, wanted=2)


def test_the_command_tells_what_each_system_adds(collection, capsys):
    call_command("pool", "hills", depth=2, ratings=3)
    said = capsys.readouterr().out
    assert "3 pairs in the pool, 9 ratings newly wanted." in said
    assert "bm25: 2 pairs, 1 of them its own" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "There is no collection 'nowhere'"),
        (["hills", "--system", "tfidf"], "No such system: tfidf. Systems here: bm25, dense."),
        (["hills", "--depth", "0"], "at least 1"),
    ],
)
def test_the_command_refuses_with_the_cure(collection, arguments, said):
    with pytest.raises(CommandError, match=said.replace("(", r"\(")):
        call_command("pool", *arguments)

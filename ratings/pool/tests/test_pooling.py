import pytest
from django.core.management import CommandError, call_command

from ratings.desk import queue
from ratings.models import Assignment, Pair
from ratings.pool.adjudication import adjudicate
from ratings.pool.pooling import MOST_RATINGS_OF_PAIR, Plan, holes, pool, want_holes
from ratings.tests.cast import NOW, grade, make_collection, make_pair, make_ranking, make_rater, next_pair

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
    assert pooled == Plan(3, 3, [("bm25", 2, 1), ("dense", 2, 1)])
    assert sorted(Pair.objects.values_list("document__key", flat=True)) == ["a", "b", "d"]


def test_the_same_pool_again_adds_nothing_and_a_deeper_one_adds_the_rest(collection):
    pool(collection, depth=2, wanted=2)
    assert pool(collection, depth=2, wanted=2).new_ratings == 0
    assert pool(collection, depth=3, wanted=2).new_ratings == 2  # only c is new
    assert Assignment.objects.count() == 8


def test_a_new_system_wants_only_what_nobody_rated(collection):
    pool(collection, depth=3, wanted=1)
    alice = make_rater(collection)
    while pair := next_pair(alice):
        queue.save(alice, pair, queue.Submission(grade=grade(collection, "1")), now=NOW)
    make_ranking(collection, "hybrid", "q2", "ab")
    assert pool(collection, depth=3, wanted=1).new_ratings == 2


@pytest.mark.parametrize(("depth", "wanted"), [(0, 1), (1, 0), (-1, 1)])
def test_a_pool_without_depth_or_ratings_is_refused(collection, depth, wanted):
    with pytest.raises(ValueError, match="at least 1"):
        pool(collection, depth=depth, wanted=wanted)


def test_more_ratings_than_the_page_takes_are_refused(collection):
    assert pool(collection, depth=3, wanted=MOST_RATINGS_OF_PAIR).new_ratings
    with pytest.raises(ValueError, match="at most"):
        pool(collection, depth=3, wanted=MOST_RATINGS_OF_PAIR + 1)


def test_more_systems_cost_no_more_queries(collection, django_assert_num_queries):
    pool(collection, depth=10, wanted=1)
    with django_assert_num_queries(14):
        pool(collection, depth=10, wanted=2)
    for document in "abcd":
        make_ranking(collection, f"system {document}", "q1", document)
    with django_assert_num_queries(15):  # one more, for all have a better place by now
        pool(collection, depth=10, wanted=3)


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


def described(found) -> list[tuple]:
    """(query, documents returned, [(place, document, wanted, retired)]) of each query with holes."""
    return [
        (
            of.query.key,
            of.returned,
            [(hole.place, hole.document.key, hole.wanted, hole.retired) for hole in of.holes],
        )
        for of in found
    ]


def test_holes_are_what_a_system_ranks_first_and_nobody_has_judged(collection):
    alice = make_rater(collection)
    bm25 = collection.systems.get(name="bm25")
    make_ranking(collection, "bm25", "q2", "da")
    assert described(holes(collection, bm25, 2)) == [
        ("q1", 2, [(1, "a", False, False), (2, "b", False, False)]),
        ("q2", 2, [(1, "d", False, False), (2, "a", False, False)]),
    ]
    first, second = make_pair(collection, "q1", "a"), make_pair(collection, "q2", "a")
    queue.save(alice, first, queue.Submission(grade=grade(collection, "1")), now=NOW)
    queue.save(alice, second, queue.Submission(reason="broken"), now=NOW)
    adjudicate(make_pair(collection, "q2", "d"), grade(collection, "2"), reason="clear", actor=None)
    queue.retire([make_pair(collection, "q1", "b").pk], now=NOW)
    assert described(holes(collection, bm25, 2)) == [
        ("q1", 2, [(2, "b", False, True)]),
        ("q2", 2, [(2, "a", True, False)]),
    ]
    assert [of.new for of in holes(collection, bm25, 3)] == [1, 0]


def test_holes_are_wanted_in_one_call_and_retired_ones_are_not(collection):
    dense = collection.systems.get(name="dense")
    queue.retire([make_pair(collection, "q1", "b").pk], now=NOW)
    assert want_holes(collection, dense, 3, 2) == 4  # two of d, two of a
    assert want_holes(collection, dense, 3, 2) == 0
    depths = dict(Assignment.objects.values_list("pair__document__key", "depth"))
    assert depths == {"d": 2, "a": 3}


def test_holes_of_more_queries_cost_no_more_database_queries(collection, django_assert_num_queries):
    bm25 = collection.systems.get(name="bm25")
    for queries in ("q1", "q2"):
        with django_assert_num_queries(6):
            holes(collection, bm25, 3)
        if queries == "q1":
            make_ranking(collection, "bm25", "q2", "abcd")

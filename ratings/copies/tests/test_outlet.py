"""Records -> rows, and back again."""

import io

import pytest

from ratings.copies import rows
from ratings.desk import queue
from ratings.formats import tables, trec
from ratings.formats.registry import BY_NAME
from ratings.formats.source import Source
from ratings.importing import intake
from ratings.models import System
from ratings.tests.cast import NOW, grade, make_collection, make_pair, make_ranking, make_rater

pytestmark = pytest.mark.django_db


def source(text: str) -> Source:
    return Source("file", io.BytesIO(text.encode()))


def run_text(system: System) -> str:
    return "".join(trec.write_run(rows.run(system)))


def ratings_text(collection) -> str:
    return "".join(tables.write("ratings", rows.ratings(collection, BY_NAME["csv"])))


def test_a_run_is_ranked_from_one_in_the_order_of_the_queries_with_exact_scores():
    collection = make_collection()
    make_ranking(collection, "bm25", "q2", "b", [0.1 + 0.2])
    make_ranking(collection, "bm25", "q1", "cab", [3.0, 3.0, -1e-7])
    assert run_text(System.objects.get()) == (
        "q1 Q0 c 1 3.0 bm25\nq1 Q0 a 2 3.0 bm25\nq1 Q0 b 3 -1e-07 bm25\nq2 Q0 b 1 0.30000000000000004 bm25\n"
    )


def test_results_without_scores_get_falling_ones():
    collection = make_collection()
    ranking = make_ranking(collection, "bm25", "q1", "ab")
    ranking.scores = None
    ranking.save()
    assert [row.score for row in rows.run(System.objects.get())] == [1.0, 0.5]


def test_ratings_hold_the_present_state_in_the_order_of_the_keys():
    collection = make_collection()
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    pair = make_pair(collection, "q2", "b", wanted=2)
    queue.save(bob, pair, queue.Submission(reason="broken", comment='a "gap"', seconds=3), now=NOW)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "2"), seconds=4.5), now=NOW)
    queue.save(
        alice, pair, queue.Submission(grade=grade(collection, "-1"), base_revision=1, seconds=2.25), now=NOW
    )
    queue.save(alice, make_pair(collection, "q1", "c"), queue.Submission(grade=grade(collection, "0")), now=NOW)
    assert ratings_text(collection) == (
        "query,document,rater,grade,reason,comment,seconds,rated_at\r\n"
        "q1,c,alice,0,,,,2026-03-02T09:00:00+00:00\r\n"
        "q2,b,alice,-1,,,2.25,2026-03-02T09:00:00+00:00\r\n"
        'q2,b,bob,,broken,"a ""gap""",3.0,2026-03-02T09:00:00+00:00\r\n'
    )


def test_ratings_of_two_queries_with_one_text_cannot_be_exported_by_it():
    collection = make_collection()
    collection.queries.update(text="same")
    with pytest.raises(ValueError, match="by their text, and q1, q2 have the same: 'same'"):
        list(rows.ratings(collection, BY_NAME["quepid-book"]))


def test_an_undone_grade_is_not_exported_and_gives_its_seconds_back():
    collection = make_collection()
    alice = make_rater(collection, "alice")
    pair = make_pair(collection, "q1", "a")
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "2"), seconds=4.5), now=NOW)
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "3"), base_revision=1, seconds=1), now=NOW)
    queue.undo(alice, now=NOW)
    (row,) = rows.ratings(collection, BY_NAME["csv"])
    assert (row.grade, row.seconds) == (2, 4.5)
    queue.undo(alice, now=NOW)
    assert list(rows.ratings(collection, BY_NAME["csv"])) == []


def test_an_export_costs_two_queries_for_each_query_and_two_more(django_assert_num_queries):
    collection = make_collection()
    intake.import_qrels(collection, [source("q1 0 a 1\nq1 0 b 1\nq2 0 a 1\n")])
    intake.import_run(collection, [source("q1 Q0 a 1 2 s\nq1 Q0 b 2 1 s\nq2 Q0 a 1 2 s\n")])
    with django_assert_num_queries(2 + 2 * 2):
        list(rows.ratings(collection, BY_NAME["csv"]))
    system = System.objects.get()
    with django_assert_num_queries(1 + 2):
        list(rows.run(system))

"""What the packed arrays refuse, and how they are kept."""

import numpy as np
import pytest

from evaluation.measures import Judgments, Rankings


def test_judgments_come_in_any_order():
    judgments = Judgments(2, [1, 0, 1], [3, 9, 2], [0.5, 1, -2])
    assert judgments.query.tolist() == [0, 1, 1]
    assert judgments.document.tolist() == [9, 2, 3]
    assert judgments.grade.tolist() == [1, -2, 0.5]
    assert judgments.count.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, [1, 0, 1], [4, 4, 4], [1, 2, 3]), "document 4 is judged twice for query 1"),
        ((1, [0], [4], [np.nan]), "a grade is not finite"),
        ((1, [1], [4], [1]), "a query is not from 0 to 0"),
        ((1, [-1], [4], [1]), "a query is not"),
        ((1, [0], [-4], [1]), "a document is not"),
        ((1, [0], [1 << 40], [1]), "a document is not from 0 to 1099511627775"),
        ((1 << 23, [], [], []), "too many"),
    ],
)
def test_bad_judgments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Judgments(*arguments)


def test_arrays_are_kept_in_one_width_whatever_they_come_in():
    narrow = Judgments(3, np.array([2, 0], np.int8), np.array([7, 9], np.uint32), np.array([1, 2], np.int16))
    assert [narrow.query.tolist(), narrow.document.tolist(), narrow.grade.tolist()] == [[0, 2], [9, 7], [2, 1]]
    for judgments in (narrow, Judgments(0, [], [], [])):
        kept = (judgments.query, judgments.document, judgments.key, judgments.grade)
        assert [array.dtype for array in kept] == [np.int64, np.int64, np.int64, np.float64]
    rankings = Rankings(np.array([0, 1], np.int8), np.array([7], np.uint32), scores=np.array([1], np.float32))
    wide = (rankings.offsets.dtype, rankings.scores.dtype, rankings.query.dtype)
    assert wide == (np.int64, np.float64, np.int64)
    assert rankings.documents.dtype == np.uint32  # they are many


def test_judgments_hold_the_greatest_numbers_that_they_can():
    last = (1 << 40) - 1
    judgments = Judgments((1 << 23) - 1, [(1 << 23) - 2, 0, 0], [last, last, 0], [1, 2, 3])
    assert judgments.document.tolist() == [0, last, last]
    assert judgments.grade.tolist() == [3, 2, 1]


def test_what_is_remembered_is_made_once_and_never_lost_for_who_asked():
    judgments, made = Judgments(1, [], [], []), []
    for key in [*range(40), 39, 38]:
        assert judgments.remember(key, lambda key=key: made.append(key) or key * 2) == key * 2
    assert made == list(range(40))
    judgments.remember(0, lambda: made.append("again"))
    assert made[-1] == "again"  # not kept without end


def test_without_being_told_a_ranking_is_present_where_it_has_documents():
    assert Rankings([0, 0, 2], [5, 6]).present.tolist() == [False, True]


def test_one_query_can_be_taken_out():
    judgments = Judgments(3, [1, 1, 2], [5, 6, 5], [1, 2, 3]).only(1)
    assert (judgments.queries, judgments.document.tolist(), judgments.grade.tolist()) == (1, [5, 6], [1, 2])
    rankings = Rankings([0, 1, 3, 3], [9, 5, 6], scores=[1, 3, 2], tiebreak=[0, 1, 2])
    assert rankings.only(1).documents.tolist() == [5, 6]
    assert rankings.only(1).scores.tolist() == [3, 2]
    assert rankings.only(1).tiebreak.tolist() == [1, 2]
    assert rankings.only(2).present.tolist() == [False]
    bare = Rankings([0, 1, 1], [9], present=[True, True])
    assert [bare.only(0).documents.tolist(), bare.only(0).scores, bare.only(0).tiebreak] == [[9], None, None]
    assert bare.only(1).present.tolist() == [True]  # there, and empty


def test_the_judgments_of_some_queries_can_be_replaced():
    judgments = Judgments(4, [0, 1, 1, 3], [5, 5, 6, 7], [1, 2, 3, 4])
    renewed = judgments.renewed(np.array([3, 1]), Judgments(2, [1, 0, 0], [8, 9, 5], [5, 6, 7]))
    assert renewed.queries == 4
    assert renewed.query.tolist() == [0, 1, 3, 3]
    assert renewed.document.tolist() == [5, 8, 5, 9]
    assert renewed.grade.tolist() == [1, 5, 7, 6]


RANKINGS = Rankings(
    [0, 3, 3, 4, 6],
    [9, 5, 6, 5, 7, 8],
    scores=[3, 2, 1, 1, 5, 4],
    tiebreak=[0, 1, 2, 3, 4, 5],
    present=[True, True, True, True],
)


def columns(rankings):
    return [getattr(rankings, name).tolist() for name in ("offsets", "documents", "scores", "tiebreak", "present")]


def test_rankings_can_end_at_a_cutoff():
    top = [[0, 2, 2, 3, 5], [9, 5, 5, 7, 8], [3, 2, 1, 5, 4], [0, 1, 3, 4, 5], [True] * 4]
    assert columns(RANKINGS.top(2)) == top
    bare = Rankings(RANKINGS.offsets, RANKINGS.documents).top(1)
    assert (bare.documents.tolist(), bare.scores, bare.tiebreak) == ([9, 5, 7], None, None)


def test_some_queries_can_be_taken_out_in_any_order():
    some = [[0, 2, 2, 5], [7, 8, 9, 5, 6], [5, 4, 3, 2, 1], [4, 5, 0, 1, 2], [True] * 3]
    assert columns(RANKINGS.of(np.array([3, 1, 0]))) == some
    assert columns(RANKINGS.of(np.array([], int))) == [[0], [], [], [], []]
    bare = Rankings(RANKINGS.offsets, RANKINGS.documents).of(np.array([2, 1]))
    assert (bare.documents.tolist(), bare.scores, bare.tiebreak) == ([5], None, None)
    assert bare.present.tolist() == [True, False]

"""Segments of queries, and what two systems differ by on them: worked by hand, and held against SciPy."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evaluation import scores
from evaluation.comparing import segments
from evaluation.comparing.segments import LENGTH, TAG
from evaluation.measures import Judgments, Rankings, parse_measure
from evaluation.record.cache import Columns
from evaluation.results.comparison import compared


def frame(texts=None, tags=None) -> pd.DataFrame:
    n = next(len(given) for given in (texts, tags) if given is not None)
    return pd.DataFrame({"text": texts or ["a"] * n, "tags": tags or [()] * n})


def named(queries: pd.DataFrame) -> dict[str, list[int]]:
    """The rows of each segment, by its key."""
    return {each.key: np.flatnonzero(each.members).tolist() for each in segments.segments(queries)}


def test_queries_that_are_all_alike_make_no_segment():
    assert named(frame(texts=["a b", "c d"], tags=[("x",), ("x",)])) == {}
    assert named(frame(texts=[], tags=[])) == {}


def test_a_query_is_in_the_segment_of_each_of_its_tags_and_those_without_one_in_theirs():
    queries = frame(tags=[("b", "a"), ("b",), (), ("b", "b")])
    assert list(named(queries).items()) == [("tag:b", [0, 1, 3]), ("tag:a", [0]), ("tag:", [2])]
    assert [each.title for each in segments.segments(queries)] == ["tag b", "tag a", "no tag"]


def test_a_tag_that_every_query_has_is_no_segment():
    assert list(named(frame(tags=[("all", "a"), ("all",)]))) == ["tag:a"]


def test_the_tags_with_most_queries_are_segments_and_the_others_are_counted(monkeypatch):
    monkeypatch.setattr(segments, "MOST_TAGS", 2)
    queries = frame(tags=[("c", "a"), ("c", "b"), ("b",), ("d",)])
    assert list(named(queries)) == ["tag:b", "tag:c"]  # two queries each; a and d have one
    assert segments.tags_left_out(queries) == 2
    assert segments.tags_left_out(frame(tags=[("a",), ()])) == 0


def test_lengths_are_in_words_and_in_the_same_bands_for_every_collection():
    texts = [" ".join(["w"] * n) for n in (0, 1, 2, 3, 4, 5, 6, 8, 9, 13, 14, 20, 21, 99)]
    assert named(frame(texts=texts)) == {
        "length:0 words": [0],
        "length:1 word": [1],
        "length:2 words": [2],
        "length:3 words": [3],
        "length:4 to 5 words": [4, 5],
        "length:6 to 8 words": [6, 7],
        "length:9 to 13 words": [8, 9],
        "length:14 to 20 words": [10, 11],
        "length:21 words or more": [12, 13],
    }


# Two documents, a better (2) and a worse one (1): who has the worse one first scores SWAPPED.
SECOND = 1 / np.log2(3)
SWAPPED = (1 + 2 * SECOND) / (2 + SECOND)
LOSS = SWAPPED - 1


def pair(swapped_by_other: list[bool], undefined=()):
    """A baseline that is always right, a system that is not; `undefined` queries have nothing to find."""
    n = len(swapped_by_other)
    grades = [(q, d, (0 if q in undefined else 3 - d)) for q in range(n) for d in (1, 2)]
    query, document, grade = (np.array(column) for column in zip(*grades, strict=True))
    lists = {"a": [[1, 2]] * n, "b": [[2, 1] if swapped else [1, 2] for swapped in swapped_by_other]}
    rankings = {
        name: Rankings(np.arange(n + 1) * 2, np.array(every).ravel(), present=np.ones(n, bool))
        for name, every in lists.items()
    }
    judgments = Judgments(n, query, document, grade.astype(float))
    measure = parse_measure("nDCG@10")
    keys = [f"q{number}" for number in range(n)]
    evaluation = scores.of_arrays("hills", keys, judgments, rankings, scores.Asked(measure))
    return compared(evaluation, "a", ["b"], draws=200)[0]


def part(kind: str, name: str, rows, n: int) -> segments.Segment:
    return segments.Segment(kind, name, np.isin(np.arange(n), list(rows)))


def test_a_segment_has_the_mean_interval_and_tally_of_its_queries_alone():
    swapped = [True] * 9 + [False] * 3 + [False] * 12
    found = pair(swapped, undefined={11, 23})
    first, second = segments.compared(found, [part(TAG, "x", range(12), 24), part(TAG, "y", range(12, 24), 24)])
    differences = np.array([LOSS] * 9 + [0.0] * 2)
    assert (first.queries, first.undefined) == (11, 1)
    assert (first.comparison.wins, first.comparison.ties, first.comparison.losses) == (0, 2, 9)
    assert first.comparison.difference == pytest.approx(9 * LOSS / 11)
    interval = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert (first.comparison.low, first.comparison.high) == pytest.approx((interval.low, interval.high))
    assert first.comparison.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert (second.queries, second.undefined, second.significant) == (11, 1, False)
    assert second.comparison.difference == 0.0


def test_of_a_log_a_segment_has_its_part_of_the_searches_with_the_plain_mean_beside_it():
    """q0 has 100 searches for certain; the 23 others stand for 10 each, as do two that an admin left out."""
    found = pair([True, False, True, False, *[True] * 8, *[False] * 12], undefined={11})
    table, left_out = found.evaluation.table, [{"count": 1, "chance": 0.1, "stratum": ""}] * 2
    queries = table.record.queries.assign(count=[100] + [1] * 23, chance=[1.0] + [0.1] * 23, stratum="")
    of_log = Columns(replace(table.record, queries=queries, left_out_queries=left_out), table.of)
    found = compared(replace(found.evaluation, table=of_log), "a", ["b"], draws=200)[0]
    (row,) = found.rows()
    tail = LOSS * 8 / 22  # q11 has nothing to find; it and those left out have 30 of 250 searches in the tail
    assert row["difference"] == pytest.approx((100 * LOSS + 250 * tail) / 350)
    assert (row["plain"], row["traffic"]) == pytest.approx((LOSS * 9 / 23, 320 / 350))
    (row,) = segments.rows(found, segments.compared(found, [part(TAG, "x", range(12), 24)]))
    # What is left out has no tag: of 210 searches, only the 10 of q11 have no value.
    assert row["difference"] == pytest.approx((100 * LOSS + 110 * LOSS * 8 / 10) / 210)
    assert (row["plain"], row["traffic"]) == pytest.approx((LOSS * 9 / 11, 200 / 210))
    header, rows = segments.table(found, segments.compared(found, [part(TAG, "x", range(12), 24)]))
    assert dict(zip(header, next(iter(rows)), strict=True))["traffic"] == row["traffic"]


def test_verdicts_allow_for_all_segments_that_are_tested():
    # Five of twenty queries lost: p is below 0.05 alone, and no more once four are corrected for.
    swapped = [n < 5 for n in range(20)]
    found = pair(swapped)
    alone = stats.ttest_1samp([LOSS if s else 0.0 for s in swapped], 0).pvalue
    assert 0.0125 < alone < 0.05
    whole = part(TAG, "x", range(20), 20)
    (one,) = segments.compared(found, [whole])
    assert (one.comparison.p_holm, one.comparison.verdict) == (pytest.approx(alone), "lower") and one.significant
    four = segments.compared(found, [whole] * 4)
    assert [each.comparison.p_holm for each in four] == [pytest.approx(4 * alone)] * 4
    assert [each.comparison.verdict for each in four] == ["cannot tell"] * 4


def test_fewer_than_ten_queries_are_not_tested_and_count_for_no_correction():
    found = pair([n % 2 == 0 for n in range(20)])
    small, none = part(LENGTH, "x", range(9), 20), part(LENGTH, "y", (), 20)
    whole = part(LENGTH, "z", range(20), 20)
    first, second, third = segments.compared(found, [small, none, whole])
    assert first.few and first.comparison.p is None and first.comparison.verdict == "cannot tell"
    assert first.comparison.difference == pytest.approx(5 * LOSS / 9) and first.comparison.low is not None
    assert second.comparison.difference is None and second.comparison.why["difference"] == "no query"
    assert not third.few and third.comparison.p_holm == third.comparison.p


def test_the_file_has_a_row_for_each_segment_with_why_a_number_is_missing():
    found = pair([n % 2 == 0 for n in range(20)])
    every = segments.compared(found, [part(TAG, "x", range(9), 20), part(LENGTH, "1 word", range(20), 20)])
    header, rows = segments.table(found, every)
    first, second = (dict(zip(header, row, strict=True)) for row in rows)
    assert (first["kind"], first["segment"], first["queries"], first["p_holm"]) == ("tag", "x", 9, None)
    assert first["why"] == "p: fewer than 10 queries, p_holm: fewer than 10 queries"
    assert (second["baseline"], second["system"], second["verdict"], second["why"]) == ("a", "b", "lower", "")
    assert (second["wins"], second["ties"], second["losses"]) == (0, 10, 10)
    assert second["options"].startswith("lin log2") and second["correction"] == "holm"

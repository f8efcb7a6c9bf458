"""What may stand in one cell."""

import csv
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings import words
from ratings.formats import values


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", "3"), ("-1", "-1"), ("+2", "2"), ("0.5", "0.5"), (".5", "0.5"), ("1e2", "100"), ("1.500", "1.5")],
)
def test_a_grade_is_any_short_decimal(text, value):
    assert values.grade(text) == Decimal(value)


def test_six_digits_before_and_nine_after_the_point_are_kept_exactly():
    for text in ("999999.999999999", "-999999.999999999"):
        assert f"{values.grade(text):f}" == text
    assert f"{values.grade('-0'):f}" == "0.000000000"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1000000", "the grade '1000000' has more than 6 digits before the point"),
        ("1e300", "the grade '1e300' has more than 6 digits before the point"),
        ("0.0000000001", "the grade '0.0000000001' has more than 9 digits after the point"),
        ("0.33333333333333333333333333333333333", "more than 9 digits after the point"),
        ("NaN", "the grade 'NaN' is not a decimal number"),
        ("inf", "is not a decimal number"),
        ("1_0", "is not a decimal number"),
        ("٣", "is not a decimal number"),
        ("1,5", "is not a decimal number"),
        ("", "is not a decimal number"),
    ],
)
def test_other_grades_are_refused_with_the_reason(text, problem):
    with pytest.raises(ValueError, match="the grade") as error:
        values.grade(text)
    assert problem in str(error.value)


def test_only_finite_plain_numbers_are_numbers():
    for text in ("nan", "inf", "-inf", "1e999", "1_0", "0x1", "", "٣"):
        with pytest.raises(ValueError, match="is not a finite number"):
            values.number(text, "score")


def test_a_key_has_no_blanks_and_no_control_characters():
    for key in ("a b", "a\tb", "a\u00a0b", "a\x01b", "a\x7f", ""):
        with pytest.raises(ValueError, match="the document"):
            values.checked_key(key, "document", 500)


def test_keys_are_opaque_and_kept_exactly():
    for key in ["007", "#7", "clueweb09-en0000-00-03430", "VOA#2578#3", "é", "𐀀", "a,b;c", "..", "-"]:
        assert values.checked_key(key, "query", 200) == key


def test_values_are_shown_on_one_line_and_cut():
    assert values.quoted("a\nb\x1b[0m") == r"'a\nb\x1b[0m'"
    assert values.quoted("x" * 100) == "'" + "x" * 59 + "… (100 characters)"


def test_a_key_is_made_of_a_text_that_has_none():
    assert values.key_of_text("red shoes") == "red_shoes"
    assert values.key_of_text("50% a_b\tü\u2003") == "50%25_a%5Fb%09ü%E2%80%83"
    assert values.key_of_text("#10 screw #2") == "%2310_screw_#2"
    long = values.key_of_text("x" * 201)
    assert (len(long), long[:151]) == (183, "x" * 150 + "~")


@given(st.text(min_size=1, max_size=6), st.text(min_size=1, max_size=6))
def test_different_texts_have_different_keys_and_each_is_one(first, second):
    one, other = (values.key_of_text(values.checked_text(t.replace("\0", "-"), "query")) for t in (first, second))
    assert values.checked_key(one, "query", values.QUERY_KEY_LENGTH) == one
    assert (one == other) == (first.replace("\0", "-") == second.replace("\0", "-"))


def test_a_grade_is_plain_without_zeros_behind_its_point():
    texts = ["2", "0.500000000", "-1.250", "100", "0E-9", "1E+2"]
    assert [values.grade_text(Decimal(text)) for text in texts] == ["2", "0.5", "-1.25", "100", "0", "100"]


def test_keys_come_in_the_order_of_their_numbers():
    keys = ["ps5", "q10", "ps", "10", "q2", "2", "shoe2", "shoe"]
    assert sorted(keys, key=words.natural) == ["2", "10", "ps", "ps5", "q2", "q10", "shoe", "shoe2"]


@given(st.lists(st.text(alphabet="a1٣ ", max_size=4)))
def test_all_keys_can_be_ordered(keys):
    """`windows` beside `windows11` once had no order."""
    assert sorted(keys, key=words.natural) == sorted(keys, key=words.natural)


@pytest.mark.parametrize("word", ["bad", "Yes, fully", "x = y", '"top"', 'a "b", c', '5"'])
def test_a_pair_of_a_list_is_read_as_it_was_meant(word):
    assert next(csv.reader([values.listed_pair(word, "2")])) == [f"{word}=2"]

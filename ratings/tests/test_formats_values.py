"""What may stand in one cell."""

from decimal import Decimal

import pytest

from ratings.formats import values


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", "3"), ("-1", "-1"), ("+2", "2"), ("0.5", "0.5"), (".5", "0.5"), ("1e2", "100"), ("1.500", "1.5")],
)
def test_a_grade_is_any_short_decimal(text, value):
    assert values.grade(text) == Decimal(value)


def test_negative_zero_is_zero():
    assert f"{values.grade('-0'):f}" == "0.000000000"


@pytest.mark.parametrize("text", ["999999.999999999", "-999999.999999999"])
def test_six_digits_before_and_nine_after_the_point_are_kept_exactly(text):
    assert f"{values.grade(text):f}" == text


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


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "1_0", "0x1", "", "٣"])
def test_only_finite_plain_numbers_are_numbers(text):
    with pytest.raises(ValueError, match="is not a finite number"):
        values.number(text, "score")


@pytest.mark.parametrize("key", ["a b", "a\tb", "a\u00a0b", "a\x01b", "a\x7f", ""])
def test_a_key_has_no_blanks_and_no_control_characters(key):
    with pytest.raises(ValueError, match="the document"):
        values.checked_key(key, "document", 500)


def test_keys_are_opaque_and_kept_exactly():
    for key in ["007", "#7", "clueweb09-en0000-00-03430", "VOA#2578#3", "é", "𐀀", "a,b;c", "..", "-"]:
        assert values.checked_key(key, "query", 200) == key


def test_values_are_shown_on_one_line_and_cut():
    assert values.shown("a\nb\x1b[0m") == r"'a\nb\x1b[0m'"
    assert values.shown("x" * 100) == "'" + "x" * 59 + "… (100 characters)"

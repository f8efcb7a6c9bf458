"""The usual keys of grades."""

from decimal import Decimal

import pytest

from ratings.desk.keys import keys_of, with_keys
from ratings.models import Grade


def scale(*values: str) -> list[Grade]:
    return [Grade(value=Decimal(value)) for value in values]


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (["0", "1", "2", "3"], ["0", "1", "2", "3"]),
        (["-1", "0", "3"], ["-", "0", "3"]),
        (["-2", "-1", "9"], ["-2", "-", "9"]),
        (["0", "0.5", "1"], ["1", "2", "3"]),
        (["0", "10"], ["1", "2"]),
        ([str(value) for value in range(11)], ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"]),
        ([], []),
    ],
)
def test_a_grade_has_its_own_digit_where_each_has_one(values, keys):
    assert keys_of(scale(*values)) == keys


def test_a_grade_behind_the_tenth_has_no_key():
    assert [key for _, key in with_keys(scale(*map(str, range(12))))][-2:] == ["", ""]

"""The usual keys of grades."""

import re
from decimal import Decimal

import pytest
from django.conf import settings

from ratings.desk.keys import LETTER_KEYS, keys_of, with_keys
from ratings.models import Grade


def scale(*values: str) -> list[Grade]:
    return [Grade(value=Decimal(value)) for value in values]


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (["0", "1", "2", "3"], ["0", "1", "2", "3"]),
        (["-1", "0", "3"], ["-", "0", "3"]),
        (["-2", "-1", "9"], ["-2", "-", "9"]),
        (["0", "25", "50"], ["1", "2", "3"]),
        (["0.5", "1.5"], ["1", "2"]),
        (["1", "1.5"], ["1", "2"]),
        ([str(value) for value in range(1, 11)], ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"]),
        ([], []),
    ],
)
def test_a_grade_has_its_digit_or_the_key_of_its_place(values, keys):
    assert keys_of(scale(*values)) == keys


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (["0", "0.5", "1", "1.5"], ["0", "a", "1", "s"]),
        (["-1", "-0.5", "0", "0.5", "1"], ["-", "a", "0", "s", "1"]),
        ([str(value) for value in range(11)], [*"0123456789", "a"]),
        ([str(value) for value in range(21)], [*"0123456789", *"asdwertvb", "", ""]),
    ],
)
def test_no_key_is_the_digit_of_another_grade(values, keys):
    assert keys_of(scale(*values)) == keys


def test_a_grade_behind_the_tenth_has_no_key():
    assert [key for _, key in with_keys(scale(*map(str, range(10, 22))))][-2:] == ["", ""]


def test_no_other_act_of_the_desk_has_the_letter_of_a_grade():
    script = (settings.BASE_DIR / "static" / "desk" / "keys.js").read_text()
    others = re.findall(r': "(.)"', script[script.index("const OTHERS") : script.index("const ALSO")])
    assert len(others) == 13 and not set(others) & set(LETTER_KEYS)

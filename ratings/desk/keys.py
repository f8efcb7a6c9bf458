"""The default keys of grades. A rater can choose others in their browser (`static/desk/keys.js`)."""

from collections.abc import Sequence
from itertools import zip_longest

from ..models import Grade

MOST = 10  # grades that have a key, where keys go by place
LETTERS = "asdwertvb"  # of the left hand; no other act of the desk has one of them


def keys_of(scale: Sequence[Grade]) -> list[str]:
    """The key of each grade, in the order of the scale.

    The key of a whole number from -9 to 9 is its digit, and - stands for -1. With further negative grades, such as
    -2, each of these has - and then its digit. If other grades are on the scale, such as 0.5 or 100, keys go by
    place, and only the first ten grades have one; but no key may be the digit of another grade. Where it would be,
    the grades without a digit have letters, or "" when these are used up.
    """
    digits = [_digit(grade) for grade in scale]
    if all(digits):
        return digits
    by_place = [str(place % 10) for place in range(1, min(len(digits), MOST) + 1)]
    if all(key == own or key not in digits for key, own in zip(by_place, digits, strict=False)):
        return by_place
    letters = iter(LETTERS)
    return [digit or next(letters, "") for digit in digits]


def _digit(grade: Grade) -> str:
    if grade.value != int(grade.value) or abs(grade.value) > 9:
        return ""
    return "-" if grade.value == -1 else str(int(grade.value))


def with_keys(scale: Sequence[Grade]) -> list[tuple[Grade, str]]:
    """The grades and their keys; "" for a grade without one."""
    return list(zip_longest(scale, keys_of(scale), fillvalue=""))

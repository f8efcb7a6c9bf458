"""The default keys of grades. A rater can choose others in their browser (`static/desk/keys.js`)."""

from collections.abc import Sequence
from itertools import zip_longest

from ..models import Grade

MOST = 10  # grades that have a key, where keys go by place


def keys_of(scale: Sequence[Grade]) -> list[str]:
    """The key of each grade, in the order of the scale.

    If all grades are whole numbers from -9 to 9, a grade's key is its digit, and - stands for -1. With further
    negative grades, such as -2, each of these has - and then its digit. On other scales keys go by place, and only
    the first ten grades have one.
    """
    values = [grade.value for grade in scale]
    if all(value == int(value) and abs(value) <= 9 for value in values):
        return ["-" if value == -1 else str(int(value)) for value in values]
    return [str(place % 10) for place in range(1, min(len(values), MOST) + 1)]


def with_keys(scale: Sequence[Grade]) -> list[tuple[Grade, str]]:
    """The grades and their keys; "" for a grade without one."""
    return list(zip_longest(scale, keys_of(scale), fillvalue=""))

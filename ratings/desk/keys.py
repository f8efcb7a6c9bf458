"""The default keys of grades. A rater can choose others in their browser (`static/desk/keys.js`)."""

from collections.abc import Sequence
from itertools import zip_longest

from ..models import Grade

DIGIT_KEYS = 10  # the keys 1 to 9 and 0: so many grades have one, where keys go by place
LETTER_KEYS = "asdwertvb"  # under the left hand; no other act of the desk has one of them


def keys_of(scale: Sequence[Grade]) -> list[str]:
    """The keys of the grades, in the order of the scale. If there are fewer keys, the last grades have none.

    1. Whole numbers from -9 to 9 have their digits: 2 for 2, - alone for -1, and -2 (two keystrokes) for -2. The
       script waits for the digit after a minus, and takes the minus for -1 if none comes.
    2. Where a grade has no digit, as on the scale 0, 0.5, 100, keys go by place: 1, 2, 3, and 0 for the tenth.
    3. Where a key by place would be the digit of another grade, as on 0, 0.5, 1, each grade with a digit keeps it,
       and the others have letters, or "" when these are used up.
    """
    digits = [_digit(grade) for grade in scale]
    if all(digits):
        return digits
    by_place = [str(place % 10) for place in range(1, min(len(digits), DIGIT_KEYS) + 1)]
    # Such as on 0, 0.5, 1: the keys by place are 1, 2, 3, and whoever presses 1 for the grade 1 would give 0.
    misleads = any(key != digit and key in digits for key, digit in zip(by_place, digits, strict=False))
    if not misleads:
        return by_place
    letters = iter(LETTER_KEYS)
    return [digit or next(letters, "") for digit in digits]


def _digit(grade: Grade) -> str:
    if grade.value != int(grade.value) or abs(grade.value) > 9:
        return ""
    return "-" if grade.value == -1 else str(int(grade.value))


def with_keys(scale: Sequence[Grade]) -> list[tuple[Grade, str]]:
    """The grades and their keys; "" for a grade without one."""
    return list(zip_longest(scale, keys_of(scale), fillvalue=""))

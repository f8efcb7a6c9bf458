"""Cells of a text table as numbers, column by column and without a string for any of them.

A cell is where its bytes begin and how many they are. Bytes are read eight at a time, as 64-bit numbers, at places
that need not be aligned. Little-endian: the first byte of a cell is the lowest of its word.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

# Room around the text, so that a word may begin before it and a long cell may be read past its end.
BEFORE, AFTER = 32, 1 << 10

BLANK, TAB, NEWLINE, POINT, MINUS, COMMENT = b" \t\n.-#"

_LOW = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)  # the first bytes of a word
_HIGH = ~_LOW[::-1]  # its last bytes
_ONES = np.uint64(0x0101010101010101)
_TOPS = _ONES << np.uint64(7)
_ZEROS, _POINTS = _ONES * np.uint64(ord("0")), _ONES * np.uint64(POINT)
_NINE_IS_MOST = _ONES * np.uint64(0x7F - 9)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_TENS = 10.0 ** np.arange(23)  # those that a double holds exactly
_SPLIT = 134217729.0  # 2**27 + 1: cuts a double into halves whose products are exact (Dekker 1971)
DIGITS = 24  # the longest number that is read by words
_EXACT = np.uint64(1 << 53)

_unseen = re.compile(r"[^\S \t\n]|\x7f")


class Irregular(Exception):
    """The text is not of the plain shape that this way of reading is for. That says nothing against the text."""


@dataclass(frozen=True, eq=False)
class Column:
    """Cells, one a line. `words[i]` are the eight bytes from byte i on."""

    words: np.ndarray
    start: np.ndarray  # int64[n]
    length: np.ndarray  # int64[n]

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, rows) -> "Column":
        return Column(self.words, self.start[rows], self.length[rows])

    def text(self, row: int) -> bytes:
        start = int(self.start[row])
        return self.words.base[start : start + int(self.length[row])].tobytes()

    @cached_property
    def longest(self) -> int:
        return int(self.length.max(initial=0))

    def word(self, place: int) -> np.ndarray:
        """Bytes 8 * place to 8 * place + 7 of every cell, zeros where it has ended; uint64[n]."""
        word = self.words[self.start + 8 * place if place else self.start]
        if len(self) and self.longest == self.length.min():
            word &= _LOW[min(self.longest - 8 * place, 8)]
        else:
            word &= _LOW[np.clip(self.length - 8 * place, 0, 8)]
        return word

    @property
    def places(self) -> range:
        """The words that the longest cell has."""
        return range((self.longest + 7) // 8)


def columns(words: np.ndarray, count: int) -> list[Column]:
    """The `count` columns of the lines that words.base holds. Irregular where any is not of such a line.

    Each line ends with a newline and has a single blank or tab between its cells, and nothing else that does not
    show.
    """
    text = words.base[BEFORE:-AFTER]
    gaps = np.flatnonzero(text <= BLANK)
    if gaps.size == 0 or gaps.size % count or gaps[-1] != text.size - 1:
        raise Irregular
    gaps += BEFORE
    ends = gaps.reshape(-1, count)
    lines = len(ends)
    if not (words.base[ends[:, -1]] == NEWLINE).all():
        raise Irregular
    # Whatever else is a gap must be a blank or a tab.
    known = lines + np.count_nonzero(text == BLANK)
    if known != gaps.size and known + np.count_nonzero(text == TAB) != gaps.size:
        raise Irregular
    _refuse_unseen(text)
    length = np.empty(gaps.size, np.int64)
    length[0] = gaps[0] - BEFORE
    np.subtract(gaps[1:], gaps[:-1], out=length[1:])
    length[1:] -= 1
    if length.min() < 1:
        raise Irregular
    lengths = length.reshape(-1, count)
    return [Column(words, ends[:, cell] - lengths[:, cell], lengths[:, cell].copy()) for cell in range(count)]


def _refuse_unseen(text: np.ndarray) -> None:
    """Beyond ASCII there are blanks that would part cells, and bytes that are no text."""
    if text.max() < 0x7F:
        return
    try:
        decoded = text.tobytes().decode()
    except UnicodeDecodeError as error:
        raise Irregular from error
    if _unseen.search(decoded):
        raise Irregular


def same_as_before(column: Column) -> np.ndarray:
    """Whether a cell has the same bytes as the one a line above, bool[n - 1]."""
    same = column.length[1:] == column.length[:-1]
    for place in column.places:
        word = column.word(place)
        same &= word[1:] == word[:-1]
    return same


def is_everywhere(column: Column, text: bytes) -> bool:
    """Whether every cell is `text`."""
    if not (column.length == len(text)).all():
        return False
    padded = np.frombuffer(text.ljust(8 * len(column.places), b"\0"), "<u8")
    return all((column.word(place) == padded[place]).all() for place in column.places)


def equal(one: Column, other: Column) -> bool:
    """Whether two columns have the same bytes line by line."""
    return np.array_equal(one.length, other.length) and all(
        np.array_equal(one.word(place), other.word(place)) for place in one.places
    )


def order_of_keys(column: Column) -> np.ndarray:
    """The place of each cell in the order of bytes, int64[n]; equal cells have places in a row."""
    words = [column.word(place).byteswap() for place in column.places]
    place = np.empty(len(column), np.int64)
    if words:
        place[np.lexsort(words[::-1])] = np.arange(len(column))
    return place


def hashed(column: Column) -> np.ndarray:
    """A number for the bytes of each cell, uint64[n]. Different bytes may, rarely, have the same."""
    mixed = column.length.astype(np.uint64)
    for place in column.places:
        if place == 0:
            mixed = _mixed(mixed, column.word(0))
        else:
            rows = np.flatnonzero(column.length > 8 * place)
            mixed[rows] = _mixed(mixed[rows], column[rows].word(place))
    return mixed


def _mixed(mixed: np.ndarray, word: np.ndarray) -> np.ndarray:
    mixed = mixed * _MIX
    mixed ^= word
    mixed *= _MIX
    mixed ^= mixed >> np.uint64(29)
    return mixed


def whole_numbers(column: Column) -> np.ndarray:
    """Digits as numbers, int64[n]. Irregular where a cell is longer than 8 or is not all digits."""
    if column.longest > 8:
        raise Irregular
    digits = column.words[column.start + (column.length - 8)]
    digits ^= _ZEROS
    digits &= _HIGH[column.length]
    if _no_digits(digits).any():
        raise Irregular
    return _eight_digits(digits).view(np.int64)


def decimals(column: Column, read: Callable[[str], float]) -> np.ndarray:
    """Decimal numbers, float64[n], each the double nearest to its text, as float() gives it.

    What is not of the common form, -12.345, is left to `read`.
    """
    alike = _alike(column)
    if alike is not None:
        return alike
    minus = (column.words[column.start] & np.uint64(0xFF)) == MINUS
    length = column.length - minus
    count = -(-min(column.longest, DIGITS) // 8)
    end = column.start + column.length
    mantissa, decimal_places, plain = _mantissa(column.words, end, np.minimum(length, DIGITS), count)
    plain &= length <= DIGITS
    values, sure = _divided(mantissa, decimal_places)
    np.negative(values, out=values, where=minus)
    for row in np.flatnonzero(~(plain & sure)).tolist():
        values[row] = read(column.text(row).decode())
    return values


def _alike(column: Column) -> np.ndarray | None:
    """Decimal numbers of at most eight bytes, without sign, that all have as many decimal places as the first.

    None where they are not: what most programs write can be read in half the time.
    """
    point = column.text(0).find(POINT)
    follow = int(column.length[0]) - 1 - point
    if point < 0 or follow < 1 or column.longest > 8 or column.length.min() < follow + 2:
        return None
    text = column.words[column.start + (column.length - 8)]
    text &= _HIGH[column.length]
    at = np.uint64(8 * (7 - follow))  # the bits before the point
    if ((text >> at) & np.uint64(0xFF) != POINT).any():
        return None
    before = (np.uint64(1) << at) - np.uint64(1)
    digits = (text & before) << np.uint64(8)
    text &= ~(before << np.uint64(8) | np.uint64(0xFF))
    digits |= text
    digits ^= _ZEROS
    digits &= _HIGH[column.length - 1]
    if _no_digits(digits).any():
        return None
    return _eight_digits(digits) / _TENS[follow]


def _mantissa(words: np.ndarray, end: np.ndarray, length: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """Of digits with at most one point: the number without it, how many follow it, and whether it is such."""
    parts = []  # the last word first
    for place in range(count):
        part = words[end - 8 * (place + 1)]
        part &= _HIGH[np.clip(length - 8 * place, 0, 8)]
        parts.append(part)
    mantissa, follow, pointed, plain = np.uint64(0), 0, np.False_, np.True_
    for place, part in enumerate(parts):
        point = _first_point(part)
        here = point != 0
        # What stands before the point moves up by one byte, in this word and in all that come before it.
        moves = (point << np.uint64(1)) - here
        moved = part << np.uint64(8)
        if place:
            moves |= -pointed.astype(np.uint64)
        if place + 1 < count:
            moved |= parts[place + 1] >> np.uint64(56)
        pointed = pointed | here
        moved ^= part
        moved &= moves
        digits = part ^ moved
        digits ^= _ZEROS
        digits &= _HIGH[np.clip(length - pointed - 8 * place, 0, 8)]
        plain = plain & (_no_digits(digits) == 0)
        value = _eight_digits(digits)
        if place == 2:
            plain &= value < 100  # or the number would not fit into 64 bits
        mantissa = mantissa + value * np.uint64(10 ** (8 * place)) if place else value
        follow = follow + here * (8 * place + 7 - (np.bitwise_count(point - here) >> 3))
    plain &= length > pointed  # at least one digit
    plain &= follow < len(_TENS)
    return mantissa, np.minimum(follow, len(_TENS) - 1), plain


def _first_point(word: np.ndarray) -> np.ndarray:
    """The top bit of the lowest byte that is a point; 0 where there is none."""
    rest = word ^ _POINTS
    points = (rest - _ONES) & ~rest & _TOPS
    return points & -points


def _no_digits(digits: np.ndarray) -> np.ndarray:
    """Not 0 where a byte is more than 9."""
    return ((digits + _NINE_IS_MOST) | digits) & _TOPS


def _eight_digits(digits: np.ndarray) -> np.ndarray:
    """The number that eight bytes from 0 to 9 spell, the lowest byte first: pairs, then fours, then all."""
    pairs = digits * np.uint64(10)
    pairs += digits >> np.uint64(8)
    every_fourth = np.uint64(0x000000FF000000FF)
    value = (pairs & every_fourth) * np.uint64(1_000_000 << 32 | 100)
    pairs >>= np.uint64(16)
    pairs &= every_fourth
    pairs *= np.uint64(10_000 << 32 | 1)
    value += pairs
    value >>= np.uint64(32)
    return value


def _divided(mantissa: np.ndarray, decimal_places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """mantissa / 10**decimal_places, rounded once, and whether that is sure."""
    powers = _TENS[decimal_places]
    values = mantissa.astype(np.float64)
    values /= powers
    sure = np.ones(len(values), bool)
    long = np.flatnonzero(mantissa > _EXACT)  # below, both are exact and one division rounds once
    if long.size:
        values[long], sure[long] = _divided_long(mantissa[long], powers[long])
    return values, sure


def _divided_long(mantissa: np.ndarray, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for a mantissa that no double holds: the quotient, and its remainder in a second double."""
    high = mantissa.astype(np.float64)
    low = (mantissa - high.astype(np.uint64)).view(np.int64).astype(np.float64)
    quotient = high / powers
    product = quotient * powers
    remainder = (high - product) - _lost(quotient, powers, product) + low
    correction = remainder / powers
    doubt = np.abs(correction) * 2.0**-40
    values = quotient + correction
    return values, (quotient + (correction - doubt) == values) & (quotient + (correction + doubt) == values)


def _lost(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """What rounding took from the product: a * b - product, exactly (Dekker 1971)."""
    a_high, b_high = (_SPLIT * x - (_SPLIT * x - x) for x in (a, b))
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low

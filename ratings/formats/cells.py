"""Fast reading of whitespace-separated columns: NumPy arrays, without a Python object for each cell.

A column is two arrays: the offset of each cell in the text, and its length. The text is read as overlapping 64-bit
words, one for every byte offset, little-endian: the first byte of a cell is the lowest byte of its word. NumPy
splits the lines and reads the commonest forms of numbers; Arrow reads the others.

pyarrow.csv was measured in place of this module. It takes about 1.4 times the processor time to load a run for an
evaluation (bench/files.py) and is no faster for an import. It also accepts 0x1f as a rank and nan or 1e0005 as a
score, which must be refused.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from . import values

# Bytes of padding before and after the text: a word may begin before it, and a long cell may be read past its end.
BEFORE, AFTER = 32, 1 << 10

BLANK, TAB, NEWLINE, POINT, COMMENT = b" \t\n.#"

_LOW = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)  # the first bytes of a word
_HIGH = ~_LOW[::-1]  # its last bytes
_ONES = np.uint64(0x0101010101010101)
_TOPS = _ONES << np.uint64(7)
_ZEROS = _ONES * np.uint64(ord("0"))
_NINE_IS_MOST = _ONES * np.uint64(0x7F - 9)
_LETTERS = _ONES << np.uint64(6)  # the bit that is set in letters and not in digits, points and signs
_MIX = np.uint64(0x9E3779B97F4A7C15)
_TENS = 10.0 ** np.arange(8)
_INLINE = 12  # bytes: an Arrow string view holds a cell of this length itself

_other_blank = re.compile(r"[^\S \t\n]|\x7f")


class Irregular(Exception):
    """The text is not of the simple shape that this module reads. It may still be valid: use the slow reader."""


@dataclass(frozen=True, eq=False)
class Column:
    """One cell for each line. `words[i]` is bytes i to i + 7 of the text."""

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
        """Bytes 8 * place to 8 * place + 7 of every cell, padded with zeros; uint64[n]."""
        word = self.words[self.start + 8 * place if place else self.start]
        if len(self) and self.longest == self.length.min():
            word &= _LOW[min(self.longest - 8 * place, 8)]
        else:
            word &= _LOW[np.clip(self.length - 8 * place, 0, 8)]
        return word

    @cached_property
    def views(self) -> np.ndarray:
        """Arrow string views, uint64[n, 2]: length and bytes of a cell; of a long one first 4 bytes and offset."""
        half = np.uint64(32)
        views = np.empty((len(self), 2), np.uint64)
        first = self.word(0)
        views[:, 0] = first << half | self.length.view(np.uint64)
        views[:, 1] = first >> half
        if self.longest > 8:
            views[:, 1] |= self.word(1) << half
        if self.longest > _INLINE:
            long = np.flatnonzero(self.length > _INLINE)
            if self.start[long].max() >= 1 << 31:
                raise Irregular
            views[long, 1] = self.start[long].view(np.uint64) << half
        return views

    @property
    def strings(self) -> Any:
        """The cells as an Arrow array of UTF-8 strings."""
        import pyarrow as pa  # takes a sixth of a second, and the commonest files do not need it

        buffers = [None, pa.py_buffer(self.views), pa.py_buffer(self.words.base)]
        return pa.Array.from_buffers(pa.string_view(), len(self), buffers)

    @property
    def places(self) -> range:
        """The numbers of the words that the longest cell has."""
        return range((self.longest + 7) // 8)


def columns(words: np.ndarray, count: int) -> list[Column]:
    """The `count` columns of the text in words.base. Raises Irregular for a line of another shape.

    Each line ends with a newline and has one blank or tab between its cells, and no other invisible character.
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
    # All other gaps must be blanks or tabs.
    known = lines + np.count_nonzero(text == BLANK)
    if known != gaps.size and known + np.count_nonzero(text == TAB) != gaps.size:
        raise Irregular
    _refuse_other_blanks(text)
    length = np.empty(gaps.size, np.int64)
    length[0] = gaps[0] - BEFORE
    np.subtract(gaps[1:], gaps[:-1], out=length[1:])
    length[1:] -= 1
    if length.min() < 1:
        raise Irregular
    lengths = length.reshape(-1, count)
    return [Column(words, ends[:, cell] - lengths[:, cell], lengths[:, cell].copy()) for cell in range(count)]


def _refuse_other_blanks(text: np.ndarray) -> None:
    """Raises Irregular for bytes that are not UTF-8 and for Unicode blanks, which may separate cells."""
    if text.max() < 0x7F:
        return
    try:
        decoded = text.tobytes().decode()
    except UnicodeDecodeError as error:
        raise Irregular from error
    if _other_blank.search(decoded):
        raise Irregular


def same_as_before(column: Column) -> np.ndarray:
    """Whether each cell equals the one on the line above, bool[n - 1]."""
    same = column.length[1:] == column.length[:-1]
    for place in column.places:
        word = column.word(place)
        same &= word[1:] == word[:-1]
    return same


def equal(a: Column, b: Column) -> bool:
    """Whether two columns have the same cells on each line."""
    return np.array_equal(a.length, b.length) and all(
        np.array_equal(a.word(place), b.word(place)) for place in a.places
    )


def order_of_keys(column: Column) -> np.ndarray:
    """The rank of each cell in byte order, int64[n]; equal cells have consecutive ranks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.from_dlpack(pc.rank(column.strings.cast(pa.large_string()))).astype(np.int64)


def hashed(column: Column) -> np.ndarray:
    """A hash of each cell, uint64[n]. It is not cryptographic, and collisions are possible."""
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
    """The cells as numbers, int64[n]. Raises Irregular where a cell is longer than 8 bytes or not all digits."""
    if column.longest > 8:
        raise Irregular
    digits = column.words[column.start + (column.length - 8)]
    digits ^= _ZEROS
    digits &= _HIGH[column.length]
    if _no_digits(digits).any():
        raise Irregular
    return _eight_digits(digits).view(np.int64)


def decimals(column: Column) -> np.ndarray:
    """The cells as numbers, float64[n], each the nearest double, as float() gives it.

    Raises Irregular where a cell is not a decimal number. Arrow alone would also accept nan, inf and exponents of
    any length.
    """
    alike = _alike(column)
    if alike is not None:
        return alike
    import pyarrow as pa
    import pyarrow.compute as pc

    odd = np.zeros(len(column), bool)
    for place in column.places:
        odd |= column.word(place) & _LETTERS != 0
    if odd.any():
        texts = column[odd].strings.cast(pa.large_string())
        if not pc.all(pc.match_substring_regex(texts, rf"\A(?:{values.NUMBER})\z")).as_py():
            raise Irregular
    try:
        numbers = np.from_dlpack(pc.cast(column.strings, pa.float64()))
    except pa.ArrowInvalid as error:
        raise Irregular from error
    if not np.isfinite(numbers).all():
        raise Irregular
    return numbers


def _alike(column: Column) -> np.ndarray | None:
    """The numbers, where all are unsigned, of at most eight bytes and with as many decimal places as the first.

    None where they are not. This form, which most programs write, is read in half the time.
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


def _no_digits(digits: np.ndarray) -> np.ndarray:
    """Words that are not 0 where a byte is more than 9."""
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

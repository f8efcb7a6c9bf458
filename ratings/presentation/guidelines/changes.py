"""The difference between two texts, word by word."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

MOST_LINES = 4_000  # of both texts together; longer texts are shown whole, first the old one
MOST_WORDS = 1_500  # of one change; the words of a longer one are not compared, which would take long

KEPT, ADDED, REMOVED = "kept", "added", "removed"


class Piece(NamedTuple):
    kind: str  # kept, added or removed
    text: str


def changes(old: str, new: str) -> list[list[Piece]]:
    """The changes from `old` to `new`, as the pieces of each paragraph: kept, added or removed text.

    Empty if the texts differ in blank lines at most.
    """
    before, after = _lines(old), _lines(new)
    if before == after:
        return []
    if len(before) + len(after) > MOST_LINES:  # too many to compare: all old ones are removed, all new ones added
        return _changed(before, []) + _changed([], after)
    paragraphs: list[list[Piece]] = []
    # Each opcode: the lines start … end of `before` became the lines new_start … new_end of `after`.
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            paragraphs += [[Piece(KEPT, line)] for line in before[start:end]]
        else:
            paragraphs += _changed(before[start:end], after[new_start:new_end])
    return paragraphs


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _changed(old: Sequence[str], new: Sequence[str]) -> list[list[Piece]]:
    """The paragraphs of replaced lines: paired lines are compared word by word, the rest is shown whole."""
    pairs = list(zip(old, new, strict=False))
    return [
        *(list(_words(before, after)) for before, after in pairs),
        *([Piece(REMOVED, line)] for line in old[len(pairs) :]),
        *([Piece(ADDED, line)] for line in new[len(pairs) :]),
    ]


def _words(old: str, new: str) -> Iterator[Piece]:
    before, after = (re.findall(r"\s+|\w+|[^\w\s]", line) for line in (old, new))
    matcher = SequenceMatcher(None, before, after)
    # Too much to compare, or too little in common to be one sentence that was changed.
    if len(before) + len(after) > MOST_WORDS or matcher.ratio() < 0.4:
        yield from (Piece(REMOVED, old), Piece(ADDED, new))
        return
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        old_words, new_words = "".join(before[start:end]), "".join(after[new_start:new_end])
        pieces = [(KEPT, old_words)] if kind == "equal" else [(REMOVED, old_words), (ADDED, new_words)]
        yield from (Piece(*piece) for piece in pieces if piece[1])

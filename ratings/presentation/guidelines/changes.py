"""The difference between two texts, word by word."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

AROUND = 1  # unchanged paragraphs that are shown before and after a change
LINES = 4_000  # of both texts together; longer texts are shown whole, first the old one
WORDS = 1_500  # of one change; the words of a longer one are not compared, which would take long

KEPT, ADDED, REMOVED = "kept", "added", "removed"


@dataclass(frozen=True)
class Piece:
    kind: str  # kept, added or removed
    text: str


@dataclass(frozen=True)
class Paragraph:
    """A line whose words are marked as kept, added or removed; or a number of unchanged lines left out."""

    pieces: tuple[Piece, ...] = ()
    left_out: int = 0


def changes(old: str, new: str) -> list[Paragraph]:
    """The changed paragraphs with their neighbours; empty where the texts differ in blank lines at most."""
    before, after = _lines(old), _lines(new)
    if len(before) + len(after) > LINES:
        return _changed(before, []) + _changed([], after)
    paragraphs: list[Paragraph] = []
    steps = SequenceMatcher(None, before, after).get_opcodes()
    if all(kind == "equal" for kind, *_ in steps):
        return []
    for place, (kind, start, end, new_start, new_end) in enumerate(steps):
        if kind == "equal":
            paragraphs += _neighbours(before[start:end], first=place == 0, last=place == len(steps) - 1)
        else:
            paragraphs += _changed(before[start:end], after[new_start:new_end])
    return paragraphs


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _neighbours(lines: Sequence[str], *, first: bool, last: bool) -> list[Paragraph]:
    """The unchanged lines next to a change, and the number of those left out."""
    head = 0 if first else AROUND
    tail = 0 if last else AROUND
    if len(lines) <= head + tail:
        return [_whole(KEPT, line) for line in lines]
    shown = [_whole(KEPT, line) for line in lines]
    left_out = Paragraph(left_out=len(lines) - head - tail)
    return [*shown[:head], left_out, *shown[len(lines) - tail :]]


def _changed(old: Sequence[str], new: Sequence[str]) -> list[Paragraph]:
    """The paragraphs of replaced lines: paired lines are compared word by word, the rest is shown whole."""
    pairs = list(zip(old, new, strict=False))
    return [
        *(Paragraph(tuple(_words(before, after))) for before, after in pairs),
        *(_whole(REMOVED, line) for line in old[len(pairs) :]),
        *(_whole(ADDED, line) for line in new[len(pairs) :]),
    ]


def _whole(kind: str, line: str) -> Paragraph:
    return Paragraph((Piece(kind, line),))


def _words(old: str, new: str) -> Iterator[Piece]:
    before, after = re.findall(r"\s+|\w+|[^\w\s]", old), re.findall(r"\s+|\w+|[^\w\s]", new)
    if len(before) + len(after) > WORDS:
        yield from (Piece(REMOVED, old), Piece(ADDED, new))
        return
    matcher = SequenceMatcher(None, before, after)
    if matcher.ratio() < 0.4:  # too little in common to be one sentence that was changed
        yield from (Piece(REMOVED, old), Piece(ADDED, new))
        return
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        old_words, new_words = "".join(before[start:end]), "".join(after[new_start:new_end])
        if kind == "equal":
            yield Piece(KEPT, old_words)
            continue
        if old_words:
            yield Piece(REMOVED, old_words)
        if new_words:
            yield Piece(ADDED, new_words)

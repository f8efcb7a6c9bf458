"""Lines of a run of plain shape, a block at a time: numbers by NumPy, and no object for each line."""

import numpy as np

from . import values
from .cells import AFTER, BEFORE, COMMENT, Column, Irregular, columns, decimals, same_as_before, whole_numbers
from .rows import Stretch
from .source import Block

SHORT = 4  # lines; stretches shorter than this on average are not worth it


def stretches(block: Block) -> list[Stretch]:
    """Raises Irregular where any line is not plainly a result, or the lines are not grouped by query."""
    text = block.lines.replace(b"\r\n", b"\n").removesuffix(b"\r") + b"\n"
    query, _, document, rank, score, system = columns(_words(text), 6)
    refuse_long(query=query, document=document, system=system)
    first = np.append(0, np.flatnonzero(~(same_as_before(query) & same_as_before(system))) + 1)
    if len(query) < SHORT * len(first):
        raise Irregular
    ranks, scores = whole_numbers(rank), decimals(score, score_of)
    documents = text.decode().split()[2::6]
    found = []
    for begin, end in zip(first.tolist(), [*first[1:].tolist(), len(query)], strict=True):
        key = query.text(begin)
        if key[0] == COMMENT:
            raise Irregular
        part = slice(begin, end)
        name = system.text(begin).decode()
        found.append(Stretch(block.first + begin, key.decode(), name, documents[part], ranks[part], scores[part]))
    return found


def _words(text: bytes) -> np.ndarray:
    roomy = np.frombuffer(bytes(BEFORE) + text + bytes(AFTER), np.uint8)
    return np.ndarray(len(roomy) - 7, "<u8", roomy, strides=(1,))


def refuse_long(*, query: Column, document: Column, system: Column | None = None) -> None:
    """Bytes are at least as many as characters, which the limits count. Raises Irregular."""
    limits = [(query, values.QUERY_KEY_LENGTH), (document, values.DOCUMENT_KEY_LENGTH)]
    limits += [(system, values.SYSTEM_NAME_LENGTH)] if system else []
    if any(column.longest > limit for column, limit in limits):
        raise Irregular


def score_of(text: str) -> float:
    """Raises Irregular for what is no score."""
    try:
        return values.number(text, "score")
    except ValueError as error:
        raise Irregular from error

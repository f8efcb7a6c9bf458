"""Fast reading of regular runs, a block of lines at a time, without a Python object for each line."""

import numpy as np

from . import values
from .cells import AFTER, BEFORE, COMMENT, Column, Irregular, columns, decimals, same_as_before, whole_numbers
from .rows import Stretch
from .source import Block

SHORT = 4  # lines; shorter stretches, on average, are no faster than single lines


def stretches(block: Block) -> list[Stretch]:
    """The lines of a block. Raises Irregular where a line has another form or queries are not grouped."""
    text = block.lines.replace(b"\r\n", b"\n").removesuffix(b"\r") + b"\n"
    query, _, document, rank, score, system = columns(_words(text), 6)
    refuse_long(query=query, document=document, system=system)
    first = np.append(0, np.flatnonzero(~(same_as_before(query) & same_as_before(system))) + 1)
    if len(query) < SHORT * len(first):
        raise Irregular
    ranks, scores = whole_numbers(rank), decimals(score)
    documents = document.strings.to_pylist()
    rows = []
    for begin, end in zip(first.tolist(), [*first[1:].tolist(), len(query)], strict=True):
        key = query.text(begin)
        if key[0] == COMMENT:
            raise Irregular
        part = slice(begin, end)
        name = system.text(begin).decode()
        rows.append(Stretch(block.first + begin, key.decode(), name, documents[part], ranks[part], scores[part]))
    return rows


def _words(text: bytes) -> np.ndarray:
    roomy = np.frombuffer(bytes(BEFORE) + text + bytes(AFTER), np.uint8)
    return np.ndarray(len(roomy) - 7, "<u8", roomy, strides=(1,))


def refuse_long(*, query: Column, document: Column, system: Column | None = None) -> None:
    """Raises Irregular for cells with more bytes than their limit of characters."""
    limits = [(query, values.QUERY_KEY_LENGTH), (document, values.DOCUMENT_KEY_LENGTH)]
    limits += [(system, values.SYSTEM_NAME_LENGTH)] if system else []
    if any(column.longest > limit for column, limit in limits):
        raise Irregular

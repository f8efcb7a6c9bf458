"""Keys of documents by pk."""

from collections.abc import Iterable

import numpy as np

from ratings.models import Document

from ..measures.arrays import distinct

# SQLite takes at most 32,766 parameters in one statement.
KEYS_AT_A_TIME = 20_000


def document_keys(pks: Iterable[int]) -> dict[int, str]:
    """The key of each document by pk. One database query for each 20,000."""
    pks = list(pks)
    keys = {}
    for start in range(0, len(pks), KEYS_AT_A_TIME):
        chunk = Document.objects.filter(pk__in=pks[start : start + KEYS_AT_A_TIME])
        keys.update(chunk.values_list("pk", "key"))
    return keys


class Keys:
    """The keys of many documents, in one byte string to save memory. One database query for each 20,000.

    ValueError where a document was deleted meanwhile.
    """

    def __init__(self, pks: Iterable[np.ndarray]) -> None:
        self._pks = distinct(np.concatenate([np.empty(0, np.int64), *map(distinct, pks)]))
        keys, ends = [], []
        for start in range(0, len(self._pks), KEYS_AT_A_TIME):
            chunk = self._pks[start : start + KEYS_AT_A_TIME].tolist()
            known = document_keys(chunk)
            if len(known) < len(chunk):
                raise ValueError("documents were deleted meanwhile; do it again.")
            encoded = [known[pk].encode() for pk in chunk]
            keys.append(b"".join(encoded))
            ends.append(np.array([*map(len, encoded)], np.int64))
        self._text = b"".join(keys)
        self._ends = np.append(0, np.cumsum(np.concatenate([np.empty(0, np.int64), *ends])))

    def of(self, pks: np.ndarray) -> list[str]:
        """The key of each document; all must be among the `pks` of __init__."""
        places = np.searchsorted(self._pks, pks)
        begin, end = self._ends[places].tolist(), self._ends[places + 1].tolist()
        return [self._text[first:last].decode() for first, last in zip(begin, end, strict=True)]

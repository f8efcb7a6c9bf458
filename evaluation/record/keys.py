"""Keys of documents by pk."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

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
    """The keys of many documents, packed to save memory. One database query for each 20,000.

    ValueError where a document was deleted meanwhile.
    """

    def __init__(self, pks: Iterable[np.ndarray]) -> None:
        self._pks = distinct(np.concatenate([np.empty(0, np.int64), *map(distinct, pks)]))
        chunks = []
        for start in range(0, len(self._pks), KEYS_AT_A_TIME):
            chunk = self._pks[start : start + KEYS_AT_A_TIME].tolist()
            known = document_keys(chunk)
            if len(known) < len(chunk):
                raise ValueError("documents were deleted meanwhile; do it again.")
            chunks.append(pa.array([known[pk] for pk in chunk], pa.large_string()))
        self._keys = pa.concat_arrays([pa.array([], pa.large_string()), *chunks])

    def of(self, pks: np.ndarray) -> list[str]:
        """The key of each document; all must be among the `pks` of __init__."""
        return self._keys.take(np.searchsorted(self._pks, pks)).to_pylist()

"""Rows and answers, as Python and as frames of pandas, which is imported only where a frame is asked for."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .wire import Wire

if TYPE_CHECKING:
    import pandas

ROW_LISTS = ("results", "anchors", "nights")  # what an answer has one of
RESULT_NAMES = ("measure", "baseline", "system")
PER_QUERY_KEYS = ("per_query", "why_per_query", "lowest_per_query", "highest_per_query")


class Rows:
    """A list of the server, which comes page by page while it is read, each time anew."""

    def __init__(self, wire: Wire, path: str, limit: int = 1_000, **parameters: Any) -> None:
        self._wire, self._path, self._parameters = wire, path, parameters | {"limit": limit}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        cursor = None
        while True:
            page = self._wire.get(self._path, cursor=cursor, **self._parameters).json()
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def frame(self) -> "pandas.DataFrame":
        import pandas

        return pandas.DataFrame(list(self))


class Answer(dict[str, Any]):
    """The document of an evaluation, comparison, gate or watch, with the options that made its numbers."""

    def frame(self) -> "pandas.DataFrame":
        """A row for each system and measure, each pair, each baseline of a gate, or each night."""
        import pandas

        rows = next(self[name] for name in ROW_LISTS if name in self)
        return pandas.json_normalize([{k: v for k, v in row.items() if k not in PER_QUERY_KEYS} for row in rows])

    def per_query(self) -> "pandas.DataFrame":
        """A row for each query, and a column for each measure and system or pair. It needs per_query=True."""
        import pandas

        columns = {}
        for result in self["results"]:
            columns[tuple(result[name] for name in RESULT_NAMES if name in result)] = result["per_query"]
        return pandas.DataFrame(columns, dtype=float)


def is_frame(given: Any) -> bool:
    return hasattr(given, "columns") and not isinstance(given, Mapping)

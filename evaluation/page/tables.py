"""Long tables that are searched and sorted by parameters of the address, without a script."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

AT_ONCE = 100  # rows on a page

Row = TypeVar("Row")
Columns = Sequence[tuple[str, str, bool]]  # name in the address, text, whether it holds numbers


def heads(columns: Columns, sort: str | None = None) -> list[dict]:
    """The heads of a table. With `sort`, the present order, they are links that sort."""
    if sort is None:
        return [{"text": text, "numeric": numeric} for _, text, numeric in columns]
    return [
        {
            "text": text,
            "numeric": numeric,
            # Numbers are sorted descending first; a second click reverses the order.
            "sort": name if sort == f"-{name}" or (sort != name and not numeric) else f"-{name}",
            "state": {name: "ascending", f"-{name}": "descending"}.get(sort, "none"),
        }
        for name, text, numeric in columns
    ]


def ordered(rows: Iterable[Row], value: Callable[[Row], object], descending: bool) -> list[Row]:
    """The rows sorted by a value, stably. Rows without one (None) come last in both directions."""
    rows = list(rows)
    known = sorted((row for row in rows if value(row) is not None), key=value, reverse=descending)
    return known + [row for row in rows if value(row) is None]


def matches(q: str, key: str, text: str) -> bool:
    """Whether the key or the text of a query contains `q`, in any case."""
    return q.casefold() in f"{key}\n{text}".casefold()

"""Long tables that are searched and sorted by parameters of the address, without a script."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

ROWS_PER_PAGE = 100

Row = TypeVar("Row")
Columns = Sequence[tuple[str, str, bool]]  # name in the address, text, whether it holds numbers


def heads(columns: Columns, sort: str | None = None) -> list[dict]:
    """The heads of a table, as the context of its template.

    `sort`: the name of the column by which the table is sorted now, with a "-" before it if descending. Each head
    is then a link that sorts: "state" says how its column is sorted now, "sort" is the order after a click. None:
    the heads are texts without links.
    """
    cells = []
    for name, text, numeric in columns:
        cell = {"text": text, "numeric": numeric}
        descending = f"-{name}"
        if sort == name:
            cell |= {"state": "ascending", "sort": descending}
        elif sort == descending:
            cell |= {"state": "descending", "sort": name}
        elif sort is not None:
            cell |= {"state": "none", "sort": descending if numeric else name}  # numbers: largest first
        cells.append(cell)
    return cells


def ordered(rows: Iterable[Row], values: Mapping[str, Callable[[Row], object]], sort: str) -> list[Row]:
    """The rows sorted stably by the value named in `sort`, descending after a "-"; those without one come last."""
    rows = list(rows)
    value = values[sort.removeprefix("-")]
    with_value = sorted((row for row in rows if value(row) is not None), key=value, reverse=sort.startswith("-"))
    return with_value + [row for row in rows if value(row) is None]


def matches(q: str, key: str, text: str) -> bool:
    """Whether the key or the text of a query contains `q`, in any case."""
    return q.casefold() in f"{key}\n{text}".casefold()

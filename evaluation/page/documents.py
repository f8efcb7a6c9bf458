"""Numbers as JSON documents and CSV tables have them."""

import json
from collections.abc import Iterable, Mapping

from ..scores.evaluation import none_for_nan

Table = tuple[list[str], list[list]]  # a CSV table: the names of the columns, and the rows


def numbers(row) -> dict:
    """The members of a dict, or the fields of a dataclass, as JSON has them."""
    fields = row if isinstance(row, dict) else vars(row)
    return {name: none_for_nan(value) for name, value in fields.items()}


def table_of(header: list[str], rows: Iterable[Mapping]) -> Table:
    """The CSV table of rows by the names of columns. A cell is empty where its row has no such member."""
    return header, [[row.get(name) for name in header] for row in rows]


def in_words(why: Mapping[str, str]) -> str:
    """The reasons of a row as one cell."""
    return ", ".join(f"{name}: {reason}" for name, reason in why.items())


def as_text(document: dict) -> str:
    """The document as JSON text. ValueError for nan, which JSON does not have."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"

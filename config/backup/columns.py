"""Columns of tables as Arrow: one type for each kind of field, whichever database has it."""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.db.models import Field

TIME = pa.timestamp("us", "UTC")
WHOLE = ("AutoField", "BigAutoField", "SmallAutoField", "IntegerField", "BigIntegerField", "SmallIntegerField")
WHOLE += ("PositiveIntegerField", "PositiveBigIntegerField", "PositiveSmallIntegerField")
TEXT = ("CharField", "TextField", "SlugField", "FileField", "FilePathField", "GenericIPAddressField")
TYPES = {
    **dict.fromkeys(WHOLE, pa.int64()),
    **dict.fromkeys(TEXT, pa.string()),
    "BinaryField": pa.binary(),
    "BooleanField": pa.bool_(),
    "DateField": pa.date32(),
    "DateTimeField": TIME,
    "FloatField": pa.float64(),
    "JSONField": pa.string(),
    "UUIDField": pa.string(),  # 32 digits
}


def type_of(field: Field) -> pa.DataType:
    """The type of a field's column. Raises NotImplementedError for a kind that no table has had so far."""
    kind = kind_of(field)
    if kind == "DecimalField":
        return pa.decimal128(_target(field).max_digits, _target(field).decimal_places)
    if kind not in TYPES:
        raise NotImplementedError(
            f"{field}: a backup cannot keep a {kind} yet. Add it to config/backup/columns.py."
        )
    return TYPES[kind]


def kind_of(field: Field) -> str:
    return _target(field).get_internal_type()


def _target(field: Field) -> Field:
    """The field itself or, of a foreign key, the one that it holds values of."""
    while field.remote_field:
        field = field.target_field
    return field


def array(field: Field, values: Iterable[Any]) -> pa.Array:
    """The values of a column, as either database gives them."""
    plain = PLAIN.get(kind_of(field))
    if plain:
        values = [None if value is None else plain(value) for value in values]
    return pa.array(values, type_of(field))


# What the two databases give differently. SQLite has decimals as numbers, whose shortest form is what was written.
PLAIN: dict[str, Callable[[Any], Any]] = {
    "DecimalField": lambda value: value if isinstance(value, Decimal) else Decimal(str(value)),
    "UUIDField": lambda value: value if isinstance(value, str) else value.hex,
}


def rows(batch: pa.RecordBatch) -> Iterator[tuple]:
    """The rows in SQLite's form, which PostgreSQL's COPY accepts, too."""
    return zip(*map(_written, batch.columns), strict=True)


def _written(column: pa.Array) -> list:
    if column.type == TIME:
        text = pc.cast(pc.cast(column, pa.timestamp("us")), pa.string())
        # As Django writes it: with six decimals or with none. Times are compared as text.
        return pc.replace_substring_regex(text, r"\.000000$", "").to_pylist()
    if pa.types.is_decimal(column.type) or pa.types.is_date(column.type):
        return pc.cast(column, pa.string()).to_pylist()
    return column.to_pylist()

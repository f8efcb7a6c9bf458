"""Columns of tables as Arrow arrays, with the same types for SQLite and PostgreSQL."""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.db.models import Field

TIMESTAMP = pa.timestamp("us", "UTC")
INTEGER_FIELDS = (
    "AutoField",
    "BigAutoField",
    "SmallAutoField",
    "IntegerField",
    "BigIntegerField",
    "SmallIntegerField",
)
INTEGER_FIELDS += ("PositiveIntegerField", "PositiveBigIntegerField", "PositiveSmallIntegerField")
TEXT_FIELDS = ("CharField", "TextField", "SlugField", "FileField", "FilePathField", "GenericIPAddressField")
TYPES = {
    **dict.fromkeys(INTEGER_FIELDS, pa.int64()),
    **dict.fromkeys(TEXT_FIELDS, pa.string()),
    "BinaryField": pa.binary(),
    "BooleanField": pa.bool_(),
    "DateField": pa.date32(),
    "DateTimeField": TIMESTAMP,
    "FloatField": pa.float64(),
    "JSONField": pa.string(),
    "UUIDField": pa.string(),  # 32 digits
}


def type_of(field: Field) -> pa.DataType:
    """The Arrow type of a field's column. Raises NotImplementedError for a kind of field that TYPES lacks."""
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
    """The field itself or, for a foreign key, the field that it refers to."""
    while field.remote_field:
        field = field.target_field
    return field


def array(field: Field, values: Iterable[Any]) -> pa.Array:
    """An Arrow array of the values of a column, which may come from either database."""
    convert = CONVERSIONS.get(kind_of(field))
    if convert:
        values = [None if value is None else convert(value) for value in values]
    return pa.array(values, type_of(field))


# Kinds of fields whose values differ between the databases. SQLite returns decimals as numbers; the shortest form
# of such a number is the decimal that was written.
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "DecimalField": lambda value: value if isinstance(value, Decimal) else Decimal(str(value)),
    "UUIDField": lambda value: value if isinstance(value, str) else value.hex,
}


def rows(batch: pa.RecordBatch) -> Iterator[tuple]:
    """The rows in the form that SQLite stores, which PostgreSQL's COPY accepts, too."""
    return zip(*map(_as_stored, batch.columns), strict=True)


def _as_stored(column: pa.Array) -> list:
    if column.type == TIMESTAMP:
        text = pc.cast(pc.cast(column, pa.timestamp("us")), pa.string())
        # As Django writes times into SQLite, which compares them as text: with six decimals or with none.
        return pc.replace_substring_regex(text, r"\.000000$", "").to_pylist()
    if pa.types.is_decimal(column.type) or pa.types.is_date(column.type):
        return pc.cast(column, pa.string()).to_pylist()
    return column.to_pylist()

"""Parquet, by PyArrow, which is imported only when needed, as that takes a fifth of a second."""

import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any
from uuid import UUID

from . import budget, values
from .budget import TooMuch
from .columns import too_wide
from .packing import DAMAGED
from .refusal import Refusal
from .rows import WRITTEN_COLUMNS, RatingLine, RunLine, written_cells
from .source import BLOCK_BYTES, LONGEST_LINE, MOST_COLUMNS, Source, Start, Unopened

ROWS_AT_ONCE = 256  # in memory while reading
LARGEST_ROW_GROUP = 1 << 30  # bytes of a row group, unpacked
LARGEST_ROWS_AT_ONCE = 1 << 28  # bytes of the rows that are in memory
MOST_VALUES = 10_000_000  # in the lists of a row group
ROWS_PER_WRITE = 20_000
FLOATS_EXACT_BELOW = 1 << 53  # a float can be each whole number below it
CURE = "Check that the file is whole, or give the table as CSV."
CELL_CURE = "Correct the cell, or leave out the column."


def is_parquet(start: Start) -> bool:
    return start.data.startswith(b"PAR1")


def records(source: Source) -> Iterator[tuple[int, dict[str, Any]] | Refusal]:
    """The number of each row, from 1, and its cells by column. The last one is a refusal if the file is broken."""
    from pyarrow import ArrowException

    number = 0  # of the last row that was given; a refusal on line 0 is of the file as a whole
    try:
        file = _opened(source)
        if problem := _wrong_in(file):
            raise Unopened(problem, CURE)
        # First by the sizes that the file gives of itself. They may be wrong, so decoded rows are counted, too.
        source.budget.check_unpacking(sum(group.total_byte_size for group in _row_groups(file)))
        checked_columns = [field.name for field in file.schema_arrow if not _is_plain(field.type)]
        for batch in file.iter_batches(ROWS_AT_ONCE, use_threads=False):
            size = _size(batch)
            source.budget.unpack(size)
            if size > LARGEST_ROWS_AT_ONCE:
                yield source.stop(number + 1, "the next rows are too large to be read", CURE)
                return
            for cells in batch.to_pylist():
                number += 1
                yield _plain_row(source, number, cells, checked_columns)
    except TooMuch as error:  # a ValueError, so it comes before the others
        yield source.stop(number + 1, str(error), budget.CURE)
    except Unopened as error:
        yield source.stop(0, *error.args)
    except (ArrowException, OSError, OverflowError, ValueError, *DAMAGED) as error:
        detail = " ".join(str(error).split())[:200].rstrip(".")
        yield source.stop(number + 1, f"the Parquet file is broken or cannot be read ({detail})", CURE)


def _is_plain(kind: Any) -> bool:
    """Whether the cells of a column of this type are whole numbers, true and false, which need no look."""
    from pyarrow import types

    return any(is_known(kind) for is_known in (types.is_integer, types.is_boolean, types.is_null))


def _plain_row(
    source: Source, number: int, cells: dict[str, Any], checked_columns: list[str]
) -> tuple[int, dict[str, Any]] | Refusal:
    """The row, with the cells of `checked_columns` as `_plain` returns them; its refusal where that raises."""
    for name in checked_columns:
        try:
            cells[name] = _plain(cells[name])
        except ValueError as error:
            return source.refusal(number, f"the column {values.quoted(name)} holds {error}", CELL_CURE)
    return number, cells


def _plain(value: Any) -> Any:
    """The value as JSON has it: a text, a number, true, false, None, or a list or an object of such values.

    A whole number has no .0: ids become floats where some are missing. Raises ValueError.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("a text with a NUL, which no database stores")
        if len(value) > LONGEST_LINE:  # as for the lines of other formats
            raise ValueError(f"a text that is longer than {LONGEST_LINE // 1_000_000} MB")
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            raise ValueError("a number that is not finite")
        return int(value) if value.is_integer() and abs(value) < FLOATS_EXACT_BELOW else value
    if isinstance(value, Decimal):
        number = int(value) if value == int(value) else float(value)
        # A float has about 17 digits. Where the value has more, the text keeps all of them.
        return number if Decimal(repr(number)) == value else f"{value:f}"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta | UUID):
        return str(value)
    if isinstance(value, bytes):
        try:
            return _plain(value.decode())
        except UnicodeDecodeError as error:
            raise ValueError("bytes that are no text in UTF-8") from error
    if isinstance(value, int | None):
        return value
    raise ValueError(f"a {type(value).__name__}, which is neither a text nor a number")


def _opened(source: Source) -> Any:
    """The Parquet file, with texts as dictionaries, so that a text repeated in many rows is in memory once.

    Texts in lists are not read so: `_size` counts each repeat of a text only where a whole column is a dictionary.
    The file is opened twice, as the first time shows which columns have texts.
    """
    from pyarrow.parquet import ParquetFile

    # The most bytes of texts (16 MB) and elements of lists (a million) in the metadata; pyarrow refuses more.
    bounds = {"thrift_string_size_limit": 1 << 24, "thrift_container_size_limit": 1 << 20}
    file = ParquetFile(source.seekable_file(), **bounds)
    if file.metadata.num_columns > MOST_COLUMNS:
        return file  # `_wrong_in` refuses it, so it need not be opened again
    text_columns = []
    for column in map(file.schema.column, range(len(file.schema))):
        is_list = column.max_repetition_level > 0
        if column.physical_type == "BYTE_ARRAY" and not is_list:
            text_columns.append(column.path)
    return ParquetFile(source.seekable_file(), read_dictionary=text_columns, **bounds)


def _size(batch: Any) -> int:
    """The bytes of all cells of the batch, and one more for each cell. A repeated text counts each time.

    The one more is for columns without bytes, as of nulls alone, whose cells take memory as Python objects.
    """
    import pyarrow as pa
    from pyarrow import compute

    size = batch.num_rows * batch.num_columns
    columns = list(batch.columns)
    while columns:
        column = columns.pop()
        if pa.types.is_struct(column.type):
            columns += column.flatten()
        elif pa.types.is_dictionary(column.type):  # of texts or bytes, as `_opened` asks for
            lengths = compute.binary_length(column.dictionary).take(column.indices)
            size += compute.sum(lengths).as_py() or 0
        else:
            size += column.nbytes
    return size


def _row_groups(file: Any) -> Iterator[Any]:
    return map(file.metadata.row_group, range(file.metadata.num_row_groups))


def _wrong_in(file: Any) -> str:
    """Why the file cannot be read: too many columns, values or bytes, or two columns of one name; "" if it can."""
    column_count = file.metadata.num_columns
    if column_count > MOST_COLUMNS:
        return f"there are {column_count:,} columns, at most {MOST_COLUMNS:,} are read"
    names = file.schema_arrow.names
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        return f"the column {values.quoted(repeated)} appears twice"
    if problem := too_wide(names):
        return problem
    for group in _row_groups(file):
        if group.total_byte_size > LARGEST_ROW_GROUP:
            return f"a row group holds more than {LARGEST_ROW_GROUP >> 20:,} MB"
        value_count = sum(group.column(i).num_values for i in range(column_count))
        # Only lists have more values than rows and columns. A table without lists may have any number of rows.
        if value_count > max(MOST_VALUES, column_count * group.num_rows):
            return f"a row group holds lists of more than {MOST_VALUES:,} values"
    return ""


def write(kind: str, rows: Iterable[RatingLine | RunLine]) -> Iterator[bytes]:
    """The bytes of a file, in pieces.

    Grades of ratings are decimals and times are in UTC, so that reading gives the same rows again. Grades of
    judgments are floats, since a mean of ratings has more digits than a rating.
    """
    import pyarrow as pa

    types = {
        "rank": pa.int64(),
        "score": pa.float64(),
        # 15 digits, 9 of them decimals, as in the database.
        "grade": pa.float64() if kind == "judgments" else pa.decimal128(15, 9),
        "seconds": pa.float64(),
        "rated_at": pa.timestamp("us", tz="UTC"),
    }
    names = WRITTEN_COLUMNS[kind]
    records = (dict(zip(names, written_cells(kind, row), strict=True)) for row in rows)
    if kind == "judgments":
        records = (record | {"grade": float(record["grade"])} for record in records)
    yield from _written(names, types, records)


def write_objects(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The bytes of a table of a data set with these columns, in pieces. A row may lack a column."""
    import pyarrow as pa

    types = {"tags": pa.list_(pa.string()), "weight": pa.float64(), "score": pa.int64()}
    yield from _written(names, types, rows)


def _written(names: Sequence[str], types: Mapping[str, Any], rows: Iterable[Mapping]) -> Iterator[bytes]:
    """The bytes of a file whose columns are texts, unless `types` has their type. `rows`: the cells by column.

    It is made on disk first, as its index stands at its end.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    schema = pa.schema([(name, types.get(name, pa.string())) for name in names])
    with tempfile.TemporaryFile() as file:
        with ParquetWriter(file, schema, compression="zstd") as writer:
            remaining_rows = iter(rows)
            while batch := list(islice(remaining_rows, ROWS_PER_WRITE)):
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
        file.seek(0)
        while block := file.read(BLOCK_BYTES):
            yield block

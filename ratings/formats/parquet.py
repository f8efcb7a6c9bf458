"""Parquet, by PyArrow. Its import takes a fifth of a second, so only who reads or writes Parquet pays for it."""

import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from . import values
from .refusal import Refusal
from .rows import RatingLine, RunLine
from .source import BLOCK, DAMAGED, Source, Start

MAGIC = b"PAR1"
AT_ONCE = 256  # rows in memory while reading
LARGEST = 1 << 30  # bytes of a row group, unpacked
BATCH = 20_000  # rows written at once
CURE = "Check that the file is whole, or give the table as CSV."


def is_parquet(start: Start) -> bool:
    return start.data.startswith(MAGIC)


def records(source: Source) -> Iterator[tuple[int, dict[str, Any]] | Refusal]:
    """The number of each row, from 1, and its cells by column. Stops where the file is broken."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    number = 0
    try:
        with source.copied() as copy, ParquetFile(copy, thrift_string_size_limit=1 << 24) as file:
            if problem := _wrong_in(file):
                yield source.stop(0, problem, CURE)
                return
            for batch in file.iter_batches(AT_ONCE, use_threads=False):
                if batch.nbytes > LARGEST:
                    yield source.stop(number + 1, "the next rows are too large to be read", CURE)
                    return
                for cells in batch.to_pylist():
                    number += 1
                    yield number, cells
    except (ArrowException, OSError, OverflowError, ValueError, *DAMAGED) as error:
        said = " ".join(str(error).split())[:200].rstrip(".")
        yield source.stop(number + 1, f"the Parquet file is broken or cannot be read ({said})", CURE)


def _wrong_in(file: Any) -> str:
    names = file.schema_arrow.names
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        return f"the column {values.shown(name)} stands twice"
    groups = range(file.metadata.num_row_groups)
    if any(file.metadata.row_group(i).total_byte_size > LARGEST for i in groups):
        return f"a row group holds more than {LARGEST >> 20:,} MB"
    return ""


def write_ratings(rows: Iterable[RatingLine]) -> Iterator[bytes]:
    """Grades as decimals, times in UTC. Reading them gives the same rows again."""
    import pyarrow as pa

    grade, moment = pa.decimal128(15, 9), pa.timestamp("us", tz="UTC")
    types = [*_texts("query", "document", "rater"), ("grade", grade), *_texts("reason", "comment")]
    columns = [*types, ("seconds", pa.float64()), ("rated_at", moment)]
    return _written(pa.schema(columns), (row[1:] for row in rows))


def write_judgments(rows: Iterable[RatingLine]) -> Iterator[bytes]:
    """A mean of ratings has more digits than a rating, so grades are floats."""
    import pyarrow as pa

    schema = pa.schema([*_texts("query", "document"), ("grade", pa.float64())])
    return _written(schema, ((row.query, row.document, float(row.grade)) for row in rows))


def write_run(rows: Iterable[RunLine]) -> Iterator[bytes]:
    import pyarrow as pa

    columns = [*_texts("query", "document"), ("rank", pa.int64()), ("score", pa.float64()), *_texts("system")]
    return _written(pa.schema(columns), (row[1:6] for row in rows))


def _texts(*names: str) -> list[tuple]:
    import pyarrow as pa

    return [(name, pa.string()) for name in names]


def _written(schema: Any, rows: Iterable[tuple]) -> Iterator[bytes]:
    """The bytes of a file, made on disk: what its end says of it is known last."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    rows = iter(rows)
    with tempfile.TemporaryFile() as made:
        with ParquetWriter(made, schema, compression="zstd") as writer:
            while batch := list(islice(rows, BATCH)):
                columns = zip(zip(*batch, strict=True), schema.types, strict=True)
                arrays = [pa.array(column, kind) for column, kind in columns]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        made.seek(0)
        while block := made.read(BLOCK):
            yield block

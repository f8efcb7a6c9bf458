"""A whole data set as BEIR has it: corpus, queries, and qrels by split; in JSON lines and TSV, or in Parquet."""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import PurePosixPath
from typing import Any

from .rows import RatingLine

SPLITS = ("train", "dev", "test")
USUAL_SPLIT = "test"  # of a query without a tag that is the name of a split
QRELS_COLUMNS = ("query-id", "corpus-id", "score")
CORPUS_COLUMNS = ("_id", "title", "text", "url")  # in Parquet
QUERIES_COLUMNS = ("_id", "text", "need", "tags", "weight")  # in Parquet
_PACKED = re.compile(r"\.(gz|zst)$")
_SHARD = re.compile(r"-\d+-of-\d+$")  # as Hugging Face numbers the parts of a table


def part_of(name: str) -> tuple[str, str]:
    """The kind of the rows in a file of a data set, and its split, as in ("ratings", "test"); ("", "") if none."""
    path = PurePosixPath(_PACKED.sub("", name))
    stem = _SHARD.sub("", path.stem)
    if path.suffix in (".jsonl", ".parquet") and stem in ("corpus", "queries"):
        return {"corpus": "documents", "queries": "queries"}[stem], ""
    if path.suffix == ".tsv" or (path.suffix == ".parquet" and path.parent.name in ("default", "qrels")):
        return "ratings", stem
    return "", ""


def is_whole(names: Iterable[str]) -> bool:
    """Whether files with these names have queries, documents and qrels."""
    return {"queries", "documents", "ratings"} <= {part_of(name)[0] for name in names}


def corpus_row(key: str, title: str, body: str, url: str, fields: dict[str, Any]) -> dict[str, Any]:
    """A document. Beside what BEIR reads, it has what an import of documents reads."""
    return fields | ({"url": url} if url else {}) | {"_id": key, "title": title, "text": body}


def query_row(
    key: str, text: str, need: str, tags: list[str], weight: float, fields: dict[str, Any]
) -> dict[str, Any]:
    """A query, with what an import of queries reads."""
    return fields | ({"need": need} if need else {}) | {"tags": tags, "weight": weight, "_id": key, "text": text}


def splits_of(tags: Iterable[str]) -> list[str]:
    """The splits to which a query with these tags belongs."""
    return [split for split in SPLITS if split in tags] or [USUAL_SPLIT]


def qrels_row(line: RatingLine) -> dict[str, Any]:
    """A judgment, whose grade is a whole number. Raises ValueError for a line without a grade."""
    if line.grade is None:
        raise ValueError(f"document {line.document} has no grade")
    return {"query-id": line.query, "corpus-id": line.document, "score": int(line.grade)}


def json_lines(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    for row in rows:
        yield (json.dumps(row, ensure_ascii=False) + "\n").encode()


def qrels_lines(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """The judgments of a split. Their grades are whole numbers."""
    yield _tsv(QRELS_COLUMNS)
    for row in rows:
        yield _tsv([row[name] for name in QRELS_COLUMNS])


def _tsv(cells: Iterable[Any]) -> bytes:
    line = StringIO()
    csv.writer(line, "excel-tab", lineterminator="\n").writerow(cells)
    return line.getvalue().encode()

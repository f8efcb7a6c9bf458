"""Searches in a log: a query and how often it was searched for, from tables, JSON, or a line for each search."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

from . import delimited, header, jsonl, parquet, strict_json, values, xlsx
from .columns import listed, normalised
from .refusal import Option, Refusal
from .registry import unsupported
from .source import Source

# What a column holds -> its usual names, the likeliest first, as `normalised` returns them.
NAMES = {
    "text": [
        "user_query", "query", "queries", "top_queries", "search_query", "search_queries", "search_term",
        "search_terms", "search_phrase", "query_text", "querytext", "keyword", "keywords", "search", "term",
        "text",
    ],
    "count": [
        "count", "counts", "searches", "search_count", "query_count", "frequency", "freq", "occurrences", "volume",
        "search_volume", "doc_count", "clicks", "impressions",
    ],
    "id": ["query_id"],
    "day": ["timestamp", "@timestamp", "date", "day", "datetime", "time"],
    "stratum": [],
}  # fmt: skip
FORMATS = {
    "lines": "a search on each line",
    "csv": "comma-, semicolon- or tab-separated values",
    "jsonl": "JSON objects, one on each line or in a list",
    "parquet": "Parquet",
    "xlsx": "Excel workbook",
}
LONGEST_STRATUM = 100
CURE = "Correct the line, or leave it out."
_counted_line = re.compile(r"\s+([0-9]+) (.*)")  # as `uniq -c` writes it
_day = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Records = Iterator["tuple[int, dict[str, Any]] | Refusal"]


class Search(NamedTuple):
    line: int
    text: str
    searches: int = 1
    stratum: str = ""
    id: str = ""  # of one search, which may stand on several lines; "" where the log has no such ids
    day: str = ""  # in ISO form


def read(source: Source, format: str = "") -> Iterator[Search | Refusal]:
    """The searches of a log, without rows that have no query or no search. Without a format, its content shows it.

    If several columns may have the counts, a refusal asks for it.
    """
    if problem_and_cure := source.wrong or unsupported(source.start):
        problem, *cure = problem_and_cure
        yield source.refusal(0, str(problem), *cure)
        return
    format = format or format_of(source)
    source.notes.append(f"{source.name}: read as {format}, {FORMATS[format]}.")
    if format == "lines":
        yield from _lines(source)
        return
    records = _records(source, format)
    first = list(islice(records, header.SAMPLE))
    rows = [cells for item in first if not isinstance(item, Refusal) for cells in [item[1]]]
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    if not rows:
        yield from (item for item in first if isinstance(item, Refusal))
        return
    try:
        column = _layout(names, source.reading.columns)
    except ValueError as error:
        yield source.stop(1, str(error), Option("columns", {"text": None}))
        return
    if doubt := _doubt(source, column, rows, format):
        yield doubt
        return
    guessed = [f"{role} from {values.quoted(name)}" for role, name in column.items()]
    source.notes.append(f"{source.name}: {', '.join(guessed)}.")
    yield from _searches(source, chain(first, records), column)


def format_of(source: Source) -> str:
    start = source.start
    if parquet.is_parquet(start):
        return "parquet"
    if xlsx.is_xlsx(start):
        return "xlsx"
    if start.text.lstrip().startswith(("{", "[")):
        return "jsonl"
    delimiter = header.delimiter_of(start)
    first = next(iter(header.first_records(start, delimiter)), [])
    chosen = bool(source.reading.columns) or source.reading.header is not None
    if delimiter == header.NONE or (len(first) < 2 and not chosen):
        return "lines"
    return "csv"


def columns_of(source: Source, format: str = "") -> dict[str, str]:
    """The names of the columns and what each of them holds, "" for nothing; {} for a log without columns.

    Nothing else can be read from `source` afterwards.
    """
    format = format or format_of(source)
    if format == "lines" or source.wrong or unsupported(source.start):
        return {}
    first = [item for item in islice(_records(source, format), header.SAMPLE) if not isinstance(item, Refusal)]
    names = list(dict.fromkeys(chain.from_iterable(cells for _, cells in first)))
    try:
        column = _layout(names, source.reading.columns)
    except ValueError:
        column = {}
    if "count" not in source.reading.columns and len(_counts(names)) > 1:
        column.pop("count", None)  # people have to say
    roles = {name: role for role, name in column.items()}
    return {name: roles.get(name, "") for name in names}


# From a file to records


def _records(source: Source, format: str) -> Records:
    if format == "jsonl":
        return map(_unwrapped, jsonl.objects(source, "A line is one JSON object."))
    if format == "parquet":
        return parquet.records(source)
    if format == "xlsx":
        return _with_names(source, xlsx.records(source))
    delimiter = header.delimiter_of(source.start)
    cure = "Each record has as many cells as the header."
    return _with_names(source, delimited.records(source, delimiter, cure))


def _unwrapped(item: Any) -> Any:
    """The record of a line; of a dump of Elasticsearch or OpenSearch, its `_source`."""
    if not isinstance(item, Refusal) and isinstance(item[1].get("_source"), dict):
        return item[0], item[1]["_source"]
    return item


def _with_names(source: Source, records: Iterator) -> Records:
    """The records below the header, their cells by its names; without a header by the numbers of the columns."""
    head = next(records, None)
    if head is None or isinstance(head, Refusal):
        yield from filter(None, [head])
        return
    names = [name.strip() for name in head[1]]
    if not _is_header(source, names):
        yield head[0], dict(zip(map(str, range(1, len(names) + 1)), head[1], strict=True))
        names = [str(number) for number in range(1, len(names) + 1)]
    for item in records:
        yield item if isinstance(item, Refusal) else (item[0], dict(zip(names, item[1], strict=True)))


def _is_header(source: Source, names: Sequence[str]) -> bool:
    if source.reading.header is not None:
        return source.reading.header
    chosen = [name for name in source.reading.columns.values() if name]
    if chosen:
        return not all(map(str.isdecimal, map(str, chosen)))
    return any(normalised(name) in NAMES["text"] for name in names)


# From records to searches


def _layout(names: Sequence[str], chosen: Any) -> dict[str, str]:
    """Role -> the column that holds it: the chosen one, or the first with a usual name. Raises ValueError.

    Without a header, of two columns the one with numbers is found by `_doubt`.
    """
    for role, name in chosen.items():
        if role not in NAMES:
            raise ValueError(f"no column of a log holds the {values.quoted(role)}; it may hold {', '.join(NAMES)}")
        if name and name not in names:
            raise ValueError(f"there is no column {values.quoted(name)}; the columns are {listed(names)}")
    column = {role: name for role, name in chosen.items() if name}
    for role, usual in NAMES.items():
        free = {normalised(name): name for name in reversed(names) if name not in column.values()}
        found = next((free[name] for name in usual if name in free), None)
        if role not in chosen and found is not None:
            column[role] = found
    if "text" not in column and list(names) == ["1", "2"]:
        column |= {"text": "1"}
    if "text" not in column:
        raise ValueError(f"no column holds the query; the columns are {listed(names)}")
    if normalised(column["text"]) != "user_query" and "id" not in chosen:
        column.pop("id", None)  # elsewhere a query has an id, and not each search
    return column


def _counts(names: Iterable[str]) -> list[str]:
    """The columns whose names are usual for counts."""
    return [name for name in names if normalised(name) in NAMES["count"]]


def _doubt(source: Source, column: dict[str, str], rows: list[dict[str, Any]], format: str) -> Refusal | None:
    """The refusal that asks which column has the counts; None where that is clear."""
    chosen = source.reading.columns
    if "count" in chosen or "id" in column:
        return None
    if list(rows[0]) == ["1", "2"] and not chosen:
        return _by_numbers(source, column, rows)
    counts = [name for name in _counts(rows[0]) if name not in chosen.values()]
    if len(counts) > 1:
        problem = f"each of the columns {listed(counts)} may say how often a query was searched for"
        options = [Option("columns", {"count": name}, f"it is {values.quoted(name)}") for name in counts]
        return source.stop(1, problem, *options)
    unknown = [name for name in rows[0] if name not in column.values()]
    numbers = [name for name in unknown if all(_is_count(row.get(name)) for row in rows)]
    if counts or not numbers or format == "jsonl":
        return None
    problem = f"the column {values.quoted(numbers[0])} may say how often a query was searched for"
    does = Option("columns", {"count": numbers[0]}, "it does")
    return source.stop(1, problem, does, Option("columns", {"count": ""}, "each line is one search"))


def _by_numbers(source: Source, column: dict[str, str], rows: list[dict[str, Any]]) -> Refusal | None:
    """Put the column of numbers, of two columns without a header, in `column`. The refusal if neither is one."""
    numbers = [name for name in ("1", "2") if all(_is_count(row.get(name)) for row in rows)]
    if len(numbers) != 1:
        problem = "neither of the two columns has a name, and it is not clear which one has the counts"
        return source.stop(1, problem, Option("columns", {"text": "1", "count": "2"}, "it is the second"))
    column |= {"count": numbers[0], "text": "2" if numbers[0] == "1" else "1"}
    return None


def _is_count(cell: Any) -> bool:
    try:
        return cell is not None and cell != "" and _count(cell) >= 0
    except ValueError:
        return False


def _searches(source: Source, records: Iterable, column: dict[str, str]) -> Iterator[Search | Refusal]:
    text, count, stratum = column["text"], column.get("count"), column.get("stratum")
    id, day = column.get("id"), column.get("day")
    for item in records:
        if isinstance(item, Refusal):
            yield item
            continue
        line, cells = item
        try:
            found = _text(cells.get(text)).strip()
            n = 1 if count is None else _count(cells.get(count))
            if not found or not n:
                continue
            yield Search(
                line,
                values.checked_text(found, "query") if len(found) > values.QUERY_TEXT_LENGTH else found,
                n,
                _text(cells.get(stratum)).strip()[:LONGEST_STRATUM] if stratum else "",
                _text(cells.get(id)) if id else "",
                _iso_day(cells.get(day)) if day else "",
            )
        except ValueError as error:
            yield source.refusal(line, str(error), CURE)


def _text(cell: Any) -> str:
    return cell if isinstance(cell, str) else "" if cell is None else strict_json.text_of(cell)


def _count(cell: Any) -> int:
    """The whole number in a cell, which programs may write as 3.0; 0 for an empty one. Raises ValueError."""
    if isinstance(cell, str):
        cell = cell.strip()
        if cell.isascii() and cell.isdecimal() and len(cell) < 16:
            return int(cell)
        number = values.number(cell, "count") if cell else 0
    else:
        number = cell or 0
    if isinstance(number, list | dict) or number < 0 or number != int(number) or number > 1e15:
        raise ValueError(f"the count {values.quoted(cell)} is not a whole number")
    return int(number)


def _iso_day(cell: Any) -> str:
    found = _day.match(cell) if isinstance(cell, str) else None
    return found[0] if found else ""


def _lines(source: Source) -> Iterator[Search | Refusal]:
    """A search on each line; a number before it, as `uniq -c` writes it, is its count."""
    lines = source.start.text.split("\n")[: header.SAMPLE]
    counted = all(map(_counted_line.fullmatch, filter(None, (line.rstrip("\r") for line in lines[:-1] or lines))))
    of_line: Callable = partial(_of_counted, source) if counted else _of_line
    if counted:
        source.notes.append(f"{source.name}: the number before each query is how often it was searched for.")
    for number, item in enumerate(source.lines()):
        if isinstance(item, Refusal):
            yield item
        elif number == 0 and normalised(item.text) in NAMES["text"]:
            source.notes.append(f"{source.name}: its first line names the column.")
        elif len(item.text) > values.QUERY_TEXT_LENGTH:
            problem = f"the query is longer than {values.QUERY_TEXT_LENGTH:,} characters"
            yield source.refusal(item.number, problem, CURE)
        elif (found := of_line(item)) is not None:
            yield found


def _of_line(line: Any) -> Search | None:
    text = line.text.strip()
    return Search(line.number, text) if text else None


def _of_counted(source: Source, line: Any) -> Search | Refusal | None:
    found = _counted_line.fullmatch(line.text.rstrip())
    if found:
        return Search(line.number, found[2], int(found[1])) if found[2] and int(found[1]) else None
    if not line.text.strip():
        return None
    return source.refusal(line.number, "the line has no number before its query, as the first lines have", CURE)

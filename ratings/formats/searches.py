"""Searches in a log: a query and how often it was searched for, from tables, JSON, or a line for each search."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, NamedTuple

from . import header, parquet, tables, values, xlsx
from .columns import check_chosen, listed, normalised, with_usual_names
from .refusal import Option, Refusal
from .registry import BY_NAME, unsupported
from .rows import rows_or_refusals
from .source import Line, Source
from .strict_json import text_of

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
FORMATS = {"lines": "a search on each line"}
FORMATS |= {name: BY_NAME[name].title for name in ("csv", "jsonl", "parquet", "xlsx")}
LONGEST_STRATUM = 100  # characters; the rest is cut off
CURE = "Correct the line, or leave it out."
_counted_line = re.compile(r"\s+([0-9]+) (.*)")  # as `uniq -c` writes it
_day = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_since_1970 = re.compile(r"([0-9]{10})(?:[0-9]{3})?(?:\.[0-9]+)?")  # seconds, of which 10 digits last until 2286


class NoQueries(Refusal):
    """The refusal of a table in which no column holds queries. Beside another one it can be passed over."""


class Search(NamedTuple):
    line: int
    text: str
    searches: int = 1
    stratum: str = ""
    id: str = ""  # of one search, which may stand on several lines; "" where the log has no such ids
    day: str = ""  # in ISO form


def read(source: Source, format: str = "") -> Iterator[Search | Refusal]:
    """The searches of a log. Rows without a query, and those with the count 0, are left out.

    `format`: a name of FORMATS; "" to recognise it by the first bytes. If no column is known to hold queries, the
    only item is a NoQueries. If it is not clear which column has the counts, the only item is a refusal that asks
    for it.
    """
    if problem_and_cure := source.why_unopened or unsupported(source.start):
        problem, *cure = problem_and_cure
        yield source.refusal(0, str(problem), *cure)
        return
    format = format or format_of(source)
    source.notes.append(f"{source.name}: read as {format}, {FORMATS[format]}.")
    if format == "lines":
        yield from _lines(source)
        return
    _choose_sheet(source, format)
    records = tables.records(format, "searches", source, _has_header)
    # The columns are found by the first records, some of which may be refusals. They are read again below,
    # in front of all others.
    first_items = list(islice(records, header.SAMPLED_RECORDS))
    first_rows = [item[1] for item in first_items if not isinstance(item, Refusal)]  # (line, cells by column)[1]
    if not first_rows:  # columns are looked for in the first records alone, so no later one can be read
        yield from (item for item in first_items if isinstance(item, Refusal))  # which all of them are
        return
    names = list(dict.fromkeys(chain.from_iterable(first_rows)))  # JSON objects may have different ones
    try:
        column = _column_of_each_role(names, source.reading.columns)
    except ValueError as error:
        # None: people have to find the column of the text.
        yield NoQueries(source.name, 1, str(error), (Option("columns", {"text": None}),))
        return
    if refusal := _refusal_if_in_doubt(source, column, first_rows, format):
        yield refusal
        return
    guessed = [f"{role} from {values.quoted(name)}" for role, name in column.items()]
    source.notes.append(f"{source.name}: {', '.join(guessed)}.")
    yield from _searches(source, chain(first_items, records), column)


def format_of(source: Source) -> str:
    """The name of the format, by the first bytes: of a table, or lines of one search each."""
    start = source.start
    if parquet.is_parquet(start):
        return "parquet"
    if xlsx.is_xlsx(start):
        return "xlsx"
    if start.text.lstrip().startswith(("{", "[")):
        return "jsonl"
    return "lines" if header.delimiter_of(start) == header.NO_DELIMITER else "csv"


def columns_of(source: Source, format: str = "") -> dict[str, str]:
    """Name of a column -> the role that it has, such as "count", or ""; {} for a log without columns.

    Nothing else can be read from `source` afterwards.
    """
    format = format or format_of(source)
    if format == "lines" or source.why_unopened or unsupported(source.start):
        return {}
    _choose_sheet(source, format)
    names = tables.columns_of(format, "searches", source, _has_header)
    chosen = source.reading.columns  # role -> the column that people chose for it
    try:
        column = _column_of_each_role(names, chosen)  # role -> its column
    except ValueError:
        column = {}  # no column is known to hold the query
    # People chose no column of counts, and have to say which of several it is.
    if "count" not in chosen and len(_with_names_of_counts(names)) > 1:
        column.pop("count", None)
    role_of_column = {name: role for role, name in column.items()}
    return {name: role_of_column.get(name, "") for name in names}


def _choose_sheet(source: Source, format: str) -> None:
    """Of several sheets, choose the first with a column of queries, unless people chose one. A note says so."""
    heads = xlsx.heads_of(source) if format == "xlsx" and source.reading.sheet is None else {}
    usual_names = {source.reading.columns.get("text"), *NAMES["text"]}
    with_queries = [name for name, head in heads.items() if usual_names & {*head, *map(normalised, head)}]
    if len(heads) > 1 and with_queries:
        sheet = with_queries[0]
        source.reading = replace(source.reading, sheet=sheet)
        passed_over = listed(name for name in heads if name != sheet)
        source.notes.append(f"{source.name}: the sheet {values.quoted(sheet)}; passed over: {passed_over}.")


def _has_header(source: Source, kind: str, rows: list[list[str]]) -> bool:
    """Whether the first record names the columns: as people chose, or if one has a usual name of queries."""
    if source.reading.header is not None:
        return source.reading.header
    chosen = [name for name in source.reading.columns.values() if name and isinstance(name, str)]
    if chosen:
        return not all(name.isdecimal() for name in chosen)
    return bool(rows) and any(normalised(name) in NAMES["text"] for name in rows[0])


# From records to searches


def _column_of_each_role(names: Sequence[str], chosen: Any) -> dict[str, str]:
    """Role -> the column that holds it: the chosen one, or the first with a usual name. Raises ValueError.

    `chosen`: role -> the column that people chose for it; "" if it has none. Without a header, the first of one or
    two columns is taken for the text. Of two, `_refusal_if_in_doubt` then looks at the cells, and may set both
    roles anew in this result.
    """
    check_chosen("column of a log", NAMES, names, chosen)
    column = {role: name for role, name in chosen.items() if name}
    for role, usual_names in NAMES.items():
        candidates = with_usual_names([name for name in names if name not in column.values()], usual_names)
        if role not in chosen and candidates:
            column[role] = candidates[0]
    # Columns without a header have their numbers as names.
    if list(names) in (["1"], ["1", "2"]) and "1" not in column.values():
        column.setdefault("text", "1")
    if "text" not in column:
        raise ValueError(f"no column holds the query; the columns are {listed(names)}")
    if normalised(column["text"]) != "user_query" and "id" not in chosen:
        # Only in logs with a user_query (of User Behavior Insights) is query_id the id of a search. Elsewhere it
        # is that of the query, which many searches share.
        column.pop("id", None)
    return column


def _with_names_of_counts(names: Iterable[str]) -> list[str]:
    """The columns whose names are usual for counts."""
    return [name for name in names if normalised(name) in NAMES["count"]]


def _refusal_if_in_doubt(source: Source, column: dict[str, str], rows: list[dict], format: str) -> Refusal | None:
    """The refusal that asks which column has the counts; None where that is clear.

    `column`: role -> name of the column. Of two columns without names, the one with counts is added to it. `rows`:
    the first ones, with their cells by column.
    """
    chosen = source.reading.columns
    if "count" in chosen or "id" in column:
        return None  # people chose it, or each search has an id and needs no count
    if list(rows[0]) == ["1", "2"] and not chosen:  # columns without a header
        return _add_text_and_counts(source, column, rows)
    # Not those that people chose for another role. (`column` itself already has the first of them as count.)
    named_as_counts = [name for name in _with_names_of_counts(rows[0]) if name not in chosen.values()]
    if len(named_as_counts) > 1:
        problem = f"each of the columns {listed(named_as_counts)} may say how often a query was searched for"
        options = [Option("columns", {"count": name}, f"it is {values.quoted(name)}") for name in named_as_counts]
        return source.stop(1, problem, *options)
    # Where a column has a usual name of counts, no other one may have them. Nor is one asked about in JSON,
    # whose objects often have many whole numbers.
    if named_as_counts or format == "jsonl":
        return None
    # A column of whole numbers that has no role may have the counts, whatever its name.
    for name in rows[0]:
        if name not in column.values() and all(_is_count(row.get(name)) for row in rows):
            problem = f"the column {values.quoted(name)} may say how often a query was searched for"
            it_does = Option("columns", {"count": name}, "it does")
            return source.stop(1, problem, it_does, Option("columns", {"count": ""}, "each line is one search"))
    return None


def _add_text_and_counts(source: Source, column: dict[str, str], rows: list[dict[str, Any]]) -> Refusal | None:
    """Adds to `column` which of two columns without a header has the text and which the counts.

    Returns a refusal, and adds nothing, where both or neither of them hold counts; otherwise None.
    """
    has_counts = {name: all(_is_count(row.get(name)) for row in rows) for name in ("1", "2")}
    if has_counts["1"] == has_counts["2"]:
        problem = "neither of the two columns has a name, and it is not clear which one has the counts"
        # One of the two answers, as an example: people can name the columns the other way round as well.
        it_is_second = Option("columns", {"text": "1", "count": "2"}, "it is the second")
        return NoQueries(source.name, 1, problem, (it_is_second,))
    column |= {"count": "1", "text": "2"} if has_counts["1"] else {"count": "2", "text": "1"}
    return None


def _is_count(cell: Any) -> bool:
    try:
        return cell not in (None, "") and _count(cell) >= 0
    except ValueError:
        return False


def _searches(source: Source, records: Iterable, column: dict[str, str]) -> Iterator[Search | Refusal]:
    """The search of each record with a query and a count other than 0. `column`: role -> name of the column."""

    def search_of(record: tuple[int, dict[str, Any]]) -> Iterator[Search]:
        line, cells = record
        cell = {role: cells.get(name) for role, name in column.items()}
        query = text_of(cell.get("text")).strip()
        number = _count(cell["count"]) if "count" in cell else 1
        if query and number:
            stratum = text_of(cell.get("stratum")).strip()[:LONGEST_STRATUM]
            id, day = text_of(cell.get("id")), _iso_day(cell.get("day"))
            yield Search(line, values.checked_text(query, "query"), number, stratum, id, day)

    return rows_or_refusals(source, records, search_of, CURE)


def _count(cell: Any) -> int:
    """The whole number in a cell, which programs may write as 3.0; 0 for an empty one. Raises ValueError."""
    if isinstance(cell, str):
        cell = cell.strip()
        # Most cells are short whole numbers, for which int() is faster. 15 digits are below the largest count.
        if cell.isascii() and cell.isdecimal() and len(cell) < 16:
            return int(cell)
        number = values.number(cell, "count") if cell else 0
    else:
        number = cell or 0
    # The largest count is 1e15: a float keeps each whole number up to there.
    if isinstance(number, list | dict) or not 0 <= number <= 1e15 or number != int(number):
        raise ValueError(f"the count {values.quoted(cell)} is not a whole number")
    return int(number)


def _iso_day(cell: Any) -> str:
    """The day of a time that begins with it, or of seconds or milliseconds since 1970 (in UTC); "" for others."""
    text = str(cell)
    if day := _day.match(text):
        return day[0]
    since_1970 = _since_1970.fullmatch(text)
    return datetime.fromtimestamp(int(since_1970[1]), UTC).date().isoformat() if since_1970 else ""


def _lines(source: Source) -> Iterator[Search | Refusal]:
    """A search on each line; a number before it, as `uniq -c` writes it, is its count.

    Lines have counts if each of the first ones, by which the format is recognised, begins with a number.
    """
    first_lines = source.start.text.split("\n")[: header.SAMPLED_RECORDS]
    first_lines = first_lines[:-1] or first_lines  # the last one may be cut off, but one is needed
    first_texts = list(filter(None, (line.rstrip("\r") for line in first_lines)))
    are_counted = bool(first_texts) and all(map(_counted_line.fullmatch, first_texts))
    if are_counted:
        source.notes.append(f"{source.name}: the number before each query is how often it was searched for.")

    def search_of(line: Line) -> Iterator[Search]:
        """The search of a line; none for a blank one, for a header and for the count 0.

        Raises ValueError for a line without a count, if the lines have counts (`are_counted`).
        """
        text = line.text.strip()
        if line.number == source.reading.header_line and normalised(text) in NAMES["text"]:
            source.notes.append(f"{source.name}: its first line names the column.")
        elif text and not are_counted:
            yield Search(line.number, values.checked_text(text, "query"))
        elif text:
            count_and_query = _counted_line.fullmatch(line.text.rstrip())
            if count_and_query is None:
                raise ValueError("the line has no number before its query, as the first lines have")
            count, query = int(count_and_query[1]), count_and_query[2]
            if query and count:
                yield Search(line.number, values.checked_text(query, "query"), count)

    return rows_or_refusals(source, source.lines(), search_of, CURE)

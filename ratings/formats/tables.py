"""Tables with named columns: delimited text, a JSON object on each line, Parquet, Excel workbooks.

A record is one row of any kind, or the ratings of several raters for one pair. People choose which column holds
what, or it is guessed from the names.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from ..words import counted
from . import delimited, header, jsonl, parquet, spreadsheet, strict_json, trec, values, xlsx
from .columns import (
    NEEDED,
    RATERS,
    SEVERAL,
    Layout,
    by_position,
    example,
    is_index,
    is_of_pairs,
    layout_of,
    listed,
    names_in,
    usual_role,
)
from .refusal import Cure, Option, Refusal, WrongCell, cure_of
from .rows import (
    WRITTEN,
    DocumentLine,
    RatingLine,
    RunLine,
    Topic,
    checked_id,
    unique_topics,
    written_cells,
)
from .source import LONGEST_NAME, MOST_COLUMNS, Source, Start

CANNOT = "unrateable"  # in place of a grade
FILL_DOWN = Option("fill_down", True, "the query above counts for it")
NO_REASON = "other"  # the reason where a file only says that a pair cannot be judged
YES = {"1", "1.0", "true", "t", "yes", "y", "x"}
NO = {"", "0", "0.0", "false", "f", "no", "n"}
CURE = "Correct the cell."
HEADER = Option("header", "yes", "it names the columns"), Option("header", "no", "it is a row")
WIDTH_CURE = "Leave out the columns that are not needed."
TABLES = {"csv", "jsonl", "parquet", "xlsx"}  # formats
MOST_LAYOUTS = 1_000  # in the cache, for lines with different names


Rows = Iterator[Topic | DocumentLine | RunLine | RatingLine | Refusal]
Records = Iterator[tuple[int, dict[str, Any]] | Refusal]


def read(format: str, kind: str, source: Source) -> Rows:
    """Rows of `kind` from a table. In Parquet and a workbook their line is the number of the row."""
    if format == "jsonl":  # whose objects need not have the same names
        return read_objects(kind, source, _objects(source))
    return _rows(kind, source, _records(format, kind, source), uniform=True)


def read_objects(kind: str, source: Source, records: "Records") -> Rows:
    """Rows of `kind` from (line, JSON object)."""
    return _rows(kind, source, _within_width(source, records), uniform=False)


def sample(format: str, kind: str, source: Source) -> list[dict[str, Any]]:
    """The first records of a table, with their cells by column; none where there is no table."""
    records = _records(format, kind, source) if format in TABLES else ()
    readable = (item for item in records if not isinstance(item, Refusal))
    return [cells for _, cells in islice(readable, header.SAMPLE) if isinstance(cells, dict)]


def _records(format: str, kind: str, source: Source) -> Records:
    if format == "jsonl":
        return _objects(source)
    if format == "parquet":
        return parquet.records(source)
    if format == "xlsx":
        records = xlsx.records(source)
    elif format == "topics":
        records = delimited.records(source, "\t", delimited.WIDTH_CURE)
    else:
        records = _cells(source, kind)
    return _with_names(source, records, kind)


def columns_of(format: str, kind: str, source: Source) -> list[str]:
    """The names of the columns in the first records; none where the file is no table."""
    return list(dict.fromkeys(chain.from_iterable(sample(format, kind, source))))


def layout(kind: str, names: Iterable[str], source: Source, *, wide: bool = True) -> Layout:
    """Which column of `source` holds what. Raises ValueError."""
    names = list(names)
    chosen = source.reading.columns
    if not wide:  # an object without a member that was chosen has no such role
        chosen = {role: _among(names, role, held) for role, held in chosen.items()}
    # A single column holds the queries, whatever its name.
    alone = len(names) == 1 and not usual_role(kind, names[0])
    if not chosen and (source.reading.header is False or alone):
        chosen = by_position(kind, names)
    return layout_of(kind, names, chosen, wide=wide, people=source.reading.raters)


def _among(names: list[str], role: str, held: str | Sequence[str]) -> str | Sequence[str]:
    """What is chosen for `role`, without the columns that are not among `names`."""
    if role in SEVERAL.values():
        return [name for name in names_in(role, held) if name in names]
    return held if held in names or not isinstance(held, str) else ""


def is_delimited(kind: str, start: Start) -> bool:
    """Whether the first line seems to name the columns that rows of `kind` need."""
    return header.is_known(kind, start, NEEDED[kind])


def is_objects(kind: str, start: Start) -> bool:
    """Whether it is JSON, lines or a list, whose first object seems to name what rows of `kind` need.

    An object without others in it is hardly anything else than a row, so that its columns can be chosen.
    """
    first = jsonl.first_object(start)
    if kind == "queries":  # a list of those has a format of its own
        return not jsonl.is_list(start) and "text" in {usual_role(kind, name) for name in first}
    is_flat = not any(isinstance(value, dict | list) for value in first.values())
    return bool(first) and (is_flat or set(NEEDED[kind]) <= {usual_role(kind, name) for name in first})


def _rows(kind: str, source: Source, records: Records, *, uniform: bool) -> Rows:
    rows = _read(kind, source, records, uniform)
    if kind != "queries":
        return rows
    return unique_topics(source, rows, CURE, note=True, columns=True)


def _read(kind: str, source: Source, records: Records, uniform: bool) -> Rows:
    """The rows of all records.

    `uniform`: all records have the columns of the first one. Then columns may be raters, and a layout that the
    first records contradict is refused.
    """
    layouts: dict[tuple, Layout] = {}
    above: dict[str, Any] = {}
    noted = False
    first = list(islice(records, header.SAMPLE)) if uniform else []
    for item in chain(first, records):
        if isinstance(item, Refusal):
            yield item
            continue
        line, cells = item
        names = tuple(cells)
        try:
            if names not in layouts:
                if len(layouts) == MOST_LAYOUTS:
                    layouts.clear()
                layouts[names] = layout(kind, names, source, wide=uniform)
                source.of_pairs |= kind == "documents" and is_of_pairs(kind, names)
                if not noted:
                    _note_guesses(kind, source, layouts[names], uniform=uniform)
                    noted = True
        except ValueError as error:
            option = Option("columns", example(kind))
            if uniform:
                wider = (each for item in first if isinstance(item, Refusal) for each in item.options)
                titled = (each for each in wider if each.name == "header")
                yield source.stop(1, str(error), *titled, option)
                return
            yield source.refusal(line, str(error), option)
            continue
        if uniform and first:
            if doubt := _in_doubt(kind, source, layouts[names], first):
                yield doubt
                return
            first = []
        if source.reading.fill_down:
            above = _filled_down(cells, layouts[names], above)
        try:
            yield from _READERS[kind](source, line, cells, layouts[names])
        except ValueError as error:
            yield source.refusal(line, str(error), *cure_of(error, CURE))


def _filled_down(cells: dict[str, Any], layout: Layout, above: dict[str, Any]) -> dict[str, Any]:
    """The cells that name the query, after filling empty ones with those above."""
    names = [name for role, name in layout.column.items() if role in ("query", "key", "text")]
    for name in names:
        cells[name] = text_of(cells[name]).strip() or above.get(name, "")
    return {name: cells[name] for name in names}


def _note_guesses(kind: str, source: Source, layout: Layout, *, uniform: bool) -> None:
    """Note which columns were guessed. A column that has the name of its role, or only a number, needs no note."""
    guessed = [
        f"{role} from {values.quoted(name)}"
        for role, name in layout.column.items()
        if role != name and not name.isdecimal()
    ]
    if layout.raters:
        raters = counted(len(layout.raters), "column as a rater", "columns as raters")
        guessed.append(f"{raters} ({listed(layout.raters)})")
    if guessed:
        source.notes.append(f"{source.name}: {', '.join(guessed)}.")
    if kind == "queries" and "key" not in layout.column:
        source.notes.append(f"{source.name}: no column holds the key, so each query gets one made of its text.")
    if layout.fields and uniform:
        source.notes.append(f"{source.name}: kept beside the text: {listed(layout.fields)}.")
    if layout.ignored:
        source.notes.append(f"{source.name}: nothing is read from the columns {listed(layout.ignored)}.")


def _in_doubt(kind: str, source: Source, layout: Layout, first: list) -> Refusal | None:
    """The refusal of columns of which people have to say what they hold; None where there are none."""
    if layout.doubtful:
        return source.stop(1, *_raters_in_doubt(layout))
    records = [item for item in first if not isinstance(item, Refusal)]
    keyless = kind == "queries" and "key" not in layout.column and "key" not in source.reading.columns
    if keyless and (name := _likely_key_column(layout, [cells for _, cells in records])):
        problem = f"the column {values.quoted(name)} may hold the keys of the queries"
        does = Option("columns", {"key": name}, "it does")
        return source.stop(records[0][0], problem, does, Option("columns", {"key": ""}, "it does not"))
    return None


def _raters_in_doubt(layout: Layout) -> Iterator[Cure]:
    """The problem of columns that may be raters, and its cures."""
    doubtful, several = layout.doubtful, len(layout.doubtful) > 1
    may = f"columns {listed(doubtful)} may be raters" if several else f"column {listed(doubtful)} may be a rater"
    yield f"the {may} or hold something else, such as a mean"
    every: str | None = "|".join(layout.raters + doubtful)
    if len(every) > LONGEST_NAME:
        every = None
    yield Option("columns", {RATERS: every}, "all of them are raters" if several else "it is a rater")
    if several:
        yield Option("columns", {RATERS: None}, "only some of them are raters")
    if layout.raters:
        sure = "|".join(layout.raters)
        yield Option("columns", {RATERS: sure}, "none of them is a rater" if several else "it is no rater")
    elif several:
        yield Option("columns", {"grade": None}, "one of them holds the grade")
    else:
        yield Option("columns", {"grade": doubtful[0]}, "it holds the grade")


def _likely_key_column(layout: Layout, records: list[dict[str, Any]]) -> str:
    """The first column, where its name is unknown and each record has another id in it; "" otherwise."""
    name = next(iter(records[0]), "")
    if name not in layout.ignored + layout.fields or is_index(name) or len(records) < 2:
        return ""
    ids = [str(cells.get(name)).strip() for cells in records]
    alike = all(re.fullmatch(r"\S*[0-9]\S*", text) for text in ids)
    return name if alike and len(set(ids)) == len(ids) else ""


# From a file to records: a line and its cells by column


def _cells(source: Source, kind: str) -> Iterator[tuple[int, list[str]] | Refusal]:
    """The records of delimited text, each as wide as the first. Runs and ratings may have blanks between cells."""
    delimiter = header.delimiter_of(source.start)
    source.has_decimal_commas = delimiter == ";"
    if delimiter == header.NONE and kind in ("results", "ratings") and trec.has_columns(source.start):
        return trec.records(source)
    return delimited.records(source, delimiter, delimited.WIDTH_CURE)


def _with_names(source: Source, records: Iterator, kind: str) -> Records:
    """The records below the header, their cells by its names; without a header by the numbers of the columns."""
    first = list(islice(records, header.SAMPLE + 1))
    rows = [item for item in first if not isinstance(item, Refusal)]
    names = [name.strip() for name in rows[0][1]] if rows else []
    has_header = _has_header(source, kind, [cells for _, cells in rows])
    if rows and isinstance(has_header, str):
        yield source.stop(rows[0][0], has_header, *HEADER)
        return
    if not has_header:
        names = [str(number) for number in range(1, len(names) + 1)]
    if problem := too_wide(names):
        yield source.stop(rows[0][0], problem, WIDTH_CURE)
        return
    if repeated := [name for name in names if name and names.count(name) > 1]:
        problem = f"the header has the column {values.quoted(repeated[0])} twice"
        yield source.stop(rows[0][0], problem, "Give each column its own name.")
        return
    if unnamed := names.count(""):
        columns = counted(unnamed, "column")
        source.notes.append(f"{source.name}: nothing is read from {columns} without a name.")
    is_header = has_header
    for item in chain(first, records):
        if isinstance(item, Refusal):
            yield item
        elif is_header:
            is_header = False
        else:
            line, cells = item
            record = dict(zip(names, cells, strict=True))
            record.pop("", None)
            yield line, record


def _has_header(source: Source, kind: str, rows: list[list[str]]) -> bool | str:
    """Whether the first record is a header, or in words why that is not clear."""
    if source.reading.header is not None or not rows:
        return source.reading.header is not False
    chosen = [name for role, names in source.reading.columns.items() for name in names_in(role, names)]
    if not all(map(str.isdecimal, chosen)):
        return True
    has_header = header.names_columns(kind, rows[0], rows[1:])
    if has_header or (len(rows[0]) == 1 and kind != "queries"):  # one column is no table of anything else
        return True
    if chosen and has_header is False:
        return False
    shown = listed(cell.strip() for cell in rows[0])
    if has_header is None:
        return f"this line may name the columns or be the first row ({shown})"
    return f"this line names no column ({shown})"


def too_wide(names: Sequence[str]) -> str:
    """The problem of too many columns or a too long name; "" where there is none."""
    if len(names) > MOST_COLUMNS:
        return f"there are {len(names):,} columns, at most {MOST_COLUMNS:,} are read"
    long = next((name for name in names if len(name) > LONGEST_NAME), None)
    return f"the name {values.quoted(long)} of a column is longer than {LONGEST_NAME:,} characters" if long else ""


def _within_width(source: Source, records: Records) -> Records:
    for item in records:
        if not isinstance(item, Refusal) and (problem := too_wide(tuple(item[1]))):
            item = source.refusal(item[0], problem, WIDTH_CURE)
        yield item


def _objects(source: Source) -> Records:
    """The objects of JSON lines. A line of a dump of Elasticsearch is its document."""
    for item in jsonl.objects(source, "A line is one JSON object."):
        if not isinstance(item, Refusal) and "_id" in item[1] and isinstance(item[1].get("_source"), dict):
            line, record = item
            item = line, {**record["_source"], "id": record["_id"]}
        yield item


# From records to rows


def text_of(value: Any) -> str:
    """The text of a cell. Raises ValueError for a list or an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, datetime):
        return value.isoformat()
    return strict_json.text_of(value)


def _topics(source: Source, line: int, cells: dict[str, Any], layout: Layout) -> Iterator[Topic]:
    texts = {role: text_of(cells[name]).strip() for role, name in layout.column.items() if role != "tags"}
    key = None
    if "key" in texts:
        key = checked_id(texts["key"], "query key", values.QUERY_KEY_LENGTH, source)
    tags = cells[layout.column["tags"]] if "tags" in layout.column else None
    if tags is not None:
        tags = tags if isinstance(tags, list) else text_of(tags).split(";")
        tags = tuple(filter(None, (text_of(tag).strip() for tag in tags)))
    text = values.checked_text(texts["text"], "query")
    weight = None
    if texts.get("weight"):
        weight = _not_negative(_number(source, cells[layout.column["weight"]], "weight"), "weight")
    fields = {name: cells[name] for name in layout.fields} or None
    yield Topic(line, key, text, texts.get("need"), tags, weight, fields)


def _documents(source: Source, line: int, cells: dict[str, Any], layout: Layout) -> Iterator[DocumentLine]:
    texts = {role: text_of(cells[name]) for role, name in layout.column.items()}
    key = checked_id(texts["id"], "id", values.DOCUMENT_KEY_LENGTH, source)
    fields = {name: cells[name] for name in layout.fields} or None
    yield DocumentLine(line, key, texts.get("title"), texts.get("body"), texts.get("url"), fields)


def _results(source: Source, line: int, cells: dict[str, Any], layout: Layout) -> Iterator[RunLine]:
    """Without ranks the file is in the order of the ranking. Without scores the score is 1 / rank."""
    texts = {role: text_of(cells[name]) for role, name in layout.column.items()}
    (query, document), system = _pair(texts, source), texts.get("system", "")
    source.places[query, system] += 1
    rank = source.places[query, system]
    if "rank" in texts:
        # Programs write 3 as 3.0 if other cells of the column are empty.
        text = re.sub(r"\.0+$", "", _number(source, cells[layout.column["rank"]], "rank"))
        rank = values.integer(text, "rank")
    if "score" in texts:
        score = values.number(_number(source, cells[layout.column["score"]], "score"), "score")
    elif rank < 0:
        raise ValueError(f"the rank {rank} is less than 0, and there is no score")
    else:
        score = 1 / rank if rank else 2.0  # where ranks begin with 0, its score is above that of 1
    yield RunLine(line, query, document, rank, score, system)


def _number(source: Source, cell: Any, what: str) -> str:
    """The text of a number, with a decimal point, as numbers from JSON and Parquet have it."""
    if isinstance(cell, str):
        return values.with_point(cell.strip(), what, has_commas=source.has_decimal_commas)
    return text_of(cell)


def _ratings(source: Source, line: int, cells: dict[str, Any], layout: Layout) -> Iterator[RatingLine | Refusal]:
    texts = {role: text_of(cells[name]) for role, name in layout.column.items()}
    if layout.raters:
        yield from _of_raters(source, line, texts, {name: cells[name] for name in layout.raters})
        return
    grade, reason = _grade_of(texts.get("grade", ""), source)
    if _says_yes(texts.get("unrateable", "")):
        reason = reason or NO_REASON
    reason = texts.get("reason", "") or reason
    if grade is None and not reason and "reason" not in texts:
        return  # a pair or a query that nobody rated
    if (grade is None) == (reason == ""):
        raise ValueError("a rating needs either a grade or a reason why the pair cannot be judged")
    rater = texts.get("rater", "")
    if "rater" in texts:
        values.checked_name(rater, "rater", values.RATER_NAME_LENGTH)
    seconds = _not_negative(text, "number of seconds") if (text := texts.get("seconds")) else None
    at = _moment(texts.get("rated_at", ""))
    yield RatingLine(line, *_pair(texts, source), rater, grade, reason, texts.get("comment", ""), seconds, at)


def _of_raters(
    source: Source, line: int, texts: dict[str, str], cells: dict[str, Any]
) -> Iterator[RatingLine | Refusal]:
    """The rating of each rater whose cell is not blank, for one pair. Each cell may be refused."""
    for name, cell in cells.items():
        try:
            grade, reason = _grade_of(text_of(cell), source)
            if grade is not None or reason:
                rater = values.checked_name(name.strip(), "rater", values.RATER_NAME_LENGTH)
                yield RatingLine(line, *_pair(texts, source), rater, grade, reason)
        except ValueError as error:
            problem = f"{error}, in the column {values.quoted(name)} of a rater"
            yield source.refusal(line, problem, *cure_of(error, CURE))


def _pair(texts: dict[str, str], source: Source) -> tuple[str, str]:
    if not (query := texts["query"].strip()):
        raise WrongCell("the query is empty", CURE, FILL_DOWN)
    values.checked_text(query, "query")
    return query, checked_id(texts["document"], "document", values.DOCUMENT_KEY_LENGTH, source)


_READERS = {"queries": _topics, "documents": _documents, "results": _results, "ratings": _ratings}


def _grade_of(text: str, source: Source) -> tuple[Decimal | None, str]:
    """(grade, "") of a cell, (None, reason) where it says that the pair cannot be judged, (None, "") if blank."""
    text = text.strip()
    if text in source.reading.grades:
        return source.reading.grades[text], ""
    if text.lower() == CANNOT:
        return None, NO_REASON
    if not text:
        return None, ""
    try:
        return values.grade(_number(source, text, "grade")), ""
    except ValueError as error:
        raise WrongCell(str(error), CURE, Option("map", {text: None}, "the word stands for a grade")) from error


def _says_yes(text: str) -> bool:
    """Whether the cell that says whether a pair is unrateable says yes. Raises WrongCell."""
    word = text.strip().lower()
    if word in YES or word in NO:
        return word in YES
    problem = f"{values.quoted(text)} in the column for unrateable pairs is neither yes nor no"
    nothing = Option("columns", {"unrateable": ""}, "the column says something else")
    raise WrongCell(problem, "Write yes or no.", nothing)


def _not_negative(text: str, what: str) -> float:
    number = values.number(text, what)
    if number < 0:
        raise ValueError(f"the {what} {values.quoted(text)} is less than 0")
    return number


def _moment(text: str) -> datetime | None:
    """A time without an offset is UTC."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        usual = "a time such as 2026-03-02T09:00:00+00:00"
        raise ValueError(f"the rated_at {values.quoted(text)} is not {usual}") from error


# From rows to a table


def write(kind: str, rows: Iterable[RatingLine | RunLine], *, raw: bool = False) -> Iterator[str]:
    """The header and one record for each row. Reading them gives the same rows again."""
    table = ([_cell(value) for value in written_cells(kind, row)] for row in rows)
    return spreadsheet.written(chain([WRITTEN[kind]], table), raw=raw)


def write_as_json(kind: str, rows: Iterable[RatingLine | RunLine]) -> Iterator[str]:
    """One object for each row, without empty members."""
    for row in rows:
        members = zip(WRITTEN[kind], written_cells(kind, row), strict=True)
        record = {name: value for name, value in members if value not in (None, "")}
        yield json.dumps(record, ensure_ascii=False, default=_plain_json) + "\n"


def _cell(value: Any) -> str:
    return values.grade_text(value) if isinstance(value, Decimal) else text_of(value)


def _plain_json(value: Decimal | datetime) -> int | float | str:
    """A grade as a number; it has at most 15 digits, which a float keeps. A time as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    return int(value) if value == int(value) else float(value)

"""Tables with named columns: delimited text, a JSON object on each line, Parquet, Excel workbooks.

A record is one row of any kind, or the ratings of several raters for one pair. People choose which column holds
what, or it is guessed from the names.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from typing import Any

from ..words import counted
from . import delimited, header, jsonl, parquet, spreadsheet, strict_json, trec, values, xlsx
from .columns import (
    BY_POSITION,
    NEEDED,
    RATERS,
    SEVERAL,
    Chosen,
    Layout,
    example,
    is_index,
    is_of_pairs,
    layout_of,
    listed,
    names_in,
    too_wide,
    usual_role,
)
from .refusal import Option, Refusal, WrongCell, cure_of, cures_of_word
from .rows import (
    WRITTEN_COLUMNS,
    DocumentLine,
    RatingLine,
    RunLine,
    Topic,
    checked_id,
    unique_topics,
    written_cells,
)
from .source import LONGEST_NAME, Source, Start

YES_WORDS = {"1", "1.0", "true", "t", "yes", "y", "x"}
NO_WORDS = {"", "0", "0.0", "false", "f", "no", "n"}
CURE = "Correct the cell."
HEADER_CURES = Option("header", "yes", "it names the columns"), Option("header", "no", "it is a row")
WIDTH_CURE = "Leave out the columns that are not needed."
UNNAMED_CURE = "A column without a name has its number, as in query=1."
TABLE_FORMATS = {"csv", "jsonl", "parquet", "xlsx"}
MOST_LAYOUTS = 1_000  # in the cache, for lines with different names


Rows = Iterator[Topic | DocumentLine | RunLine | RatingLine | Refusal]
Records = Iterator[tuple[int, dict[str, Any]] | Refusal]
HasHeader = Callable[[Source, str, list[list[str]]], bool | str]  # as `_has_header`


def read(format: str, kind: str, source: Source) -> Rows:
    """Rows of `kind` from a table. In Parquet and a workbook their line is the number of the row."""
    # JSON objects need not have the same names.
    return read_records(kind, source, records(format, kind, source), uniform=format != "jsonl")


def read_records(kind: str, source: Source, records: Records, *, uniform: bool) -> Rows:
    """Rows of `kind` from records; `uniform`: all of them have the columns of the first one."""
    rows = _rows_of_records(kind, source, records, uniform)
    return unique_topics(source, rows, CURE, of_table=True) if kind == "queries" else rows


def sample(format: str, kind: str, source: Source, *has_header: HasHeader) -> list[dict[str, Any]]:
    """The first records of a table, with their cells by column; none where there is no table."""
    rows = records(format, kind, source, *has_header) if format in TABLE_FORMATS else ()
    readable = (item for item in rows if not isinstance(item, Refusal))
    return [cells for _, cells in islice(readable, header.SAMPLED_RECORDS)]


def _has_header(source: Source, kind: str, rows: list[list[str]]) -> bool | str:
    """Whether the first record names the columns; where that is not clear, the problem in words.

    `rows`: the cells of the first records.
    """
    if source.reading.header is not None:
        return source.reading.header  # as people chose
    if not rows:
        return True  # it makes no difference
    chosen = _chosen_columns(source)
    if not all(map(str.isdecimal, chosen)):  # people chose a column by its name, so columns have names
        return True
    has_header = header.names_columns(kind, rows[0], rows[1:])  # None: in doubt
    # A single column without a usual name can only hold queries; people then have to say, below, whether it has a
    # header. For other kinds its first cell is taken for its name, and `layout_of` refuses the table with it.
    is_refused_later = len(rows[0]) == 1 and kind != "queries"
    if has_header or is_refused_later:
        return True
    if chosen and has_header is False:  # people said by their numbers what the columns hold
        return False
    shown = listed(cell.strip() for cell in rows[0])
    if has_header is None:
        return f"this line may name the columns or be the first row ({shown})"
    return f"this line names no column ({shown})"


def records(format: str, kind: str, source: Source, has_header: HasHeader = _has_header) -> Records:
    """The line and the cells of each record of a table. Cells are by the name of their column, or by its number.

    `format`: one of TABLE_FORMATS, or "topics": lines of queries, with tabs between their cells. `has_header`:
    whether the first record names the columns.
    """
    if format == "jsonl":
        return _objects(source)
    if format == "parquet":
        return parquet.records(source)
    if format == "xlsx":
        rows = xlsx.records(source)
    elif format == "topics":
        rows = delimited.records(source, "\t")
    else:
        rows = _cells(source, kind)
    return _with_names(source, rows, partial(has_header, source, kind))


def columns_of(format: str, kind: str, source: Source, *has_header: HasHeader) -> list[str]:
    """The names of the columns in the first records; none where the file is no table."""
    return list(dict.fromkeys(chain.from_iterable(sample(format, kind, source, *has_header))))


def layout(kind: str, names: Iterable[str], source: Source, *, uniform: bool = True) -> Layout:
    """Which of the columns `names` of records of `source` holds what. Raises ValueError.

    `uniform`: all records have these columns. JSON objects need not have the members that people chose. Columns of
    ratings may have the names of the collection's raters (`source.reading.raters`).
    """
    names = list(names)
    chosen: Chosen = source.reading.columns  # role -> its column, or several for the roles in SEVERAL
    if not uniform:  # a role whose column these records lack has none
        chosen = {role: _among(names, role, of_role) for role, of_role in chosen.items()}
    # Columns without names have their roles by position; so has a single column without a usual name.
    is_single_unknown = len(names) == 1 and not usual_role(kind, names[0])
    if not chosen and (source.reading.header is False or is_single_unknown):
        roles = BY_POSITION.get((kind, len(names)), [])  # [] where so many columns have no usual order
        chosen = dict(zip(roles, names, strict=False))
    return layout_of(kind, names, chosen, uniform=uniform, people=source.reading.raters)


def _among(names: list[str], role: str, chosen: str | Sequence[str]) -> str | Sequence[str]:
    """What is chosen for `role`, without columns that are not among `names`.

    For a role of several columns it is a list of names, for any other one name or "".
    """
    if role in SEVERAL.values():
        return [name for name in names_in(role, chosen) if name in names]
    return chosen if chosen in names else ""


def is_objects(kind: str, start: Start) -> bool:
    """Whether it is JSON, lines or a list, whose first object seems to name what rows of `kind` need.

    An object without others in it is hardly anything else than a row, so that its columns can be chosen.
    """
    first = jsonl.first_object(start)
    if kind == "queries":  # a list of those has a format of its own
        return not jsonl.is_list(start) and "text" in {usual_role(kind, name) for name in first}
    is_flat = not any(isinstance(value, dict | list) for value in first.values())
    return bool(first) and (is_flat or set(NEEDED[kind]) <= {usual_role(kind, name) for name in first})


def _rows_of_records(kind: str, source: Source, records: Records, uniform: bool) -> Rows:
    """The rows of all records, with a layout (which column holds what) for each set of columns that records have.

    If all have those of the first one (`uniform`), columns may be raters, and a layout that the first records
    contradict is refused.
    """
    layouts: dict[tuple, Layout] = {}  # by the names of the columns
    above: dict[str, Any] = {}  # the cells of the record above that name the query
    first = list(islice(records, header.SAMPLED_RECORDS)) if uniform else []
    for item in chain(first, records):
        if isinstance(item, Refusal):
            yield item
            continue
        line, cells = item
        names = tuple(cells)
        try:
            if names not in layouts:
                if problem := too_wide(names):
                    raise WrongCell(problem, WIDTH_CURE)
                new_layout = layout(kind, names, source, uniform=uniform)
                source.of_pairs |= kind == "documents" and is_of_pairs(kind, names)
                if not layouts:
                    _note_guesses(kind, source, new_layout, uniform=uniform)
                if len(layouts) == MOST_LAYOUTS:
                    layouts.clear()
                layouts[names] = new_layout
        except ValueError as error:
            if uniform:
                yield _without_layout(kind, source, str(error), first)
                return
            yield source.refusal(line, str(error), *cure_of(error, Option("columns", example(kind))))
            continue
        if uniform and first:  # once, as all records have the same layout
            if refusal := _refusal_if_in_doubt(kind, source, layouts[names], first):
                yield refusal
                return
            first = []
        if source.reading.fill_down:
            columns = [layouts[names].column.get(role) for role in ("query", "key", "text")]
            above = {name: text_of(cells[name]).strip() or above.get(name, "") for name in columns if name}
            cells |= above
        try:
            yield from _READERS[kind](source, line, cells, layouts[names])
        except ValueError as error:
            yield source.refusal(line, str(error), *cure_of(error, CURE))


def _without_layout(kind: str, source: Source, problem: str, first: list) -> Refusal:
    """The refusal of a table without a column that rows of `kind` need. `first`: first records or refusals."""
    refusals = [item for item in first if isinstance(item, Refusal)]
    headers = [option for refusal in refusals for option in refusal.options if option.name == "header"]
    chosen = _chosen_columns(source)  # without a header, columns have numbers
    if chosen and all(map(str.isdecimal, chosen)) and source.reading.header is None:
        headers.append(Option("header", "no", "the first line is a row"))
    below_another = [UNNAMED_CURE] if source.reading.header_line > 1 else []
    columns = Option("columns", example(kind))
    return source.stop(source.reading.header_line, problem, *headers, columns, *below_another)


def _note_guesses(kind: str, source: Source, layout: Layout, *, uniform: bool) -> None:
    """Add notes to the source on which column was taken for what.

    A column that has the name of its role, or only a number, needs no note. `uniform`: all records have the
    columns.
    """
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
    # Later JSON objects can have other fields than the first, so a list of its fields would mislead.
    if layout.fields and uniform:
        source.notes.append(f"{source.name}: extra fields: {listed(layout.fields)}.")
    if layout.ignored:
        source.notes.append(f"{source.name}: nothing is read from the columns {listed(layout.ignored)}.")


def _refusal_if_in_doubt(kind: str, source: Source, layout: Layout, first: list) -> Refusal | None:
    """The refusal of a table where people have to say what a column holds; None for any other.

    They have to say whether columns hold the grades of raters (`layout.doubtful`), and whether a column holds the
    keys of the queries. `first`: the first records and refusals.
    """
    if layout.doubtful:
        problem, options = _question_of_raters(layout)
        return source.stop(source.reading.header_line, problem, *options)
    records = [item for item in first if not isinstance(item, Refusal)]
    lacks_key = kind == "queries" and "key" not in layout.column and "key" not in source.reading.columns
    if lacks_key and (name := likely_key(layout.ignored + layout.fields, [cells for _, cells in records])):
        problem = f"the column {values.quoted(name)} may hold the keys of the queries"
        first_line, _ = records[0]
        options = [Option("columns", {"key": name}, "it does"), Option("columns", {"key": ""}, "it does not")]
        return source.stop(first_line, problem, *options)
    return None


def _question_of_raters(layout: Layout) -> tuple[str, list[Option]]:
    """(problem, options) of a table with columns that may each hold the grades of a rater, or something else.

    The options are that all of these columns are of raters, that some of them are, and that none is. An option has
    the names of columns in one text, with | between them, or None where people have to name them.
    """
    names = listed(layout.doubtful)
    is_one = len(layout.doubtful) == 1
    all_names = "|".join(layout.raters + layout.doubtful)
    all_raters = all_names if len(all_names) <= LONGEST_NAME else None  # None: too long for an option
    if layout.raters:
        condition = "it is no rater" if is_one else "none of them is a rater"
        no_raters = Option("columns", {RATERS: "|".join(layout.raters)}, condition)  # only the sure ones are
    elif is_one:
        no_raters = Option("columns", {"grade": layout.doubtful[0]}, "it holds the grade")
    else:
        no_raters = Option("columns", {"grade": None}, "one of them holds the grade")
    if is_one:
        problem = f"the column {names} may be a rater or hold something else, such as a mean"
        return problem, [Option("columns", {RATERS: all_raters}, "it is a rater"), no_raters]
    problem = f"the columns {names} may be raters or hold something else, such as a mean"
    all_of_them = Option("columns", {RATERS: all_raters}, "all of them are raters")
    return problem, [all_of_them, Option("columns", {RATERS: None}, "only some of them are raters"), no_raters]


def likely_key(unknown: Sequence[str], records: Sequence[Mapping[str, Any]]) -> str:
    """The first column, where its name is `unknown` and each record has another id in it; "" otherwise."""
    name = list(records[0])[0] if len(records) > 1 and records[0] else ""
    if name not in unknown or is_index(name):
        return ""
    ids = [str(cells.get(name)).strip() for cells in records]
    have_digits = all(re.fullmatch(r"\S*[0-9]\S*", text) for text in ids)
    return name if have_digits and len(set(ids)) == len(ids) else ""


# From a file to records: a line and its cells by column


def _cells(source: Source, kind: str) -> Iterator[tuple[int, list[str]] | Refusal]:
    """The records of delimited text, each as wide as the first. Runs and ratings may have blanks between cells."""
    delimiter = header.delimiter_of(source.start)
    source.has_decimal_commas = delimiter == ";"
    if delimiter == header.NO_DELIMITER and kind in ("results", "ratings") and trec.has_columns(source.start):
        return trec.records(source)
    return delimited.records(source, delimiter)


def _with_names(source: Source, records: Iterator, is_header: Callable[[list[list[str]]], bool | str]) -> Records:
    """The records below the header, their cells by its names; without a header by the numbers of the columns.

    `records`: (line, cells), as many cells in each, or a refusal. `is_header`: whether the first of these rows
    names the columns; where that is not clear, the problem in words. A refusal of the header is the only item:
    nothing is read after `source.stop`.
    """
    first_items = list(islice(records, header.SAMPLED_RECORDS + 1))  # the first one and those below it
    rows = [item for item in first_items if not isinstance(item, Refusal)]
    first_line, first_cells = rows[0] if rows else (0, [])
    has_header = is_header([cells for _, cells in rows])
    if isinstance(has_header, str):
        yield source.stop(first_line, has_header, *HEADER_CURES)
        return
    names = _column_names(source, first_cells, has_header)
    if problem := too_wide(names):
        yield source.stop(first_line, problem, WIDTH_CURE)
        return
    if repeated := [name for name in names if name and names.count(name) > 1]:
        problem = f"the header has the column {values.quoted(repeated[0])} twice"
        yield source.stop(first_line, problem, "Give each column its own name.")
        return
    if unnamed := names.count(""):
        columns = counted(unnamed, "column")
        source.notes.append(f"{source.name}: nothing is read from {columns} without a name.")
    for item in chain(first_items, records):
        if isinstance(item, Refusal):
            yield item
            continue
        line, cells = item
        if has_header and line == first_line:
            continue
        # A byte order mark stands where another file was joined. A single cell may by chance be as the header.
        if has_header and len(cells) > 1 and [cells[0].strip(trec.BYTE_ORDER_MARK), *cells[1:]] == first_cells:
            problem = "the line repeats the names of the columns, as where files were joined"
            yield source.refusal(line, problem, "Remove it.")
            continue
        record = dict(zip(names, cells, strict=True))
        record.pop("", None)  # the columns without a name
        yield line, record


def _column_names(source: Source, first_cells: list[str], has_header: bool) -> list[str]:
    """The names of the columns: the cells of the first record if it is a header, else their numbers, from 1.

    "" for a column without a name, unless people chose it by its number. Where a table has two header rows, the
    lower one leaves some columns without a name.
    """
    chosen = _chosen_columns(source)
    names = []
    for number, cell in enumerate(first_cells, 1):
        name = cell.strip() if has_header else str(number)
        names.append(str(number) if not name and str(number) in chosen else name)
    return names


def _chosen_columns(source: Source) -> list[str]:
    return [name for role, names in source.reading.columns.items() for name in names_in(role, names)]


def _objects(source: Source) -> Records:
    """The line and the members of each object of JSON lines, also as Elasticsearch has them.

    In a dump, {"_id": "d1", "_source": {…}} stands for the document in it. In a bulk request, a line such as
    {"index": {"_id": "d1"}} stands above each document and is none itself.
    """
    action: dict[str, Any] = {}  # what the line above, in a bulk request, says of this one: {"_id": "d1"}
    for item in jsonl.objects(source):
        if isinstance(item, Refusal):
            yield item
            continue
        line, record = item
        new_action = record.get("index", record.get("create"))
        if len(record) == 1 and isinstance(new_action, dict):
            action = new_action
            continue
        if "_id" in record and isinstance(record.get("_source"), dict):
            record = {**record["_source"], "id": record["_id"]}
        elif "_id" in action:
            record = {**record, "id": action["_id"]}
        action = {}
        yield line, record


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
    """The one query of a record, whose `cells` are by column. Raises ValueError for a cell that cannot be read.

    An iterator, like those of the other kinds in _READERS: a record may hold several ratings.
    """
    texts = {role: text_of(cells[name]).strip() for role, name in layout.column.items() if role != "tags"}
    key = None
    if "key" in texts:  # the cell is checked, not its text: in JSON and Parquet a float is no id
        key = checked_id(cells[layout.column["key"]], "query key", values.QUERY_KEY_LENGTH, source)
        has_blank = key != texts["key"]  # `checked_id` writes %20 for each blank
        # Without a header, column 1 is guessed to hold the keys. A blank shows that it holds texts.
        if layout.column["key"] == "1" and not source.reading.columns and has_blank:
            problem = f"the query key {values.quoted(texts['key'])} has a blank"
            raise WrongCell(problem, "Name the columns in a first line, such as id and query.")
    tags = _tags(cells[layout.column["tags"]]) if "tags" in layout.column else None
    text = values.checked_text(texts["text"], "query")
    weight = None
    if texts.get("weight"):
        weight = _not_negative(_with_point(source, cells[layout.column["weight"]], "weight"), "weight")
    fields = {name: cells[name] for name in layout.fields} or None
    yield Topic(line, key, text, texts.get("need"), tags, weight, fields)


def _tags(cell: Any) -> tuple[str, ...] | None:
    """The tags in a list, or in a text with semicolons between them; None for a cell that is None."""
    if cell is None:
        return None
    tags = cell if isinstance(cell, list) else text_of(cell).split(";")
    return tuple(filter(None, (text_of(tag).strip() for tag in tags)))


def _documents(source: Source, line: int, cells: dict[str, Any], layout: Layout) -> Iterator[DocumentLine]:
    texts = {role: text_of(cells[name]) for role, name in layout.column.items()}
    key = checked_id(cells[layout.column["id"]], "id", values.DOCUMENT_KEY_LENGTH, source)
    fields = {name: cells[name] for name in layout.fields} or None
    yield DocumentLine(line, key, texts.get("title"), texts.get("body"), texts.get("url"), fields)


def _results(source: Source, line: int, cells: dict[str, Any], layout: Layout) -> Iterator[RunLine]:
    """The one result of a record, whose `cells` are by column. Raises ValueError for a cell that cannot be read.

    In a table without ranks it has the next rank of its query and system, and without scores the score 1 / rank.
    An iterator, like those of the other kinds in _READERS: a record may hold several ratings.
    """
    texts = {role: text_of(cells[name]) for role, name in layout.column.items()}
    query, document = _pair(source, cells, layout)
    system = texts.get("system", "")
    source.results_so_far[query, system] += 1
    rank = source.results_so_far[query, system]
    if "rank" in texts:  # a column holds the rank
        # Programs write 3 as 3.0 if other cells of the column are empty.
        text = re.sub(r"\.0+$", "", _with_point(source, cells[layout.column["rank"]], "rank"))
        rank = values.integer(text, "rank")
    if "score" in texts:
        score = values.number(_with_point(source, cells[layout.column["score"]], "score"), "score")
    elif rank < 0:
        raise ValueError(f"the rank {rank} is less than 0, and there is no score")
    else:
        score = 1 / rank if rank else 2.0  # where ranks begin with 0, it is above the score of rank 1
    yield RunLine(line, query, document, rank, score, system)


def _with_point(source: Source, cell: Any, what: str) -> str:
    """The text of a number, with a decimal point in place of a comma. Numbers in JSON and Parquet have a point."""
    if isinstance(cell, str):
        return values.with_point(cell.strip(), what, has_commas=source.has_decimal_commas)
    return text_of(cell)


def _ratings(source: Source, line: int, cells: dict[str, Any], layout: Layout) -> Iterator[RatingLine | Refusal]:
    """The rating of a record, or those of several raters, each with a column; none where nobody rated.

    `cells`: by column. Raises ValueError for a cell that cannot be read.
    """
    texts = {role: text_of(cells[name]) for role, name in layout.column.items()}
    if layout.raters:
        yield from _of_raters(source, line, cells, layout)
        return
    # `reason`: why the pair cannot be judged; NO_REASON where the file does not say why.
    grade, reason = _grade_of(texts.get("grade", ""), source)
    if _says_yes(texts.get("unrateable", "")):
        reason = values.NO_REASON
    reason = texts.get("reason") or reason  # a column of reasons says more than NO_REASON
    has_grade, has_reason = grade is not None, reason != ""
    if not has_grade and not has_reason and "reason" not in texts:
        return  # nobody rated the pair
    # A table with a column of reasons lists ratings alone, so a row with neither is refused as incomplete.
    if has_grade == has_reason:  # both or neither
        raise ValueError("a rating needs either a grade or a reason why the pair cannot be judged")
    rater = texts.get("rater", "")
    if "rater" in texts:
        values.checked_name(rater, "rater", values.RATER_NAME_LENGTH)
    seconds = _not_negative(texts["seconds"], "number of seconds") if texts.get("seconds") else None
    rated_at = _moment(texts.get("rated_at", ""))
    pair = _pair(source, cells, layout)
    yield RatingLine(line, *pair, rater, grade, reason, texts.get("comment", ""), seconds, rated_at)


def _of_raters(source: Source, line: int, cells: dict[str, Any], layout: Layout) -> Iterator[RatingLine | Refusal]:
    """The rating of each rater whose cell is not blank, for one pair. Each cell may be refused."""
    for name in layout.raters:
        try:
            grade, reason = _grade_of(text_of(cells[name]), source)
            if grade is not None or reason:
                rater = values.checked_name(name.strip(), "rater", values.RATER_NAME_LENGTH)
                yield RatingLine(line, *_pair(source, cells, layout), rater, grade, reason)
        except ValueError as error:
            problem = f"{error}, in the column {values.quoted(name)} of a rater"
            yield source.refusal(line, problem, *cure_of(error, CURE))


def _pair(source: Source, cells: dict[str, Any], layout: Layout) -> tuple[str, str]:
    """The query and the document of a row. Raises ValueError."""
    query = text_of(cells[layout.column["query"]]).strip()
    if not query:
        raise WrongCell("the query is empty", CURE, Option("fill_down", True, "the query above counts for it"))
    values.checked_text(query, "query")
    return query, checked_id(cells[layout.column["document"]], "document", values.DOCUMENT_KEY_LENGTH, source)


_READERS = {"queries": _topics, "documents": _documents, "results": _results, "ratings": _ratings}


def _grade_of(text: str, source: Source) -> tuple[Decimal | None, str]:
    """(grade, "") of a cell, (None, reason) where it says that the pair cannot be judged, (None, "") if blank."""
    text = text.strip()
    if text in source.reading.grades:  # people chose what the word stands for; None: "cannot judge"
        grade = source.reading.grades[text]
        return grade, values.NO_REASON if grade is None else ""
    if text.lower() == values.CANNOT:
        return None, values.NO_REASON
    if not text:
        return None, ""
    try:
        return values.grade(_with_point(source, text, "grade")), ""
    except ValueError as error:
        raise WrongCell(str(error), CURE, *cures_of_word(text)) from error


def _says_yes(text: str) -> bool:
    """Whether the cell that says whether a pair is unrateable says yes. Raises WrongCell."""
    word = text.strip().lower()
    if word in YES_WORDS or word in NO_WORDS:
        return word in YES_WORDS
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
    return spreadsheet.written(chain([WRITTEN_COLUMNS[kind]], table), raw=raw)


def write_as_json(kind: str, rows: Iterable[RatingLine | RunLine]) -> Iterator[str]:
    """One object for each row, without empty members."""
    for row in rows:
        members = zip(WRITTEN_COLUMNS[kind], written_cells(kind, row), strict=True)
        record = {name: value for name, value in members if value not in (None, "")}
        yield json.dumps(record, ensure_ascii=False, default=plain_json) + "\n"


def _cell(value: Any) -> str:
    return values.grade_text(value) if isinstance(value, Decimal) else text_of(value)


def plain_json(value: Decimal | datetime) -> int | float | str:
    """A grade as a number; it has at most 15 digits, which a float keeps. A time as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    return int(value) if value == int(value) else float(value)
